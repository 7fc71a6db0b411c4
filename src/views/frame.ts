import { z } from 'zod'
import { frameIdIn, isId } from '../library/ids.ts'
import { type Hit, MEANING_SAID, type ReadAs as ReadAsOfSearch, type ShownFrame } from '../search/library-search.ts'
import type { Met } from '../search/text/match.ts'
import { KINDS as MATCH_KINDS } from '../search/text/senses.ts'
import {
  ATTRIBUTES,
  byName,
  CHOSEN,
  type Chosen,
  type ChosenValues,
  isListed,
  KINDS,
  PLATFORMS,
  SOURCES,
  TONES,
} from '../vocabulary.ts'

/** The fields of a search hit beside those of its resource. */
export const matchShape = {
  score: z.number().min(0).max(1),
  matched: z.record(z.string(), z.string()).describe('Field → escaped text with `<em>` around what matched.'),
  met: z
    .array(z.strictObject({ word: z.string(), field: z.string(), kind: z.enum(MATCH_KINDS) }))
    .optional()
    .describe('How each word is met: as a word, an attribute or a synonym, or by a guess.'),
  missing: z
    .array(z.string())
    .optional()
    .describe('Words that it has as no word, attribute or synonym; absent where it has all.'),
}

/** How a query in words was read. */
export const ReadAs = z
  .strictObject({
    words: z
      .array(z.strictObject({ word: z.string(), as: z.array(z.string()) }))
      .describe(
        'Each word that counts, with what meets it: `text`, `exact text`, `title or brand`, `attribute=value`; ' +
          'or what it may stand for: `beginning of …`, `part of …`, `typo of …`.',
      ),
    without: z.array(z.string()).describe('What no frame may have: the words behind a minus.'),
    ignored: z.array(z.string()).describe('Ignored: common words, and words past the tenth.'),
    let_go: z
      .array(z.string())
      .describe(
        'No frame meets every word in full. These are the words that some frames of the response lack or, as `words` ' +
          'says, meet by a guess: each frame names them in `missing`.',
      ),
    met: z.int().min(0).describe('Of `words`, how many each frame of the response meets in full: not by a guess.'),
    meaning: z
      .enum(MEANING_SAID)
      .optional()
      .describe(
        '`close`: some frames mean about what the question means. `nothing close`: none stands out. `unavailable`: ' +
          'no vector came in time, so words alone answer. `not ready`: the frames have no vectors of this text model ' +
          'yet, or are fewer than 25 or more than 200,000. `english only`: the text model knows no other language.',
      ),
  })
  .meta({
    id: 'ReadAs',
    examples: [
      {
        words: [
          { word: 'dark', as: ['tone=dark', 'text'] },
          { word: 'terminal', as: ['subject=terminal', 'text'] },
          { word: 'unicorn', as: ['text'] },
        ],
        without: [],
        ignored: ['with', 'a'],
        let_go: ['unicorn'],
        met: 2,
      },
    ],
  }) satisfies z.ZodType<ReadAsOfSearch>

/** A search hit is the resource itself with `score` and `matched`. */
export function toHit<D, R extends object>(
  hit: Hit<D>,
  view: (document: D) => R,
): R & { score: number; matched: Record<string, string>; met?: Met[]; missing?: string[] } {
  const { document, score, matched, met, missing } = hit
  const found = { ...view(document), score, matched }
  return { ...found, ...(met ? { met: [...met] } : {}), ...(missing ? { missing: [...missing] } : {}) }
}

/** A frame in a request body. */
export const frameIdSchema = z
  .string()
  .min(1)
  .max(500)
  .transform((text) => (isId(text) ? text : frameIdIn(text)))
  .refine((id) => id.length <= 64, 'must be the id of a frame, or the address of its image or page')
  .meta({ description: 'Its id, or the address of its image or page.' })

const confidence = z.number().min(0).max(1)

/** What every answer says of a video. */
export const videoShape = {
  id: z.string(),
  title: z.string(),
  author: z.string().nullable(),
  platform: z.enum(PLATFORMS),
  source_url: z.string().nullable(),
}
const VideoRef = z
  .strictObject({ ...videoShape, duration_sec: z.number().nullable() })
  .meta({ id: 'VideoRef', description: 'The video a frame belongs to.' })

const provenance = z
  .strictObject({
    source: z.enum(SOURCES),
    confidence: confidence.nullable(),
    by: z.string(),
    at: z.iso.datetime(),
    reason: z.string().optional(),
  })
  .nullable()

const chosenShape = byName(CHOSEN, (name) =>
  isListed(name) ? z.enum(ATTRIBUTES[name].values).nullable() : z.string().nullable(),
) as unknown as { [N in Chosen]: z.ZodType<ChosenValues[N]> }

export const frameShape = {
  id: z.string(),
  video_id: z.string(),
  t_sec: z.number().min(0).describe('Seconds into the video, at most three decimals: the time of the picture.'),
  shot_sec: z.array(z.number()).length(2).nullable().describe('From and to of its shot, in seconds.'),
  kind: z.enum(KINDS),
  ...chosenShape,
  tone: z.enum(TONES),
  author: z.string().nullable(),
  platform: z.enum(PLATFORMS),
  caption: z.string().nullable(),
  composition: z.string().nullable(),
  steal: z.string().nullable().describe('What is worth taking from it.'),
  on_screen_text: z.string().nullable(),
  palette: z
    .array(z.string().regex(/^#[0-9a-f]{6}$/))
    .max(5)
    .describe('Up to five colours, largest area first.'),
  image_url: z.url(),
  thumb_url: z.url(),
  loop_url: z.url().nullable().describe('Two seconds of its motion: an animated WebP. Null where little moves.'),
  placeholder: z.string().describe('thumbhash, base64.'),
  width: z.int(),
  height: z.int(),
  save_count: z.int().min(0),
  described: z.boolean().describe('Whether it is known what it shows. Else words and meaning find it by its text.'),
  source_url: z.string().nullable().describe('The source at this second, where the platform has such links.'),
  annotation: z.strictObject({
    model: z.string().nullable(),
    confidence: z.record(z.string(), confidence),
    reviewed: z.boolean().describe('A person has set at least one value.'),
  }),
  video: VideoRef,
  provenance: z.record(z.string(), provenance).optional().describe('Only with `provenance=1`.'),
}
export const FRAME_EXAMPLE = {
  id: 'k3v9x0aq7m2d-1a4c',
  video_id: 'k3v9x0aq7m2d',
  t_sec: 12.5,
  shot_sec: [10.2, 14.8],
  kind: 'cut',
  subject: 'terminal',
  surface: 'screen-recording',
  shot: 'no-face',
  technique: 'cursor-zoom',
  zone: 'none',
  tone: 'dark',
  author: 'Northwind Labs',
  platform: 'youtube',
  caption: 'A dark terminal runs the install command',
  composition: 'The window fills the frame, one line of text in the middle',
  steal: 'Show one command and nothing else',
  on_screen_text: 'npm start',
  palette: ['#101820', '#f2aa4c', '#ffffff', '#5a5a5a', '#2f6f9f'],
  image_url: 'https://frames.example/media/k3v9x0aq7m2d-1a4c-0f3c21ab.webp',
  thumb_url: 'https://frames.example/media/k3v9x0aq7m2d-1a4c-0f3c21ab-480.webp',
  loop_url: 'https://frames.example/media/k3v9x0aq7m2d-1a4c-5d07be92-loop.webp',
  placeholder: 'YTkGJwaRhWUIt4lbgnhZl3ath2BUBGYA',
  width: 1280,
  height: 720,
  save_count: 3,
  described: true,
  source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=12s',
  annotation: { model: 'measured', confidence: { subject: 0.9 }, reviewed: false },
  video: {
    id: 'k3v9x0aq7m2d',
    title: 'One command to start',
    author: 'Northwind Labs',
    platform: 'youtube',
    source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
    duration_sec: 61.2,
  },
}
export const Frame = z
  .strictObject(frameShape)
  .meta({ id: 'Frame', description: 'A value that was neither measured nor named is null.', examples: [FRAME_EXAMPLE] })

export const FrameHit = z.strictObject({ ...frameShape, ...matchShape }).meta({
  id: 'FrameHit',
  examples: [
    { ...FRAME_EXAMPLE, score: 0.92, matched: { caption: 'A dark <em>terminal</em> runs the install command' } },
  ],
})

/** One shape for the wall with `q` and without, so that generated clients need not tell two apart. */
export const WallFrame = z
  .strictObject({
    ...frameShape,
    score: matchShape.score.optional(),
    matched: matchShape.matched.optional(),
    met: matchShape.met,
    missing: matchShape.missing,
  })
  .meta({ id: 'WallFrame', description: 'A frame; with `q` it has `score` and `matched` too.' })

/** What a shape shows of these facts, in its order. */
export function shown<S extends z.ZodRawShape>(shape: S, facts: z.output<z.ZodObject<S>>): z.output<z.ZodObject<S>> {
  const known = Object.keys(shape).filter((name) => name in facts) as (keyof typeof facts)[]
  return Object.fromEntries(known.map((name) => [name, facts[name]])) as typeof facts
}

/** A frame as a public resource. PUBLIC_URL is the only source of absolute addresses. */
export function toFrame(
  { provenance: known, ...document }: ShownFrame,
  publicUrl: string,
  options: { provenance?: boolean } = {},
) {
  return shown(frameShape, {
    ...document,
    image_url: publicUrl + document.image_path,
    thumb_url: publicUrl + document.thumb_path,
    loop_url: document.loop_path === undefined ? null : publicUrl + document.loop_path,
    described: document.subject !== null,
    ...(options.provenance ? { provenance: known } : {}),
  })
}
export type PublicFrame = ReturnType<typeof toFrame>
