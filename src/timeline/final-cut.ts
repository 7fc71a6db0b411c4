import { type Rate, timebase, toTimecode } from './rate.ts'
import { fileUrl, lengthOf, type Media, mediaOf, type PlacedClip, placeClips, type Timeline } from './timeline.ts'

interface Written {
  mediaRoot: string | undefined
  /** The films that are described already. Later clips name them. */
  described: Set<string>
}

/**
 * Final Cut Pro 7's interchange form, version 5, which Premiere and Resolve read. Frames are whole numbers at the rate
 * of what holds them. Source: Apple, Final Cut Pro XML Interchange Format.
 */
export function toXmeml(timeline: Timeline, { mediaRoot }: { mediaRoot?: string | undefined } = {}): string {
  const written: Written = { mediaRoot, described: new Set() }
  const clips = placeClips(timeline)
  const items = clips.flatMap((clip, n) => [
    ...(clip.mix ? [toTransitionItem(clip, timeline)] : []),
    toClipItem(written, clip, { n, next: clips[n + 1] }),
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
    element('displayformat', {}, [tcFormat({ drop })]),
  ])
}

/** Beside a transition, a clip says -1 for its place, and its `in` or `out` holds the pictures that mix. */
function toClipItem(written: Written, clip: PlacedClip, { n, next }: { n: number; next: PlacedClip | undefined }): Xml {
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

function toTransitionItem({ mix, at }: PlacedClip, { rate }: Timeline): Xml {
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

/**
 * Final Cut Pro's own form, version 1.10. Times are exact fractions of a second and multiples of a frame.
 * Source: Apple, FCPXML Reference and its document type definition.
 */
export function toFcpxml(timeline: Timeline, { mediaRoot }: { mediaRoot?: string | undefined } = {}): string {
  const films = mediaOf(timeline)
  const formats = new Map<string, { id: string; xml: Xml }>()
  const formatOf = (rate: Rate, width: number, height: number): string => {
    const key = `${rate.num}/${rate.den} ${width}x${height}`
    const known = formats.get(key)
    if (known) return known.id
    const id = `f${formats.size + 1}`
    const frameDuration = seconds(1, rate)
    formats.set(key, { id, xml: element('format', { id, frameDuration, width, height }) })
    return id
  }
  const sequenceFormat = formatOf(timeline.rate, films[0]!.width, films[0]!.height)
  const assets = films.map((media, n) =>
    element(
      'asset',
      {
        id: `a${n + 1}`,
        name: media.fileName,
        start: seconds(media.start, media.rate),
        duration: seconds(media.length, media.rate),
        hasVideo: 1,
        format: formatOf(media.rate, media.width, media.height),
      },
      [element('media-rep', { kind: 'original-media', src: fileUrl(media, mediaRoot) })],
    ),
  )
  const assetOf = new Map(films.map(({ id }, n) => [id, `a${n + 1}`]))
  const clips = placeClips(timeline)
  const story = clips.flatMap((clip) => [
    ...(clip.mix ? [toTransition(clip, timeline)] : []),
    toClip(clip, timeline, assetOf.get(clip.media.id)!),
  ])
  const sequence = element(
    'sequence',
    {
      format: sequenceFormat,
      duration: seconds(lengthOf(timeline), timeline.rate),
      tcStart: seconds(timeline.start, timeline.rate),
      tcFormat: tcFormat(timeline),
    },
    [element('spine', {}, story)],
  )
  const project = element('project', { name: timeline.name }, [sequence])
  const resources = element('resources', {}, [...[...formats.values()].map(({ xml }) => xml), ...assets])
  const library = element('library', {}, [element('event', { name: timeline.name }, [project])])
  return xmlDocument('fcpxml', element('fcpxml', { version: '1.10' }, [resources, library]))
}

function toClip(clip: PlacedClip, timeline: Timeline, ref: string): Xml {
  const { media, from, at, length, markers } = clip
  const attributes = {
    ref,
    name: clip.name,
    offset: seconds(timeline.start + at, timeline.rate),
    start: seconds(media.start + from, media.rate),
    duration: seconds(length, timeline.rate),
    tcFormat: tcFormat(media),
  }
  return element(
    'asset-clip',
    attributes,
    markers.map(({ frame, name, note }) =>
      element('marker', {
        start: seconds(media.start + frame, media.rate),
        duration: seconds(1, media.rate),
        value: name,
        note: note === '' ? undefined : note,
      }),
    ),
  )
}

function toTransition({ mix, at }: PlacedClip, { start, rate }: Timeline): Xml {
  return element('transition', {
    name: 'Cross Dissolve',
    offset: seconds(start + at - mix!.before, rate),
    duration: seconds(mix!.before + mix!.behind, rate),
  })
}

function tcFormat({ drop }: { drop: boolean }): string {
  return drop ? 'DF' : 'NDF'
}

/** A number of frames as seconds: `1001/30000s`. */
function seconds(frames: number, { num, den }: Rate): string {
  const over = frames * den
  return over % num === 0 ? `${over / num}s` : `${over}/${num}s`
}

/** A piece of XML that is already written. */
interface Xml {
  xml: string
}

type Child = Xml | string | number | undefined

/** Writes an element. Text and attributes are escaped, and characters that XML 1.0 has no place for are left out. */
function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  children: readonly Child[] = [],
): Xml {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeText(String(value))}"`)
  const open = `<${name}${written.join('')}`
  const inside = children.filter((child) => child !== undefined)
  if (inside.length === 0) return { xml: `${open}/>` }
  const only = inside[0]
  if (inside.length === 1 && typeof only !== 'object') return { xml: `${open}>${escapeText(String(only))}</${name}>` }
  const lines = inside.map((child) => (typeof child === 'object' ? child.xml : escapeText(String(child))))
  return { xml: `${open}>\n${lines.join('\n').replace(/^/gm, '  ')}\n</${name}>` }
}

function xmlDocument(doctype: string, root: Xml): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE ${doctype}>\n${root.xml}\n`
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escapeText(text: string): string {
  const allowed = text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
  return allowed.replace(/[&<>"]/g, (character) => ESCAPES[character]!).replace(/[\t\n\r]+/g, ' ')
}
