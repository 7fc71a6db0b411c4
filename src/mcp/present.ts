import { z } from 'zod'
import { clip, clock, quote } from '../clean-text.ts'
import { imageKeyOf } from '../media/image-name.ts'
import type { ShownFrame } from '../search/library-search.ts'
import { byName, CHOSEN, type Chosen } from '../vocabulary.ts'
import type { ImageLink } from './tool.ts'

/**
 * How a frame looks to a model: a line and the image URL as text, a link as citation, some ten fields as data.
 * Each of the three costs the model's context, so none repeats at length what another says.
 */

/**
 * A value that is not known is left out. A long caption is cut as in the text where there are many; `detail: "full"`
 * has all of it. The video is the one of `videos` whose id the frame's id begins with.
 */
export const CompactFrame = z.object({
  id: z.string(),
  t_sec: z.number(),
  subject: z.string().optional(),
  technique: z.string().optional(),
  caption: z.string().optional(),
  measured: z.boolean().optional(),
  image_url: z.string(),
})

/** What the line of a frame does not say of its choices, in order. */
const isFurther = (name: Chosen): name is Exclude<Chosen, 'subject' | 'technique'> =>
  name !== 'subject' && name !== 'technique'
const FURTHER = CHOSEN.filter(isFurther)

/** Fields of a frame that tools leave out, or say with the video or as `image_url`. */
type Untold =
  | ('measures' | 'provenance' | 'placeholder' | 'width' | 'height' | 'save_count' | 'shot_sec')
  | ('author' | 'platform' | 'video' | 'image_path' | 'thumb_path' | 'loop_path' | 'has_measured_caption')

/** What `detail: "full"` adds of the frame. A field that is neither here nor in `Untold` fails the type check. */
const further = {
  video_id: z.string().optional(),
  kind: z.string().optional(),
  tone: z.string().optional(),
  ...byName(FURTHER, () => z.string().optional()),
  composition: z.string().optional(),
  steal: z.string().optional(),
  on_screen_text: z.string().optional(),
  palette: z.array(z.string()).optional(),
  source_url: z.string().optional(),
  annotation: z.object({ model: z.string(), caption: z.number().optional() }).optional(),
} satisfies Record<Exclude<keyof ShownFrame, keyof typeof CompactFrame.shape | Untold>, z.ZodType>

/** And of why it was found, or pinned. */
export const DetailedFrame = CompactFrame.extend({
  score: z.number().optional(),
  shares: z.array(z.string()).optional(),
  missing: z.array(z.string()).optional(),
  note: z.string().optional(),
  ...further,
})
export type PresentedFrame = z.infer<typeof DetailedFrame>

export const Detail = z.enum(['compact', 'full'])
export type Detail = z.infer<typeof Detail>

/** Letters of base64: of one picture, and of all in one answer, so that they fit a context window. */
export const MAX_INLINE = { one: 60_000, all: 100_000 }

export function toCompactFrame(frame: ShownFrame, publicUrl: string, max = MAX_CAPTION): z.infer<typeof CompactFrame> {
  return {
    id: frame.id,
    t_sec: frame.t_sec,
    subject: frame.subject ?? undefined,
    technique: frame.technique ?? undefined,
    caption: frame.caption === null ? undefined : clip(frame.caption, max),
    measured: frame.has_measured_caption,
    image_url: publicUrl + frame.image_path,
  }
}

/** The videos of frames, once each: their titles would be most of a page. */
export const VideoNames = z.array(z.object({ id: z.string(), title: z.string(), author: z.string().optional() }))

export function videosOf(frames: readonly ShownFrame[]): z.infer<typeof VideoNames> {
  const videos = new Map(frames.map(({ video }) => [video.id, video]))
  return [...videos.values()].map(({ id, title, author }) => ({ id, title, author: author ?? undefined }))
}

/** A frame that was found, and why. */
export interface Presented {
  document: ShownFrame
  score?: number | undefined
  /** What it has in common with the frame that was asked for. */
  shares?: readonly string[] | undefined
  /** Words of the question that it does not meet. */
  missing?: readonly string[] | undefined
  /** Close in meaning to the question: how much it stands out, from 0 to 1. */
  meaning?: string | undefined
  /** A line before it: of the video that begins with it. */
  above?: string | undefined
  /** A person's note with a pin. */
  note?: string | null | undefined
}

export function toPresentedFrame(
  { document: frame, score, shares, missing, meaning, note }: Presented,
  publicUrl: string,
  detail: Detail,
  max: number,
): PresentedFrame {
  const compact = {
    ...toCompactFrame(frame, publicUrl, max),
    score: score === undefined ? undefined : Math.round(score * 1000) / 1000,
    shares: meaning === undefined ? shares && [...shares] : [`meaning ${meaning}`],
    missing: missing && [...missing],
    note: note ?? undefined,
  }
  if (detail === 'compact') return compact
  return {
    ...compact,
    caption: frame.caption ?? undefined,
    ...byName(Object.keys(further), (name) => frame[name as keyof typeof further] ?? undefined),
    annotation: describedBy(frame),
  }
}

export function toLink(frame: ShownFrame, publicUrl: string): ImageLink {
  return { uri: publicUrl + frame.image_path, name: clock(frame.t_sec) }
}

/**
 * What each frame is, then its image URL, which holds its id. A video is named with the first of its frames;
 * `withVideo` is off where the heading names it.
 */
export function frameLines(
  frames: readonly Presented[],
  publicUrl: string,
  options: { detail: Detail; withVideo: boolean },
): string[] {
  const named = new Set<string>()
  return frames.map((frame) => {
    const { video_id } = frame.document
    const withVideo = options.withVideo && !named.has(video_id)
    named.add(video_id)
    return linesOf(frame, publicUrl, { detail: options.detail, withVideo, max: captionOf(frames) })
  })
}

function linesOf(
  { document: frame, score, shares, missing, meaning, note, above }: Presented,
  publicUrl: string,
  options: { detail: Detail; withVideo: boolean; max: number },
): string {
  const full = options.detail === 'full'
  const traits = [frame.subject, frame.tone, frame.technique].filter((value) => value !== null).join(' ')
  const video = options.withVideo ? videoOf(frame) : ''
  const measured = frame.has_measured_caption ? ' (measured)' : ''
  const caption = frame.caption ? ` ${quote(frame.caption, full ? MAX_DETAIL : options.max)}${measured}` : ''
  return [
    ...(above ? [above] : []),
    `${clock(frame.t_sec)} ${traits}${video}${caption}`,
    ...(shares ? [`  likeness ${score}; shares ${shares.join('; ')}`] : []),
    ...(meaning === undefined ? [] : [`  close in meaning: ${meaning}`]),
    ...(missing && meaning === undefined ? [`  misses: ${clip(missing.join(', '), 120)}`] : []),
    ...(full ? detailLines(frame) : []),
    ...(note ? [`  note: ${quote(note, 300)}`] : []),
    publicUrl + frame.image_path,
  ].join('\n')
}

const MAX_CAPTION = 54
const MAX_DETAIL = 600

/** So few frames are the answer, and their captions are told whole. More are a list to choose from. */
const FEW = 5
export const captionOf = ({ length }: readonly unknown[]): number => (length <= FEW ? MAX_DETAIL : MAX_CAPTION)

function videoOf({ video, author }: ShownFrame): string {
  const title = clip(video.title, 24)
  return ` (${quote(author ? `${title}, ${clip(author, 20)}` : title, 96)})`
}

/** Who described it, and how sure of the caption. */
function describedBy({ annotation: { model, confidence } }: ShownFrame) {
  const caption = confidence.caption
  if (model === null) return undefined
  return { model, caption: caption === undefined ? undefined : Math.round(caption * 100) / 100 }
}

function detailLines(frame: ShownFrame): string[] {
  const face = frame.zone && frame.zone !== 'none' ? `face ${frame.zone}` : null
  const choices = FURTHER.filter((name) => name !== 'zone').map((name) => frame[name])
  const more = [frame.kind, ...choices, face].filter(Boolean)
  const lines = [`  ${more.join(', ')}; colours ${frame.palette.join(' ')}`]
  if (frame.composition) lines.push(`  composition: ${quote(frame.composition, MAX_DETAIL)}`)
  if (frame.steal) lines.push(`  take from it: ${quote(frame.steal, MAX_DETAIL)}`)
  if (frame.on_screen_text) lines.push(`  on screen: ${quote(frame.on_screen_text, MAX_DETAIL)}`)
  if (frame.source_url) lines.push(`  source: ${frame.source_url}`)
  const by = describedBy(frame)
  if (by)
    lines.push(
      `  described by ${clip(by.model, 80)}${by.caption === undefined ? '' : `; caption sure to ${by.caption}`}`,
    )
  return lines
}

/** The first thumbnails as inline images, as many as fit. `left`: how many do not. */
export async function loadThumbs(
  frames: readonly ShownFrame[],
  wanted: number,
  readImage: (key: string) => Promise<Buffer | undefined>,
): Promise<{ images?: { data: string; mimeType: string }[]; left: number }> {
  const images: { data: string; mimeType: string }[] = []
  let [size, left] = [0, 0]
  for (const frame of frames.slice(0, wanted)) {
    const key = imageKeyOf(frame.thumb_path)
    const image = key && (await readImage(key))
    if (!image) continue
    const data = image.toString('base64')
    if (data.length > MAX_INLINE.one || size + data.length > MAX_INLINE.all) left++
    else {
      size += data.length
      images.push({ data, mimeType: 'image/webp' })
    }
  }
  return images.length > 0 ? { images, left } : { left }
}

/** The end of a heading: where the next page is, if there is one. */
export function moreWith(next: string | null): string {
  return next ? `; more with cursor ${next}` : ''
}
