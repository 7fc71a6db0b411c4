import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { rgbaToThumbHash } from 'thumbhash'
import type { FrameRest, Kind, Tone } from '../../vocabulary.ts'
import type { Decoding } from './decode.ts'
import { toImageSize } from './decode-arguments.ts'
import type { PickedFrame } from './kept-frames.ts'
import type { Loop } from './loops.ts'
import { differenceHash, measureLuma, shrink, toRgb, type YuvPicture } from './measure.ts'
import { measurePalette } from './palette.ts'
import type { Probe } from './probe.ts'

/** Pictures that may wait for their encoding before the decoding is paused. */
const MAX_WAITING = 6

/** Encodes picked frames one after another while decoding goes on. `release` gets each picture's memory back. */
export function createFrameWriter(
  options: { scratchDir: string; signal: AbortSignal },
  probe: Probe,
  { release, onWritten }: { release: (memory: Uint8Array) => void; onWritten: (done: number) => void },
) {
  const { width, height } = toImageSize(probe)
  // Pictures are encoded one after another, so one buffer serves them all.
  const rgb = new Uint8ClampedArray(width * height * 3)
  const frames: ExtractedFrame[] = []
  let decoding: Decoding | null = null
  let last: Promise<void> = Promise.resolve()
  let waiting = 0
  let closed = false
  let failure: unknown = null

  const toPixels = (picture: YuvPicture, into?: Uint8ClampedArray) =>
    toRgb(picture, decoding?.colorSpace ?? null, probe.height, into)

  async function writeOne(picked: PickedFrame, motion: number): Promise<void> {
    const { picture } = picked.candidate
    const pixels = toPixels(picture, rgb)
    frames.push(await writeFrame(options.scratchDir, picked, { rgb: pixels, motion }))
    release(picture.data)
    onWritten(frames.length)
  }

  async function writeOneLoop(loop: Loop): Promise<void> {
    const frame = frames.find(({ tMs }) => tMs === loop.tMs)
    if (frame) frame.loop = await writeLoop(options.scratchDir, loop, toPixels)
  }

  function enqueue(write: () => Promise<void>): void {
    waiting++
    if (waiting >= MAX_WAITING) decoding?.hold(true)
    last = last
      .then(() => (closed || options.signal.aborted ? undefined : write()))
      .catch((error) => {
        closed = true
        failure ??= error
        decoding?.stop(error)
      })
      .finally(() => {
        waiting--
        if (waiting < MAX_WAITING) decoding?.hold(false)
      })
  }

  return {
    frames,
    /** Names the decode pass, which is paused while too many pictures wait and stopped when one cannot be written. */
    attach(started: Decoding): void {
      decoding = started
    },
    write: (picked: PickedFrame, motion: number): void => enqueue(() => writeOne(picked, motion)),
    /** Gives a frame its loop, once the frame is written. */
    writeLoop: (loop: Loop): void => enqueue(() => writeOneLoop(loop)),
    /** Waits for all pictures. Throws the first failure to write one. */
    async finish(): Promise<void> {
      await last
      if (failure) throw failure
    },
    /** Drops the pictures that still wait. Resolves when none is being written. */
    async close(): Promise<void> {
      closed = true
      await last
    },
  }
}

/** One kept frame. Everything but the images goes into the database. */
export interface ExtractedFrame {
  /** The instant of the picture, milliseconds. It names the frame. */
  tMs: number
  kind: Kind
  /** For people: why this frame was kept. */
  reason: string
  /** Null in a camera's shot. */
  rest: FrameRest | null
  width: number
  height: number
  luma: number
  tone: Tone
  /** Share of pixels darker than luma 60, 0–1. */
  darkShare: number
  /** Five colours, the largest area first: `#rrggbb`. */
  palette: string[]
  /** The same colours' shares of the area, 0–1. */
  paletteShares: number[]
  /** Share of pixels that are no grey, 0–1. */
  coloredShare: number
  sharpness: number
  motion: number
  /** 64-bit difference hash, 16 hex digits. */
  phash: string
  /** thumbhash, base64. */
  placeholder: string
  /** WebP files in the scratch folder, at most 1280 and 480 wide. The caller stores them and removes the folder. */
  imagePath: string
  imageBytes: number
  /** SHA-256 of the 1280-wide bytes, hex. */
  imageSha256: string
  thumbPath: string
  /** Two seconds of its motion: an animated WebP file. */
  loop: StoredFile | null
}

/** A file in the scratch folder, and the SHA-256 of its bytes, hex. */
interface StoredFile {
  path: string
  sha256: string
}

const THUMB_WIDTH = 480

/** Packed RGB of a small picture of the same video, written to `into` if given. */
type ToPixels = (picture: YuvPicture, into?: Uint8ClampedArray) => Uint8ClampedArray

/** Measures a picked picture and writes its images. `rgb` holds the picture's packed pixels. */
async function writeFrame(
  scratchDir: string,
  picked: PickedFrame,
  { rgb, motion }: { rgb: Uint8ClampedArray; motion: number },
): Promise<ExtractedFrame> {
  const { picture, features, sharpness, tMs } = picked.candidate
  const { width, height } = picture
  const small = shrink(rgb, width, height, 100)
  const { palette, shares, colored } = measurePalette(small.rgb)
  const { luma, tone } = measureLuma(small.rgb)
  const { image, thumb } = await encodeImages(rgb, width, height)
  const name = nameOf(tMs)
  const imagePath = join(scratchDir, `${name}.webp`)
  const thumbPath = join(scratchDir, `${name}-${THUMB_WIDTH}.webp`)
  const { sha256: imageSha256 } = await store(imagePath, image)
  await writeFile(thumbPath, thumb)
  return {
    tMs: Math.round(tMs),
    kind: picked.kind,
    reason: picked.reason,
    rest: picked.rest,
    width,
    height,
    luma,
    tone,
    darkShare: Math.round(features.darkShare * 10_000) / 10_000,
    palette,
    paletteShares: shares,
    coloredShare: colored,
    sharpness: Math.round(sharpness * 100) / 100,
    motion: Math.round(motion * 100) / 100,
    phash: differenceHash(features.picture),
    placeholder: toPlaceholder(shrink(small.rgb, small.width, small.height, 50)),
    imagePath,
    imageBytes: image.length,
    imageSha256,
    thumbPath,
    loop: null,
  }
}

const nameOf = (tMs: number) => Math.round(tMs).toString(36)

async function store(path: string, bytes: Buffer): Promise<StoredFile> {
  await writeFile(path, bytes)
  return { path, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Writes an animation that repeats for ever. */
async function writeLoop(
  scratchDir: string,
  { tMs, pictures, delaysMs }: Loop,
  toPixels: ToPixels,
): Promise<StoredFile> {
  const { width, height } = pictures[0]!
  const bytes = width * height * 3
  const rgb = new Uint8ClampedArray(bytes * pictures.length)
  for (const [n, picture] of pictures.entries()) toPixels(picture, rgb.subarray(n * bytes, (n + 1) * bytes))
  const raw = { width, height: height * pictures.length, channels: 3 as const, pageHeight: height }
  const webp = await sharp(rgb, { raw }).webp({ quality: 60, effort: 2, loop: 0, delay: delaysMs }).toBuffer()
  return store(join(scratchDir, `${nameOf(tMs)}-loop.webp`), webp)
}

/** The two kept sizes, from packed RGB at most 1280 wide. */
export async function encodeImages(
  rgb: Uint8Array | Uint8ClampedArray,
  width: number,
  height: number,
): Promise<{ image: Buffer; thumb: Buffer }> {
  sharp.concurrency(1)
  sharp.cache(false)
  const raw = { width, height, channels: 3 as const }
  const image = await sharp(rgb, { raw }).webp({ quality: 80 }).toBuffer()
  const thumb = await sharp(rgb, { raw })
    .resize({ width: THUMB_WIDTH, withoutEnlargement: true })
    .webp({ quality: 75 })
    .toBuffer()
  return { image, thumb }
}

function toPlaceholder({ width, height, rgb }: { width: number; height: number; rgb: Uint8Array }): string {
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0, j = 0; i < rgb.length; i += 3, j += 4) {
    rgba[j] = rgb[i]!
    rgba[j + 1] = rgb[i + 1]!
    rgba[j + 2] = rgb[i + 2]!
    rgba[j + 3] = 255
  }
  return Buffer.from(rgbaToThumbHash(width, height, rgba)).toString('base64')
}
