import { framesOfADay, sameRate, toTimecode } from './rate.ts'
import {
  lengthOf,
  type Marker,
  mediaOf,
  oneLine,
  type PlacedClip,
  placeClips,
  type Timeline,
  TimelineRefused,
} from './timeline.ts'

/** The most that three digits count: of events, and of the frames of a dissolve. */
const MAX_EVENTS = 999

/**
 * An edit decision list in the form of CMX 3600: one rate, one picture track, cuts and dissolves.
 * @throws TimelineRefused for several rates, more than 999 events or frames of a dissolve, sources past midnight
 */
export function toEdl(timeline: Timeline): string {
  refuseManyRates(timeline)
  refuseManyEvents(timeline.clips.length)
  for (const { name, mix, media, to } of timeline.clips) {
    if (mix && mix.before + mix.behind > MAX_EVENTS)
      throw new TimelineRefused(`The transition into ${name} is longer than an EDL can say. Use otio or xml.`)
    if (media.start + to > framesOfADay(media))
      throw new TimelineRefused(
        `The timecode of ${media.title} runs past midnight, which an EDL cannot say. Use otio or xml.`,
      )
  }
  const reels = reelsOf(timeline)
  const clips = placeClips(timeline)
  const events = clips.flatMap((clip, n) => clipEvent({ timeline, reels, clips, n }, clip))
  return [...head(timeline), ...events, ''].join('\n')
}

/**
 * Markers for Resolve's "Timeline markers from EDL": one event of one frame each, at the timeline's own timecode.
 * Markers on one frame become one, because Resolve drops the second.
 */
export function toMarkerEdl(timeline: Timeline): string {
  const byFrame = new Map<number, string[]>()
  for (const { at, from, markers, media } of placeClips(timeline))
    for (const marker of markers) {
      const offset = Math.round(
        ((marker.frame - from) * media.rate.den * timeline.rate.num) / (media.rate.num * timeline.rate.den),
      )
      const place = Math.min(at + offset, lengthOf(timeline) - 1)
      byFrame.set(place, [...(byFrame.get(place) ?? []), textOf(marker)])
    }
  refuseManyEvents(byFrame.size)
  const events = [...byFrame].map(([place, names], n) => {
    const times = labels(timeline, place, place + 1, place, place + 1)
    const text = oneLine(names.join(' / ')).replaceAll('|', '/')
    // Resolve ignores a name that begins with a digit.
    return `${event(n + 1, '001', 'C', times)}\n |C:ResolveColorCyan |M:${text.replace(/^(?=\d)/, 'Frame ')} |D:1\n`
  })
  return [...head(timeline), ...events, ''].join('\n')
}

function refuseManyRates({ clips, rate }: Timeline): void {
  if (clips.some(({ media }) => !sameRate(media.rate, rate)))
    throw new TimelineRefused('An EDL has one frame rate, and these films have several. Name one with rate.')
}

function refuseManyEvents(count: number): void {
  if (count > MAX_EVENTS)
    throw new TimelineRefused(`An EDL has at most ${MAX_EVENTS} events, and this has ${count}. Use otio or xml.`)
}

function head({ name, drop }: Timeline): string[] {
  return [`TITLE: ${oneLine(name).slice(0, 70)}`, `FCM: ${drop ? 'DROP FRAME' : 'NON-DROP FRAME'}`, '']
}

interface Listed {
  timeline: Timeline
  reels: ReadonlyMap<string, string>
  clips: readonly PlacedClip[]
  n: number
}

/** The lines of a clip. It ends where the next one begins to mix; a dissolve begins with an empty event of the last. */
function clipEvent({ timeline, reels, clips, n }: Listed, clip: PlacedClip): string[] {
  const { mix, media, from, to, at } = clip
  const before = mix?.before ?? 0
  const cut = clips[n + 1]?.mix?.before ?? 0
  const record = labels(timeline, at - before, at + clip.length - cut)
  const times = [...labels(media, from - before, to - cut), ...record]
  const reel = reels.get(media.id)!
  const previous = clips[n - 1]
  if (!mix || !previous) return [event(n + 1, reel, 'C', times), `* FROM CLIP NAME: ${oneLine(media.fileName)}`]
  const end = previous.to - before
  const empty = [...labels(previous.media, end, end), record[0]!, record[0]!]
  return [
    event(n + 1, reels.get(previous.media.id)!, 'C', empty),
    event(n + 1, reel, `D    ${String(before + mix.behind).padStart(3, '0')}`, times),
    `* FROM CLIP NAME: ${oneLine(previous.media.fileName)}`,
    `* TO CLIP NAME: ${oneLine(media.fileName)}`,
  ]
}

/** Timecodes of frames, which a film or a timeline counts from its own start. */
function labels(of: Pick<Timeline, 'start' | 'rate' | 'drop'>, ...frames: number[]): string[] {
  return frames.map((frame) => toTimecode(of.start + frame, of))
}

function event(number: number, reel: string, edit: string, times: readonly string[]): string {
  return `${String(number).padStart(3, '0')}  ${reel.padEnd(8)} V     ${edit.padEnd(8)} ${times.join(' ')}`
}

/** A reel a film: five letters of its title and a number, eight characters as CMX 3600 allows. */
function reelsOf(timeline: Timeline): Map<string, string> {
  return new Map(
    mediaOf(timeline).map(({ id, title }, n) => {
      const letters = title.toUpperCase().replace(/[^A-Z0-9]/g, '')
      return [id, `${letters.slice(0, 5) || 'FILM'}${String(n + 1).padStart(3, '0')}`]
    }),
  )
}

const COLUMNS = [
  ...['number', 'name', 'film', 'file', 'url', 'source_in', 'source_out', 'record_in', 'record_out'],
  ...['seconds', 'rate', 'transition_frames', 'markers'],
]

/** A shot list for a spreadsheet: a row a clip, times as timecode. */
export function toShotList(timeline: Timeline): readonly (readonly (string | number | null)[])[] {
  const rows = placeClips(timeline).map((clip, n) => {
    const { name, media, from, to, at, length, mix, markers } = clip
    const record = labels(timeline, at, at + length)
    const seconds = Math.round(((to - from) * media.rate.den * 1000) / media.rate.num) / 1000
    const fps = Math.round((media.rate.num / media.rate.den) * 1000) / 1000
    const mixed = mix ? mix.before + mix.behind : 0
    return [
      ...[n + 1, name, media.title, media.fileName, media.url, ...labels(media, from, to), ...record],
      ...[seconds, fps, mixed, markers.map(textOf).join(' / ')],
    ]
  })
  return [COLUMNS, ...rows]
}

function textOf({ name, note }: Marker): string {
  return note === '' ? name : `${name}: ${note}`
}
