import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { rgbaToThumbHash } from 'thumbhash'
import { MediaError } from '../../errors.ts'
import type { Kind, Tone } from '../../vocabulary.ts'
import type { Boundary } from '../shots/boundary.ts'
import { createShotDetector, DETECTOR_VERSION, HISTORY_FRAMES } from '../shots/detector.ts'
import { copyFeatures, createFrameMeter, type FrameFeatures, KEPT_BYTES } from '../shots/features.ts'
import { THRESHOLDS } from '../shots/thresholds.ts'
import { type DecodeOptions, type Decoding, decodeVideo, toImageSize } from './decode.ts'
import {
  differenceHash,
  measureLuma,
  measurePalette,
  measureSharpness,
  shrink,
  toRgb,
  type YuvPicture,
} from './measure.ts'
import { type Candidate, createPicker, type Pick } from './picks.ts'
import { type Probe, probeVideo, tooLong } from './probe.ts'

/** What ffprobe says of a file that passed the checks. Times in seconds, sizes in pixels after rotation and sample aspect ratio. */
export interface ProbedVideo {
  durationSec: number
  width: number
  height: number
  fps: number
  rotation: number
  codec: string
  container: string
  title: string | null
}

/** One kept frame. Everything but the images goes into the database. */
export interface ExtractedFrame {
  /** The instant that names the frame: for a cut the boundary (for a gradual transition its end), else the sampled instant. Milliseconds. */
  tMs: number
  /** The instant the picture was taken at. */
  sampleMs: number
  kind: Kind
  /** For people: why this frame was kept. */
  reason: string
  width: number
  height: number
  luma: number
  tone: Tone
  /** Share of pixels darker than luma 60, 0–1. */
  darkShare: number
  /** Five colours by area, most first: `#rrggbb`. */
  palette: string[]
  /** The same colours' shares of the area, 0–1. */
  paletteShares: number[]
  sharpness: number
  motion: number
  /** 64-bit difference hash, 16 hex digits. */
  phash: string
  /** thumbhash, base64. */
  placeholder: string
  /** WebP, at most 1280 and 480 wide, as files in the scratch folder (read and stored by the caller, removed with the folder). */
  imagePath: string
  imageBytes: number
  /** SHA-256 of the 1280-wide bytes, hex. */
  imageSha256: string
  thumbPath: string
}

/** The clean part of a shot: what lies between two shots is the transition. */
export interface ExtractedShot {
  startMs: number
  endMs: number
  /** How the shot begins. */
  transition: 'start' | 'cut' | 'fade' | 'dissolve' | 'wipe'
}

export interface Extraction {
  probe: ProbedVideo
  shots: ExtractedShot[]
  frames: ExtractedFrame[]
  /** Name, version and thresholds: stored with the video. */
  detector: { version: string; parameters: Record<string, number> }
}

/** `scratchDir` is an empty private folder, which the caller removes. */
export interface ExtractOptions extends DecodeOptions {
  onProgress?: (progress: { stage: 'probe' | 'shots' | 'images'; done: number; total: number | null }) => void
}

const THUMB_WIDTH = 480
/** Pictures that may wait for their encoding before decoding is held up. */
const MAX_WAITING = 6
/** Frames between two looks at what can be decided: nobody waits for a pick, and each look goes over all that is undecided. */
const DECIDE_EVERY = 10

/**
 * Finds the shots of a video file, picks the frames worth keeping and writes their images into the scratch folder: one decode pass, presentation time stamps kept.
 * The same file gives the same result. Nothing is left running whatever happens.
 * @throws MediaError when the file is at fault; the signal's reason when aborted; other errors when the machine is
 */
export async function extractVideo(options: ExtractOptions): Promise<Extraction> {
  const { signal, limits, onProgress } = options
  signal.throwIfAborted()
  onProgress?.({ stage: 'probe', done: 0, total: 1 })
  const probe = await probeVideo(options.file, { ...options, maxDurationSec: limits.maxDurationSec })
  onProgress?.({ stage: 'probe', done: 1, total: 1 })
  const result = await findAndWrite(options, probe)
  const { streamIndex: _, colorSpace: __, plainPixels: ___, hdrTransfer: ____, durationKnown, ...probed } = probe
  const durationSec = durationKnown ? probed.durationSec : Math.round(result.endMs) / 1000
  return {
    probe: { ...probed, durationSec },
    shots: toShots(result.boundaries, Math.max(durationSec * 1000, result.endMs)),
    frames: result.frames.sort((a, b) => a.tMs - b.tMs),
    detector: { version: DETECTOR_VERSION, parameters: { ...THRESHOLDS } },
  }
}

interface Decoded {
  boundaries: Boundary[]
  frames: ExtractedFrame[]
  endMs: number
}

async function findAndWrite(options: ExtractOptions, probe: Probe): Promise<Decoded> {
  const { limits, onProgress } = options
  const detector = createShotDetector()
  const meter = createFrameMeter()
  const boundaries: Boundary[] = []
  const frames: ExtractedFrame[] = []
  // Memory for what the detector looks at, used over and over: a garbage collector would be busier than the detector.
  const kept = new Uint8Array(KEPT_BYTES * HISTORY_FRAMES)
  const recent: Array<{ tMs: number; difference: number }> = []
  const pool: Uint8Array[] = []
  const picker = createPicker(({ picture }) => pool.push(picture.data))
  // Stills and their frames come through different pipes: pairs by order.
  const stills: YuvPicture[] = []
  const awaited: Array<{ tMs: number; features: FrameFeatures }> = []
  // Images are encoded one after the other, so one buffer serves them all.
  const { width, height } = toImageSize(probe)
  const rgb = new Uint8ClampedArray(width * height * 3)
  let count = 0
  let endMs = 0
  let waiting = 0
  let failed = false
  let writeFailure: unknown = null
  let encoding: Promise<void> = Promise.resolve()
  const total = probe.durationKnown ? Math.max(1, Math.round(probe.durationSec * probe.fps)) : null
  let decoding: Decoding | null = null
  let colorSpace: string | null = null

  function pairStills(): void {
    while (stills.length > 0 && awaited.length > 0) picker.add(toCandidate(awaited.shift()!, stills.shift()!))
  }

  function takeFrame(tMs: number, data: Uint8Array, isStill: boolean): void {
    const at = (count % HISTORY_FRAMES) * KEPT_BYTES
    const frame = meter.measure(tMs, data, kept.subarray(at, at + KEPT_BYTES))
    endMs = Math.max(endMs, tMs)
    count++
    recent.push({ tMs, difference: frame.difference })
    if (recent.length > 4 * HISTORY_FRAMES) recent.splice(0, 2 * HISTORY_FRAMES)
    if (isStill) awaited.push({ tMs, features: copyFeatures(frame) })
    for (const boundary of detector.push(frame)) {
      boundaries.push(boundary)
      picker.boundary(boundary)
    }
    pairStills()
    // Nothing is decided before its stills have come, so that picks do not depend on how the pipes keep step.
    if (count % DECIDE_EVERY === 0)
      take(picker.advance(Math.min(detector.certainMs, awaited[0]?.tMs ?? Number.POSITIVE_INFINITY)))
    if (count % 30 === 0) onProgress?.({ stage: 'shots', done: total === null ? count : Math.min(count, total), total })
  }

  function take(picks: Pick[]): void {
    for (const pick of picks) {
      const motion = motionAt(recent, pick.candidate.tMs)
      waiting++
      if (waiting >= MAX_WAITING) decoding?.hold(true)
      encoding = encoding
        .then(async () => {
          if (failed || options.signal.aborted) return
          const { picture } = pick.candidate
          frames.push(await writeFrame(options.scratchDir, pick, toRgb(picture, colorSpace, probe.height, rgb), motion))
          pool.push(picture.data)
          onProgress?.({ stage: 'images', done: frames.length, total: null })
        })
        .catch((error) => {
          failed = true
          writeFailure ??= error
          decoding?.stop(error)
        })
        .finally(() => {
          waiting--
          if (waiting < MAX_WAITING) decoding?.hold(false)
        })
    }
  }

  try {
    await decodeVideo(options, probe, (started) => {
      decoding = started
      colorSpace = started.colorSpace
      return {
        frame: takeFrame,
        still(picture) {
          stills.push(picture)
          pairStills()
        },
        allocate: (bytes) => pool.pop() ?? new Uint8Array(bytes),
      }
    })
    if (endMs / 1000 > limits.maxDurationSec) throw tooLong(endMs / 1000, limits.maxDurationSec)
    if (probe.durationKnown && probe.durationSec > 1 && endMs / 1000 < probe.durationSec * 0.9 - 1) {
      throw new MediaError(
        'truncated',
        `Only ${(endMs / 1000).toFixed(1)} of ${probe.durationSec.toFixed(1)} seconds can be read: the file is cut off or damaged.`,
      )
    }
    for (const boundary of detector.finish()) {
      boundaries.push(boundary)
      picker.boundary(boundary)
    }
    take(picker.finish())
    await encoding
    if (writeFailure) throw writeFailure
    options.signal.throwIfAborted()
    if (frames.length === 0) throw new MediaError('blank_video', 'Every picture of the video is blank.')
    onProgress?.({ stage: 'images', done: frames.length, total: frames.length })
    return { boundaries, frames, endMs }
  } catch (error) {
    failed = true
    throw error
  } finally {
    await encoding
  }
}

/** Its sharpness is measured when somebody asks: most pictures of a long shot are never looked at. */
function toCandidate(frame: { tMs: number; features: FrameFeatures }, picture: YuvPicture): Candidate {
  let sharpness: number | null = null
  return {
    ...frame,
    picture,
    get sharpness() {
      sharpness ??= measureSharpness(picture)
      return sharpness
    },
  }
}

async function writeFrame(
  scratchDir: string,
  pick: Pick,
  rgb: Uint8ClampedArray,
  motion: number,
): Promise<ExtractedFrame> {
  const { picture, features, sharpness, tMs } = pick.candidate
  const { width, height } = picture
  const small = shrink(rgb, width, height, 100)
  const { palette, shares } = measurePalette(small.rgb)
  const { luma, tone } = measureLuma(small.rgb)
  const { image, thumb } = await encodeImages(rgb, width, height)
  const name = Math.round(pick.tMs).toString(36)
  const imagePath = join(scratchDir, `${name}.webp`)
  const thumbPath = join(scratchDir, `${name}-${THUMB_WIDTH}.webp`)
  await writeFile(imagePath, image)
  await writeFile(thumbPath, thumb)
  return {
    tMs: Math.round(pick.tMs),
    sampleMs: Math.round(tMs),
    kind: pick.kind,
    reason: pick.reason,
    width,
    height,
    luma,
    tone,
    darkShare: Math.round(features.darkShare * 10_000) / 10_000,
    palette,
    paletteShares: shares,
    sharpness: Math.round(sharpness * 100) / 100,
    motion: Math.round(motion * 100) / 100,
    phash: differenceHash(features.picture),
    placeholder: toPlaceholder(shrink(small.rgb, small.width, small.height, 50)),
    imagePath,
    imageBytes: image.length,
    imageSha256: createHash('sha256').update(image).digest('hex'),
    thumbPath,
  }
}

/** The two sizes that are kept, from packed RGB that is at most 1280 wide. */
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

/** Mean change from frame to frame within a quarter of a second. */
function motionAt(frames: ReadonlyArray<{ tMs: number; difference: number }>, tMs: number): number {
  let sum = 0
  let count = 0
  for (const frame of frames) {
    if (Math.abs(frame.tMs - tMs) > 250 || frame.difference > 60) continue
    sum += frame.difference
    count++
  }
  return count ? sum / count : 0
}

function toShots(boundaries: readonly Boundary[], endMs: number): ExtractedShot[] {
  const shots: ExtractedShot[] = []
  let startMs = 0
  let transition: ExtractedShot['transition'] = 'start'
  for (const boundary of boundaries) {
    shots.push({ startMs, endMs: Math.round(boundary.type === 'cut' ? boundary.tMs : boundary.startMs), transition })
    startMs = Math.round(boundary.endMs)
    transition = boundary.type
  }
  shots.push({ startMs, endMs: Math.round(Math.max(endMs, startMs)), transition })
  return shots
}
