import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MediaError } from '../../errors.ts'
import { killGroup } from '../programs.ts'
import type { Extraction, ExtractOptions } from './extract.ts'
import type { FromChild, ToChild } from './extraction-process.ts'

const ENTRY = fileURLToPath(new URL('./extraction-process.ts', import.meta.url))
/** Node's flags for the child. */
export const CHILD_FLAGS = [
  '--max-old-space-size=320',
  '--max-semi-space-size=2',
  '--disable-warning=ExperimentalWarning',
]
/**
 * For processes whose threads decode. With glibc's defaults the same work holds a quarter to a third more memory.
 */
export const CHILD_ENV = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' }
const MAX_ERROR_OUTPUT = 8000

/**
 * Runs `extractVideo` in its own process: the worker's event loop stays free, and a crashing decoder ends one video
 * only. An abort or a time-out kills the whole process group. When this process dies, the child notices and ends itself
 * and ffmpeg.
 * @throws MediaError as `extractVideo`, also `timed_out` and, for a child that died, `crashed` (retryable)
 */
export async function extractInChild(options: ExtractOptions): Promise<Extraction> {
  const { signal, onProgress, ...rest } = options
  signal.throwIfAborted()
  const { PATH = '/usr/bin:/bin', NODE_COMPILE_CACHE } = process.env
  const child = fork(ENTRY, [], {
    detached: true,
    execArgv: CHILD_FLAGS,
    // These variables only: no secret of the worker reaches a process that reads strangers' files.
    env: { PATH, NODE_COMPILE_CACHE, UV_THREADPOOL_SIZE: '4', ...CHILD_ENV },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const kill = () => killGroup(child)
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-MAX_ERROR_OUTPUT)
  })
  // CPU time and standstills end a decode earlier. This ends a process that hangs.
  const timeoutMs = 6000 * options.limits.maxDurationSec + 120_000
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    kill()
  }, timeoutMs)
  signal.addEventListener('abort', kill, { once: true })
  let outcome: Exclude<FromChild, { type: 'progress' }> | null = null
  let startFailure: Error | null = null
  try {
    await new Promise<void>((done) => {
      child.on('message', (message: FromChild) => {
        if (message.type === 'progress') onProgress?.(message.progress)
        else outcome = message
      })
      child.once('error', (error) => {
        startFailure = error
        if (child.pid === undefined) done()
      })
      child.once('exit', () => done())
      child.send(rest satisfies ToChild, (error) => {
        if (error) kill()
      })
    })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', kill)
    kill()
  }
  signal.throwIfAborted()
  return toResult(outcome, { timedOut, startFailure, stderr })
}

function toResult(
  outcome: Exclude<FromChild, { type: 'progress' }> | null,
  end: { timedOut: boolean; startFailure: Error | null; stderr: string },
): Extraction {
  if (outcome?.type === 'done') return outcome.extraction
  if (outcome?.type === 'failed') {
    if (outcome.code !== null) throw new MediaError(outcome.code, outcome.message, { retryable: outcome.retryable })
    throw Object.assign(new Error(outcome.message), outcome.errno ? { code: outcome.errno } : {})
  }
  if (end.timedOut) {
    const message = 'The machine was too busy to decode the video. Retry it later.'
    throw new MediaError('timed_out', message, { retryable: true })
  }
  throw new MediaError('crashed', 'The decoder crashed on this video. Use another version.', {
    retryable: true,
    cause: end.startFailure ?? new Error(end.stderr.slice(-1000)),
  })
}
