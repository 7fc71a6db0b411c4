/*
 * The process that `extractInChild` forks: it extracts one video and ends. It leads its own process group, so that
 * killing the group leaves no ffmpeg behind.
 */
import type { Extraction, ExtractOptions } from './extract.ts'

export type ToChild = Omit<ExtractOptions, 'signal' | 'onProgress'>
export type FromChild =
  | { type: 'progress'; progress: Parameters<NonNullable<ExtractOptions['onProgress']>>[0] }
  | { type: 'done'; extraction: Extraction }
  | { type: 'failed'; code: string | null; message: string; retryable: boolean; errno?: string }

const stopping = new AbortController()

// The parent was killed: nothing waits for the result.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
const { MediaError } = await import('../../errors.ts')
const { extractVideo } = await import('./extract.ts')

process.once('message', (options: ToChild) => {
  const onProgress: ExtractOptions['onProgress'] = (progress) => send({ type: 'progress', progress })
  extractVideo({ ...options, signal: stopping.signal, onProgress })
    .then(
      (extraction): FromChild => ({ type: 'done', extraction }),
      (error): FromChild =>
        error instanceof MediaError
          ? { type: 'failed', code: error.code, message: error.message, retryable: error.retryable }
          : {
              type: 'failed',
              code: null,
              message: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
              retryable: true,
              // Lets the caller recognise a full disk.
              errno: (error as NodeJS.ErrnoException).code,
            },
    )
    .then((message) => process.send!(message, () => process.exit(0)))
})

function send(message: FromChild): void {
  if (process.connected) process.send!(message, () => undefined)
}
