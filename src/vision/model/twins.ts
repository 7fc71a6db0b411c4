import type { FrameToAnnotate } from '../annotator.ts'
import { hashDistance, looksTheSame, toMiniature } from './images.ts'

const NEAR_HASH = 6

/**
 * Frames that look the same as the kept one before them in time, by the kept frame's id. Every frame of a chain is
 * compared with its first, so that slow change does not add up.
 */
export async function findTwins(frames: readonly FrameToAnnotate[]): Promise<Map<string, FrameToAnnotate[]>> {
  const twins = new Map<string, FrameToAnnotate[]>()
  const miniatures = new Map<string, ReturnType<typeof toMiniature>>()
  const miniatureOf = (frame: FrameToAnnotate) => {
    const known = miniatures.get(frame.id) ?? toMiniature(frame.image)
    miniatures.set(frame.id, known)
    return known
  }
  const isTwin = async (first: FrameToAnnotate, frame: FrameToAnnotate) => {
    const near = first.imageSha256 === frame.imageSha256 || hashDistance(first.phash, frame.phash) <= NEAR_HASH
    if (!near) return false
    // A picture that cannot be read has no twin.
    const pair = await Promise.all([miniatureOf(first), miniatureOf(frame)]).catch(() => null)
    return pair !== null && looksTheSame(...pair)
  }
  let first: FrameToAnnotate | undefined
  for (const frame of frames.toSorted((a, b) => a.tSec - b.tSec)) {
    if (first && (await isTwin(first, frame))) twins.set(first.id, [...(twins.get(first.id) ?? []), frame])
    else first = frame
  }
  return twins
}
