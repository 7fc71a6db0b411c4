import type { Db } from '../../db/client.ts'
import { invalid } from '../../errors.ts'
import { findSource } from '../../video/source/source.ts'
import { findKnown, type KnownVideo, type SubmissionDetails, submitUrl, whyUnfetchable } from './submit.ts'

/* Many addresses at once, as an operator pastes them. */

export type CheckedAddress = { given: string } & (
  | { outcome: 'new' }
  /** The library has the video already. */
  | { outcome: 'known'; video: KnownVideo }
  /** An earlier line means the same video. */
  | { outcome: 'twice'; first: string }
  | { outcome: 'refused'; reason: string }
)

const MAX_ADDRESSES = 500

/**
 * The addresses of a text: one a line, or several with spaces between. A line that names none stays as it is, so that
 * its refusal quotes it whole. @throws AppError invalid_request for none and for too many.
 */
export function splitAddresses(text: string): string[] {
  const words = text
    .split(/[\r\n]+/)
    .flatMap((line) => (/[.:]/.test(line) ? line.split(/\s+/) : line.trim()))
    .filter((word) => word !== '')
  if (words.length === 0) throw invalid('addresses', 'Paste one or more addresses first.')
  if (words.length > MAX_ADDRESSES) throw invalid('addresses', `Paste at most ${MAX_ADDRESSES} addresses at once.`)
  return words
}

/** Checks what queueing each address would do. Queues nothing. */
export async function checkAddresses(db: Db, given: readonly string[], ytdlp: boolean): Promise<CheckedAddress[]> {
  const sources = given.map((address) => findSource(address.slice(0, 2_000)))
  const known = await findKnown(
    db,
    sources.flatMap((source) => source?.key ?? []),
  )
  const firsts = new Map<string, string>()
  return given.map((address, n): CheckedAddress => {
    const source = sources[n]
    if (!source) return { given: address, outcome: 'refused', reason: NOT_AN_ADDRESS }
    const first = firsts.get(source.key)
    if (first !== undefined) return { given: address, outcome: 'twice', first }
    firsts.set(source.key, address)
    const video = known.get(source.key)
    if (video) return { given: address, outcome: 'known', video }
    const reason = whyUnfetchable(source, ytdlp)
    return reason === undefined ? { given: address, outcome: 'new' } : { given: address, outcome: 'refused', reason }
  })
}

const NOT_AN_ADDRESS =
  'Not a video’s address. Use an https link to a video file, or to its page on a platform such as YouTube.'

/** Queues the new addresses among these, in their order, with the same details. Returns the number queued. */
export async function submitAddresses(
  db: Db,
  given: readonly string[],
  details: SubmissionDetails & { ytdlp: boolean },
): Promise<number> {
  let queued = 0
  for (const address of await checkAddresses(db, given, details.ytdlp)) {
    if (address.outcome !== 'new') continue
    const { created } = await submitUrl(db, address.given, details)
    if (created) queued++
  }
  return queued
}
