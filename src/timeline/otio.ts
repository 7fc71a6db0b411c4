import type { Rate } from './rate.ts'
import { type Clip, fileUrl, type Media, type Timeline } from './timeline.ts'

/**
 * OpenTimelineIO's own JSON. Resolve reads it, and so does every program that the library has an adapter for.
 * Source: opentimelineio.readthedocs.io, Serialized Schema.
 */
export function toOtio(timeline: Timeline, { mediaRoot }: { mediaRoot?: string | undefined } = {}): string {
  const children = timeline.clips.flatMap((clip) => [
    ...(clip.mix ? [toTransition(clip)] : []),
    toClip(clip, mediaRoot),
  ])
  return JSON.stringify(
    {
      OTIO_SCHEMA: 'Timeline.1',
      name: timeline.name,
      global_start_time: time(timeline.start, timeline.rate),
      metadata: {},
      tracks: {
        OTIO_SCHEMA: 'Stack.1',
        name: 'tracks',
        metadata: {},
        source_range: null,
        effects: [],
        markers: [],
        children: [
          {
            OTIO_SCHEMA: 'Track.1',
            name: 'V1',
            kind: 'Video',
            metadata: {},
            source_range: null,
            effects: [],
            markers: [],
            children,
          },
        ],
      },
    },
    null,
    2,
  )
}

function time(value: number, { num, den }: Rate) {
  return { OTIO_SCHEMA: 'RationalTime.1', rate: num / den, value }
}

function range(from: number, length: number, rate: Rate) {
  return { OTIO_SCHEMA: 'TimeRange.1', start_time: time(from, rate), duration: time(length, rate) }
}

function toClip({ name, media, from, to, markers }: Clip, mediaRoot: string | undefined) {
  return {
    OTIO_SCHEMA: 'Clip.1',
    name,
    metadata: { frame_library: { video_id: media.id, url: media.url } },
    source_range: range(media.start + from, to - from, media.rate),
    effects: [],
    markers: markers.map((marker) => ({
      OTIO_SCHEMA: 'Marker.2',
      name: marker.name,
      color: 'CYAN',
      marked_range: range(media.start + marker.frame, 1, media.rate),
      metadata: { frame_library: { note: marker.note } },
    })),
    media_reference: toReference(media, mediaRoot),
  }
}

function toReference(media: Media, mediaRoot: string | undefined) {
  return {
    OTIO_SCHEMA: 'ExternalReference.1',
    name: media.fileName,
    target_url: fileUrl(media, mediaRoot),
    available_range: range(media.start, media.length, media.rate),
    metadata: {},
  }
}

function toTransition({ mix, media }: Clip) {
  return {
    OTIO_SCHEMA: 'Transition.1',
    name: '',
    transition_type: 'SMPTE_Dissolve',
    in_offset: time(mix!.before, media.rate),
    out_offset: time(mix!.behind, media.rate),
    metadata: {},
  }
}
