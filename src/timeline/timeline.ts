import { framesOfADay, type Rate, sameRate, toFrame } from './rate.ts'

/** A film that a timeline shows parts of. Its picture is not here: an editor links it to a file by its name. */
export interface Media {
  id: string
  /** The name of the file, as an editor looks for it. */
  fileName: string
  title: string
  /** Where the film stands on the web; null for an upload. */
  url: string | null
  rate: Rate
  width: number
  height: number
  /** The length in frames of its own rate. */
  length: number
  /** The timecode of its first frame, as a frame number. */
  start: number
  /** Whether its timecode drops labels. */
  drop: boolean
}

export interface Marker {
  /** In frames of the media, from its first. */
  frame: number
  name: string
  note: string
}

/** A part of a film. Frames are of the media's rate and count from its first; `to` is the frame behind the last. */
export interface Clip {
  name: string
  media: Media
  from: number
  to: number
  /** How long the picture of the clip before mixes into this one: frames before and behind `from`. */
  mix?: { before: number; behind: number }
  markers: Marker[]
}

/** Clips one after the other. */
export interface Timeline {
  name: string
  rate: Rate
  /** The timecode of its first frame, as a frame number. */
  start: number
  drop: boolean
  clips: Clip[]
}

/** A clip with its place in the timeline, in frames of the timeline's rate from its first frame. */
export interface PlacedClip extends Clip {
  at: number
  length: number
}

/** The form of a file for editors refuses this timeline. The message says why, and what to do. */
export class TimelineRefused extends Error {}

/** Places the clips. A clip of another rate keeps its time, to the nearest frame, and has at least one. */
export function placeClips({ clips, rate }: Timeline): PlacedClip[] {
  let at = 0
  return clips.map((clip) => {
    const length = clipLength(clip, rate)
    const placed = { ...clip, at, length }
    at += length
    return placed
  })
}

function clipLength({ from, to, media }: Clip, rate: Rate): number {
  if (sameRate(media.rate, rate)) return to - from
  return Math.max(1, toFrame(((to - from) * media.rate.den * 1000) / media.rate.num, rate))
}

export function lengthOf(timeline: Timeline): number {
  return timeline.clips.reduce((sum, clip) => sum + clipLength(clip, timeline.rate), 0)
}

/** A file that breaks one of these rules opens wrong or not at all. @throws TimelineRefused */
export function checkTimeline(timeline: Timeline): void {
  const { clips } = timeline
  if (clips.length === 0) throw new TimelineRefused('There is no clip to hand on. Add frames of videos first.')
  clips.forEach(({ name, from, to, mix }, n) => {
    if ((mix?.behind ?? 0) + (clips[n + 1]?.mix?.before ?? 0) > to - from)
      throw new TimelineRefused(`Clip ${n + 1} (${name}) is shorter than the transitions at its two ends.`)
  })
  if (timeline.start + lengthOf(timeline) > framesOfADay(timeline))
    throw new TimelineRefused('The list runs past 24 hours of timecode. Choose an earlier start or fewer clips.')
}

/** Each film of the timeline once, in order. */
export function mediaOf({ clips }: Pick<Timeline, 'clips'>): Media[] {
  return [...new Map(clips.map(({ media }) => [media.id, media])).values()]
}

/** The address of a film's file: below the folder that the caller named, else its bare name, to be linked by hand. */
export function fileUrl({ fileName }: Media, mediaRoot: string | undefined): string {
  const folder = (mediaRoot ?? '').replace(/^file:\/\//, '')
  const path = `${folder.startsWith('/') ? folder : `/${folder}`}/${fileName}`.replace(/\/{2,}/g, '/')
  return `file://${path.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':')}`
}

/** Text of one line without control characters. */
export function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim()
}
