import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/*
 * A module of ours in a process of its own. It gets requests, answers each once, and may tell of its progress before.
 * What crosses the channel is JSON.
 */

type ToChild = { id: number; request: unknown }
type Told = { id: number } & ({ progress: unknown } | { answer: unknown } | { failure: Failure })
type FromChild = Told | 'ready'

/** An error of the child, with its own fields. */
interface Failure {
  name: string
  message: string
  [field: string]: unknown
}

/** The child ended before it answered. */
export class ChildLost extends Error {
  /** False: it never came to take a request, which is the installation's fault. */
  readonly wasReady: boolean
  /** It was killed because this call took too long. */
  readonly timedOut: boolean

  constructor(of: { wasReady: boolean; timedOut: boolean; cause: Error }) {
    super(of.wasReady ? 'the process ended' : 'the process could not start', { cause: of.cause })
    this.wasReady = of.wasReady
    this.timedOut = of.timedOut
  }
}

interface CallOptions<Progress> {
  signal: AbortSignal
  /** After it the child is killed. */
  timeoutMs: number
  onProgress?: ((progress: Progress) => void) | undefined
}

export interface Child<Request, Answer, Progress> {
  /** It has ended or is about to. */
  readonly isLost: boolean
  /**
   * An abort kills the child, unless it has other calls under way.
   * @throws ChildLost where it ends before it has answered, else what it threw: the name, message and own fields
   */
  call(request: Request, options: CallOptions<Progress>): Promise<Answer>
  /** Kills it, with every process that it has started. */
  kill(): void
}

/** For processes whose threads decode. With glibc's defaults the same work holds a quarter to a third more memory. */
export const CHILD_ENV = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' }
const MAX_ERROR_OUTPUT = 8000

/**
 * Starts a module that calls `answerParent`. It gets these variables only: no secret of ours reaches a process that
 * reads strangers' files. It leads its own process group, so that Ctrl-C does not reach it before its caller.
 */
export function startChild<Request, Answer, Progress = never>(
  module: URL,
  given: { args?: readonly string[]; flags?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Child<Request, Answer, Progress> {
  const { PATH = '/usr/bin:/bin', NODE_COMPILE_CACHE } = process.env
  const child = fork(fileURLToPath(module), given.args ?? [], {
    detached: true,
    execArgv: ['--disable-warning=ExperimentalWarning', ...(given.flags ?? [])],
    env: { PATH, NODE_COMPILE_CACHE, ...CHILD_ENV, ...given.env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const calls = new Map<number, { take(told: Told): void; lose(cause: Error): void }>()
  let nextId = 1
  let wasReady = false
  let isLost = false
  let hasExited = false
  const kill = () => {
    isLost = true
    // Once it has exited, another process group may have its number.
    if (!hasExited) killGroup(child)
  }
  const lose = (cause: Error) => {
    kill()
    for (const call of calls.values()) call.lose(cause)
  }
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-MAX_ERROR_OUTPUT)
  })
  child.on('message', (message: FromChild) => {
    if (message === 'ready') wasReady = true
    else calls.get(message.id)?.take(message)
  })
  child.on('error', lose)
  child.once('exit', () => {
    kill()
    hasExited = true
  })
  child.once('close', () => lose(new Error(stderr.slice(-1000))))

  async function call(request: Request, { signal, timeoutMs, onProgress }: CallOptions<Progress>): Promise<Answer> {
    signal.throwIfAborted()
    const id = nextId++
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    let timedOut = false
    calls.set(id, {
      take(told) {
        if ('progress' in told) onProgress?.(told.progress as Progress)
        else if ('answer' in told) resolve(told.answer as Answer)
        else reject(Object.assign(new Error(told.failure.message), told.failure))
      },
      lose: (cause) => reject(new ChildLost({ wasReady, timedOut, cause })),
    })
    const timer = setTimeout(() => {
      timedOut = true
      kill()
    }, timeoutMs)
    const onAbort = () => (calls.size > 1 ? reject(signal.reason) : kill())
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      child.send({ id, request } satisfies ToChild, (error) => {
        if (error) lose(error)
      })
      return await promise
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      calls.delete(id)
    }
  }

  return {
    get isLost() {
      return isLost
    },
    call,
    kill,
  }
}

/**
 * In the child: answers each request with what `load` gives. When the parent has ended or closes the channel, the
 * process ends with every process that it has started.
 */
export function answerParent<Request, Answer, Progress = never>(
  load: () => Promise<(request: Request, onProgress: (progress: Progress) => void) => Promise<Answer>>,
): void {
  process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
  const send = (message: FromChild) => {
    // Without a callback a parent that is gone is an error of the process (EPIPE). `disconnect` follows and ends it.
    if (process.connected) process.send?.(message, () => undefined)
  }
  const loaded = load()
  // A process that cannot load ends with the error.
  void loaded.then(() => send('ready'))
  process.on('message', async ({ id, request }: ToChild) => {
    const answer = await loaded
    await answer(request as Request, (progress) => send({ id, progress })).then(
      (given) => send({ id, answer: given }),
      (error: unknown) => send({ id, failure: toFailure(error) }),
    )
  })
}

function toFailure(error: unknown): Failure {
  const failed = error instanceof Error ? error : new Error(String(error))
  return { ...failed, name: failed.name, message: failed.message }
}

/** Kills a child that was started detached, with every process it has started. Does nothing once they have ended. */
export function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}
