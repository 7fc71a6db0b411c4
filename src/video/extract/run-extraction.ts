import { MediaError } from '../../errors.ts'
import { ChildLost, startChild } from '../../processes/child.ts'
import type { Extraction, ExtractOptions } from './extract.ts'

export type ExtractionProgress = Parameters<NonNullable<ExtractOptions['onProgress']>>[0]
export type ExtractionRequest = Omit<ExtractOptions, 'signal' | 'onProgress'>

/** Node's flags for the child. */
export const CHILD_FLAGS = ['--max-old-space-size=320', '--max-semi-space-size=2']

/**
 * Runs `extractVideo` in its own process: the worker's event loop stays free, and a crashing decoder ends one video
 * only. An abort or a time-out ends the child and ffmpeg.
 * @throws MediaError as `extractVideo`, also `timed_out` and, for a child that died, `crashed` (retryable)
 */
export async function extractInChild({ signal, onProgress, ...request }: ExtractOptions): Promise<Extraction> {
  signal.throwIfAborted()
  const child = startChild<ExtractionRequest, Extraction, ExtractionProgress>(
    new URL('./extraction-process.ts', import.meta.url),
    {
      flags: CHILD_FLAGS,
      env: { UV_THREADPOOL_SIZE: '4' },
    },
  )
  // CPU time and standstills end a decode earlier. This ends a process that hangs.
  const timeoutMs = 6000 * request.limits.maxDurationSec + 120_000
  try {
    return await child.call(request, { signal, timeoutMs, onProgress })
  } catch (error) {
    signal.throwIfAborted()
    throw toFailure(error as Error & Partial<MediaError>)
  } finally {
    child.kill()
  }
}

function toFailure(error: Error & Partial<MediaError>): Error {
  if (error instanceof ChildLost)
    return error.timedOut
      ? new MediaError('timed_out', 'The machine was too busy to decode the video. Retry it later.', {
          retryable: true,
        })
      : new MediaError('crashed', 'The decoder crashed on this video. Use another version.', {
          retryable: true,
          cause: error.cause,
        })
  return error.name === 'MediaError'
    ? new MediaError(error.code!, error.message, { retryable: error.retryable! })
    : error
}
