import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { encodeImages } from '../../src/video/extract/frame-images.ts'
import { measureLuma } from '../../src/video/extract/measure.ts'
import type { FrameToAnnotate } from '../../src/vision/annotator.ts'
import { readFolder } from './clips.ts'

/** One labelled span of a clip: what a careful viewer sees in every frame of it. */
export interface Span {
  file: string
  fromSec: number
  toSec: number
  labels: Partial<Record<Attribute, string>>
  alsoAcceptable: Partial<Record<Attribute, string[]>>
  /** The main words on screen. */
  words: string[]
  /** All words of a drawn frame, with the height of their letters in pixels. */
  drawn?: { words: { word: string; size: number }[]; ground: string }
}

export interface Sample {
  span: Span
  frame: FrameToAnnotate
}

export const ATTRIBUTES = ['tone', 'subject', 'surface', 'shot', 'zone'] as const
export type Attribute = (typeof ATTRIBUTES)[number]

interface RawSpan extends Partial<Record<Attribute, string>> {
  from_s?: number
  to_s?: number
  clean_from_frame?: number
  clean_to_frame?: number
  text?: string | string[]
  also_acceptable?: Partial<Record<Attribute, string[]>>
}

/** Spans of every clip of the manifest. A clip's `*.truth.json` goes before the manifest's labels. */
export function loadSpans(folder: string): Span[] {
  const truthOf = (file: string) => file.replace(/\.\w+$/, '.truth.json')
  const { listed, truths } = readFolder(folder)
  const entries: Array<{ file: string; fps?: number; labels?: RawSpan[]; truth?: string }> = listed
  const files = new Set(entries.map(({ file }) => file))
  const unlisted: typeof entries = [...truths].flatMap(([name, { video }]) =>
    video && !files.has(video) ? [{ file: String(video), truth: name }] : [],
  )
  const spans = [...entries, ...unlisted].flatMap((entry): Span[] => {
    const truth = truths.get(entry.truth ?? truthOf(entry.file))
    const raw: RawSpan[] = truth?.shots ?? entry.labels ?? []
    const fps = truth?.fps ?? entry.fps
    return raw.map((span) => ({
      file: entry.file,
      fromSec: span.from_s ?? span.clean_from_frame! / fps,
      toSec: span.to_s ?? (span.clean_to_frame! + 1) / fps,
      labels: Object.fromEntries(
        ATTRIBUTES.flatMap((attribute) => (span[attribute] ? [[attribute, span[attribute]]] : [])),
      ),
      alsoAcceptable: span.also_acceptable ?? {},
      words: toWords([span.text ?? []].flat().join(' ')),
    }))
  })
  if (spans.length === 0)
    throw new Error(`${folder} holds no labels (MANIFEST.json with labels, or *.truth.json with shots)`)
  return spans
}

export async function loadSamples(spans: readonly Span[], folder: string, perSpan: number): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const span of spans) {
    const count = Math.max(1, Math.min(perSpan, Math.round((span.toSec - span.fromSec) * 2)))
    for (let i = 0; i < count; i++) {
      const tSec = span.fromSec + ((span.toSec - span.fromSec) * (i + 0.5)) / count
      samples.push({ span, frame: await loadFrame(join(folder, span.file), `${span.file}@${tSec.toFixed(3)}`, tSec) })
    }
  }
  return samples
}

async function loadFrame(file: string, id: string, tSec: number): Promise<FrameToAnnotate> {
  const input = ['-v', 'error', '-ss', tSec.toFixed(3), '-i', file, '-frames:v', '1']
  const { stdout } = await promisify(execFile)('ffmpeg', [...input, '-f', 'image2pipe', '-c:v', 'png', 'pipe:1'], {
    encoding: 'buffer',
    maxBuffer: 64 * 1024 * 1024,
  })
  return keptFrame(stdout, id, tSec)
}

/** A picture as the pipeline keeps it: at most 1280 wide, WebP. */
export async function keptFrame(picture: Buffer, id: string, tSec: number): Promise<FrameToAnnotate> {
  const { data, info } = await sharp(picture)
    .resize({ width: 1280, withoutEnlargement: true })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { width, height } = info
  const { image } = await encodeImages(data, width, height)
  return {
    id,
    tSec,
    kind: 'beat',
    image,
    imageSha256: createHash('sha256').update(image).digest('hex'),
    width,
    height,
    ...measureLuma(data),
    motion: 0,
    reason: 'sampled',
  }
}

export function toWords(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
}
