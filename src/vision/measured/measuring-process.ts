/*
 * The process that `measureInChild` forks: it holds the models, answers until it is disconnected, and ends then.
 */
import type { AnnotateOptions, FrameAnnotation, FrameToAnnotate, VideoContext } from '../annotator.ts'

export type ToMeasurer =
  | {
      type: 'annotate'
      id: number
      video: VideoContext
      frames: readonly FrameToAnnotate[]
      techniques: AnnotateOptions['techniques']
    }
  | { type: 'abort'; id: number }

export type FromMeasurer =
  | { type: 'started' }
  | { type: 'annotated'; id: number; annotation: FrameAnnotation }
  | { type: 'done'; id: number }
  | { type: 'failed'; id: number; message: string; unavailable?: { code: string; retryAfterMs: number } }

// Whoever waits for answers is gone, or needs none now.
process.once('disconnect', () => process.exit(0))
const { AnnotatorUnavailable } = await import('../annotator.ts')
const { openMeasuringAnnotator } = await import('./measuring-annotator.ts')
const [languages] = process.argv.slice(2)
const annotator = await openMeasuringAnnotator(languages ? { languages: JSON.parse(languages) } : {})
const running = new Map<number, AbortController>()

process.on('message', (message: ToMeasurer) => {
  if (message.type === 'abort') running.get(message.id)?.abort()
  else void annotate(message)
})
send({ type: 'started' })

async function annotate({ id, video, frames, techniques }: ToMeasurer & { type: 'annotate' }): Promise<void> {
  const stop = new AbortController()
  running.set(id, stop)
  try {
    // What crossed the channel is a plain array of bytes.
    const given = frames.map((frame) => ({ ...frame, image: Buffer.from(frame.image) }))
    await annotator.annotate(video, given, {
      signal: stop.signal,
      techniques,
      onAnnotated: async (annotation) => send({ type: 'annotated', id, annotation }),
    })
    send({ type: 'done', id })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isUnavailable = error instanceof AnnotatorUnavailable
    const unavailable = isUnavailable ? { code: error.code, retryAfterMs: error.retryAfterMs } : undefined
    send({ type: 'failed', id, message, ...(unavailable ? { unavailable } : {}) })
  } finally {
    running.delete(id)
  }
}

function send(message: FromMeasurer): void {
  // Without a callback a parent that is gone is an error of the process (EPIPE). `disconnect` follows and ends it.
  if (process.connected) process.send!(message, () => undefined)
}
