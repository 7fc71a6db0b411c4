import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  type AnnotateOptions,
  type AnnotationRun,
  type Annotator,
  AnnotatorUnavailable,
  type FrameAnnotation,
  type FrameToAnnotate,
  type VideoContext,
} from '../annotator.ts'
import { ENGLISH, measuredAs, type ReadingLanguages } from './identity.ts'
import type { FromMeasurer, ToMeasurer } from './measuring-process.ts'

export interface MeasureInChildOptions {
  /** How long the process stays after its last frame (default a minute). */
  idleMs?: number
  /** The environment of the process, besides PATH. */
  env?: Readonly<Record<string, string>>
  /** Default: English. */
  languages?: ReadingLanguages
}

const ENTRY = fileURLToPath(new URL('./measuring-process.ts', import.meta.url))
const IDLE_MS = 60_000
/** The delay before a process that could not start is started again. */
const START_RETRY_MS = 60_000

interface Run {
  onAnnotated(annotation: FrameAnnotation): void
  resolve(): void
  reject(error: Error): void
}

interface Measurer {
  process: ChildProcess
  /** Over once it has answered anything. Before that its end is the installation's fault. */
  starting: boolean
  runs: Map<number, Run>
}

/**
 * The measuring annotator in a process of its own. Its models take some 300 MB. They load with the first frame. The
 * process ends after a minute without one, so that the memory returns to the machine.
 */
export function measureInChild(options: MeasureInChildOptions = {}): Annotator {
  let measurer: Measurer | undefined
  let nextId = 1
  let idle: NodeJS.Timeout | undefined

  function start(): Measurer {
    const child = forkMeasurer(options)
    const started: Measurer = { process: child, starting: true, runs: new Map() }
    child.on('message', (message: FromMeasurer) => take(started, message))
    child.once('error', (error) => lose(started, error))
    child.once('exit', () => lose(started, new Error('the measuring process ended')))
    return started
  }

  function take(from: Measurer, message: FromMeasurer): void {
    from.starting = false
    if (message.type === 'started') return
    const run = from.runs.get(message.id)
    if (message.type === 'annotated') run?.onAnnotated(message.annotation)
    if (message.type === 'done') run?.resolve()
    if (message.type === 'failed') run?.reject(toError(message))
  }

  function lose(lost: Measurer, cause: Error): void {
    if (measurer === lost) measurer = undefined
    const message = `The measuring annotator cannot start: ${cause.message}`
    const error = lost.starting ? new AnnotatorUnavailable('cannot_start', message, START_RETRY_MS) : cause
    for (const run of lost.runs.values()) run.reject(error)
    lost.runs.clear()
  }

  function end(): void {
    const ended = measurer
    measurer = undefined
    if (ended?.process.connected) ended.process.disconnect()
  }

  async function measure(
    video: VideoContext,
    frames: readonly FrameToAnnotate[],
    { signal, techniques, onAnnotated }: AnnotateOptions,
  ): Promise<FrameAnnotation[]> {
    clearTimeout(idle)
    measurer ??= start()
    const { process: child, runs } = measurer
    const id = nextId++
    const ask = (message: ToMeasurer) => child.connected && child.send(message, () => undefined)
    const annotations: FrameAnnotation[] = []
    let recorded = Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    runs.set(id, {
      resolve,
      reject,
      onAnnotated(annotation) {
        annotations.push(annotation)
        recorded = recorded.then(() => onAnnotated?.(annotation))
        recorded.catch(reject)
      },
    })
    try {
      ask({ type: 'annotate', id, video, frames, techniques })
      await promise
      await recorded
      return annotations
    } catch (error) {
      ask({ type: 'abort', id })
      throw error
    } finally {
      signal.removeEventListener('abort', onAbort)
      runs.delete(id)
      if (runs.size === 0 && measurer?.process === child) idle = setTimeout(end, options.idleMs ?? IDLE_MS).unref()
    }
  }

  return {
    ...measuredAs((options.languages ?? ENGLISH).codes),
    async annotate(video, frames, given): Promise<AnnotationRun> {
      given.signal.throwIfAborted()
      const annotations = frames.length > 0 ? await measure(video, frames, given) : []
      return { annotations, calls: [] }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(idle)
      end()
    },
  }
}

function forkMeasurer({ env, languages }: MeasureInChildOptions): ChildProcess {
  const { PATH = '/usr/bin:/bin', NODE_COMPILE_CACHE } = process.env
  return fork(ENTRY, languages ? [JSON.stringify(languages)] : [], {
    // Detached, so that Ctrl-C does not reach it before its caller.
    detached: true,
    serialization: 'advanced',
    // These variables only: no secret of the worker reaches a process that reads strangers' pictures.
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

function toError({ message, unavailable }: FromMeasurer & { type: 'failed' }): Error {
  return unavailable
    ? new AnnotatorUnavailable(unavailable.code, message, unavailable.retryAfterMs)
    : new Error(message)
}
