import { toTimecode } from './rate.ts'
import { placeClips, type Timeline } from './timeline.ts'

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
    const notes = markers.map((marker) => (marker.note === '' ? marker.name : `${marker.name}: ${marker.note}`))
    return [
      ...[n + 1, name, media.title, media.fileName, media.url, ...labels(media, from, to), ...record],
      ...[seconds, fps, mixed, notes.join(' / ')],
    ]
  })
  return [COLUMNS, ...rows]
}

/** Timecodes of frames, which a film or a timeline counts from its own start. */
function labels(of: Pick<Timeline, 'start' | 'rate' | 'drop'>, ...frames: number[]): string[] {
  return frames.map((frame) => toTimecode(of.start + frame, of))
}
