import { type Rate, timebase, toTimecode } from './rate.ts'
import { fileUrl, lengthOf, type Media, type PlacedClip, placeClips, type Timeline } from './timeline.ts'
import { element, type Xml, xmlDocument } from './xml.ts'

interface Written {
  timeline: Timeline
  mediaRoot: string | undefined
  /** The films that are described already. Later clips name them. */
  described: Set<string>
}

/**
 * Final Cut Pro 7's interchange form, version 5, which Premiere and Resolve read. Frames are whole numbers at the rate
 * of what holds them. Source: Apple, Final Cut Pro XML Interchange Format.
 */
export function toXmeml(timeline: Timeline, { mediaRoot }: { mediaRoot?: string | undefined } = {}): string {
  const written: Written = { timeline, mediaRoot, described: new Set() }
  const clips = placeClips(timeline)
  const items = clips.flatMap((clip, n) => [
    ...(clip.mix ? [toTransition(clip, timeline)] : []),
    toClip(written, clip, { n, next: clips[n + 1] }),
  ])
  const sequence = element('sequence', { id: 'sequence-1' }, [
    element('name', {}, [timeline.name]),
    element('duration', {}, [lengthOf(timeline)]),
    rateOf(timeline.rate),
    timecodeOf(timeline),
    // Resolve shows nothing without a format, be it empty.
    element('media', {}, [element('video', {}, [element('format', {}), element('track', {}, items)])]),
  ])
  return xmlDocument('xmeml', element('xmeml', { version: 5 }, [sequence]))
}

function rateOf(rate: Rate): Xml {
  return element('rate', {}, [
    element('timebase', {}, [timebase(rate)]),
    element('ntsc', {}, [rate.den === 1001 ? 'TRUE' : 'FALSE']),
  ])
}

function timecodeOf({ rate, start, drop }: Pick<Timeline, 'rate' | 'start' | 'drop'>): Xml {
  return element('timecode', {}, [
    rateOf(rate),
    element('string', {}, [toTimecode(start, { rate, drop })]),
    element('frame', {}, [start]),
    element('displayformat', {}, [drop ? 'DF' : 'NDF']),
  ])
}

/** Beside a transition, a clip says -1 for its place, and its `in` or `out` holds the pictures that mix. */
function toClip(written: Written, clip: PlacedClip, { n, next }: { n: number; next: PlacedClip | undefined }): Xml {
  const { media, mix, markers } = clip
  return element('clipitem', { id: `clip-${n + 1}` }, [
    element('name', {}, [clip.name]),
    element('duration', {}, [media.length]),
    rateOf(media.rate),
    element('start', {}, [mix ? -1 : clip.at]),
    element('end', {}, [next?.mix ? -1 : clip.at + clip.length]),
    element('in', {}, [clip.from - (mix?.before ?? 0)]),
    element('out', {}, [clip.to + (next?.mix?.behind ?? 0)]),
    toFile(written, media),
    ...markers.map((marker) =>
      element('marker', {}, [
        element('name', {}, [marker.name]),
        element('comment', {}, [marker.note]),
        element('in', {}, [marker.frame]),
        element('out', {}, [-1]),
      ]),
    ),
  ])
}

function toFile({ described, mediaRoot }: Written, media: Media): Xml {
  const id = `file-${media.id}`
  if (described.has(media.id)) return element('file', { id })
  described.add(media.id)
  return element('file', { id }, [
    element('name', {}, [media.fileName]),
    element('pathurl', {}, [fileUrl(media, mediaRoot)]),
    rateOf(media.rate),
    element('duration', {}, [media.length]),
    timecodeOf(media),
    element('media', {}, [
      element('video', {}, [
        element('samplecharacteristics', {}, [
          element('width', {}, [media.width]),
          element('height', {}, [media.height]),
        ]),
      ]),
    ]),
  ])
}

function toTransition({ mix, at }: PlacedClip, { rate }: Timeline): Xml {
  return element('transitionitem', {}, [
    rateOf(rate),
    element('start', {}, [at - mix!.before]),
    element('end', {}, [at + mix!.behind]),
    element('alignment', {}, ['center']),
    element('effect', {}, [
      element('name', {}, ['Cross Dissolve']),
      element('effectid', {}, ['Cross Dissolve']),
      element('effecttype', {}, ['transition']),
      element('mediatype', {}, ['video']),
    ]),
  ])
}
