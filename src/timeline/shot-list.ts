import { toTimecode } from './rate.ts'
import { placeClips, type Timeline } from './timeline.ts'

const COLUMNS = ['number', 'name', 'film', 'file', 'url', 'source_in', 'source_out', 'record_in', 'record_out']
const MORE = ['seconds', 'rate', 'transition_frames', 'markers']

/** A shot list for a spreadsheet: a row a clip, times as timecode. */
export function toShotList(timeline: Timeline): readonly (readonly (string | number | null)[])[] {
  const { rate, drop, start } = timeline
  const rows = placeClips(timeline).map(({ name, media, from, to, at, length, mix, markers }, n) => {
    const source = [from, to].map((frame) => toTimecode(media.start + frame, media))
    const record = [at, at + length].map((frame) => toTimecode(start + frame, { rate, drop }))
    const seconds = Math.round(((to - from) * media.rate.den * 1000) / media.rate.num) / 1000
    const fps = Math.round((media.rate.num / media.rate.den) * 1000) / 1000
    const mixed = mix ? mix.before + mix.behind : 0
    const noted = markers.map((marker) => (marker.note === '' ? marker.name : `${marker.name}: ${marker.note}`))
    return [
      n + 1,
      name,
      media.title,
      media.fileName,
      media.url,
      ...source,
      ...record,
      seconds,
      fps,
      mixed,
      noted.join(' / '),
    ]
  })
  return [[...COLUMNS, ...MORE], ...rows]
}
