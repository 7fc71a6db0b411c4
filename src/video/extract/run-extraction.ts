import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MediaError } from '../../errors.ts'
import type { Extraction, ExtractOptions } from './extract.ts'
import type { FromChild, ToChild } from './extraction-process.ts'

const ENTRY = fileURLToPath(new URL('./extraction-process.ts', import.meta.url))
/** The child's flags. */
export const CHILD_FLAGS = [
  '--max-old-space-size=320',
  '--max-semi-space-size=2',
  '--disable-warning=ExperimentalWarning',
]
/** For processes with threads that decode: with glibc's own habits the same work holds a quarter to a third more memory. Where it is set by hand: Dockerfile. */
export const CHILD_ENV = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' }
const MAX_ERROR_OUTPUT = 8000

/**
 * `extractVideo` in a process of its own, so that a worker's event loop stays free and a crash of a decoder ends one video, not the worker.
 * On abort and on time-out the whole process group is killed; when this process dies the child notices and ends itself and ffmpeg.
 * @throws MediaError as `extractVideo`, also `timed_out` and, for a child that died, `crashed` (retryable)
 */
export async function extractInChild(options: ExtractOptions): Promise<Extraction> {
  const { signal, onProgress, ...rest } = options
  signal.throwIfAborted()
  const child = fork(ENTRY, [], {
    detached: true,
    execArgv: CHILD_FLAGS,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', UV_THREADPOOL_SIZE: '4', ...CHILD_ENV },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const killGroup = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The group has ended already.
    }
  }
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-MAX_ERROR_OUTPUT)
  })
  const timeoutMs = (options.limits.timeoutMs ?? Math.max(60_000, 3000 * options.limits.maxDurationSec)) + 60_000
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    killGroup()
  }, timeoutMs)
  signal.addEventListener('abort', killGroup, { once: true })
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
        if (error) killGroup()
      })
    })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', killGroup)
    killGroup()
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
  if (end.timedOut) throw new MediaError('timed_out', 'Decoding the video took too long.')
  throw new MediaError('crashed', 'Decoding the video ended unexpectedly.', {
    retryable: true,
    cause: end.startFailure ?? new Error(end.stderr.slice(-1000)),
  })
}
