import type { Rate } from './rate.ts'
import { fileUrl, lengthOf, mediaOf, type PlacedClip, placeClips, type Timeline } from './timeline.ts'
import { element, type Xml, xmlDocument } from './xml.ts'

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
