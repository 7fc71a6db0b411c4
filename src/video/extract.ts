import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import sharp from 'sharp'
import { rgbaToThumbHash } from 'thumbhash'
import { MediaError } from '../errors.ts'
import type { Kind, Tone } from '../vocabulary.ts'
import { copyFeatures, type FrameFeatures, KEPT_BYTES, measureFrame, PICTURE_BYTES, PICTURE_HEIGHT, PICTURE_WIDTH } from './features.ts'
import { collectTail, ended, inputOptions, type MediaTools, startLimited } from './ffmpeg.ts'
import { differenceHash, measureLuma, measurePalette, measureSharpness, shrink, toRgb, type YuvPicture } from './measure.ts'
import { createPicker, type Pick } from './picks.ts'
import { type Probe, probeVideo, tooLong } from './probe.ts'
import { type Boundary, createShotDetector, DETECTOR_PARAMETERS, DETECTOR_VERSION, HISTORY_FRAMES } from './shots.ts'

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

export interface ExtractOptions extends MediaTools {
  file: string
  /** An empty private folder; the caller removes it. */
  scratchDir: string
  signal: AbortSignal
  limits: {
    maxDurationSec: number
    /** Wall-clock limit; three times the video's length and at least a minute when left out. */
    timeoutMs?: number
    /** Address space of ffmpeg, KiB. */
    memoryKb?: number
  }
  onProgress?: (progress: { stage: 'probe' | 'shots' | 'images'; done: number; total: number | null }) => void
}

const IMAGE_WIDTH = 1280
const THUMB_WIDTH = 480
/** Full-size pictures offered to the picker, at least this far apart, microseconds. ffmpeg and we choose them by the same rule, half a microsecond away from any rounding. */
const STILL_SPACING_US = 249_000
/** Pictures that may wait for their encoding before decoding is held up. */
const MAX_WAITING = 6

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
  const result = await decode(options, probe)
  const { streamIndex: _, colorSpace: __, plainPixels: ___, durationKnown, ...probed } = probe
  const durationSec = durationKnown ? probed.durationSec : Math.round(result.endMs) / 1000
  return {
    probe: { ...probed, durationSec },
    shots: toShots(result.boundaries, Math.max(durationSec * 1000, result.endMs)),
    frames: result.frames.sort((a, b) => a.tMs - b.tMs),
    detector: { version: DETECTOR_VERSION, parameters: { ...DETECTOR_PARAMETERS } },
  }
}

interface Decoded {
  boundaries: Boundary[]
  frames: ExtractedFrame[]
  endMs: number
}

async function decode(options: ExtractOptions, probe: Probe): Promise<Decoded> {
  const { signal, limits, onProgress } = options
  const size = toImageSize(probe)
  const timeoutMs = limits.timeoutMs ?? Math.max(60_000, 3000 * (probe.durationSec || limits.maxDurationSec))
  const child = startLimited(options.ffmpegPath ?? 'ffmpeg', decodeArguments(options.file, probe, size, limits.maxDurationSec), {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    memoryKb: limits.memoryKb ?? 3_000_000,
    cpuSec: Math.ceil(timeoutMs / 500),
  })
  const tail = collectTail(child)
  const end = ended(child)
  let failure: unknown = null
  const stop = (reason: unknown) => {
    failure ??= reason
    child.kill('SIGKILL')
  }
  const abort = () => stop(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  const timer = setTimeout(() => stop(new MediaError('timed_out', 'Decoding the video took too long.')), timeoutMs)

  const detector = createShotDetector()
  const boundaries: Boundary[] = []
  const frames: ExtractedFrame[] = []
  // Memory for what the detector looks at, used over and over: a garbage collector would be busier than the detector.
  const kept = new Uint8Array(KEPT_BYTES * HISTORY_FRAMES)
  const spare: Uint8Array[] = []
  const recent: Array<{ tMs: number; difference: number }> = []
  const pool: Uint8Array[] = []
  const picker = createPicker(({ picture }) => pool.push(picture.data))
  // Frames and their stamps, stills and their frames: pairs by order, whose halves come through different pipes.
  const pictures: Uint8Array[] = []
  const stamps: Stamp[] = []
  const stills: Array<{ picture: YuvPicture; sharpness: number }> = []
  const awaited: Array<{ tMs: number; features: FrameFeatures }> = []
  // Images are encoded one after the other, so one buffer serves them all.
  const rgb = new Uint8ClampedArray(size.width * size.height * 3)
  let previous: Uint8Array | null = null
  let count = 0
  let endMs = 0
  let waiting = 0
  let encoding: Promise<void> = Promise.resolve()
  const total = probe.durationKnown ? Math.max(1, Math.round(probe.durationSec * probe.fps)) : null

  const pipes = child.stdio.slice(1) as unknown as Readable[]
  const [pictureData, , stillData, stampData] = pipes as [Readable, Readable, Readable, Readable]
  const stillBytes = (size.width * size.height * 3) / 2
  readStamps(stampData, probe.fps, (stamp) => {
    stamps.push(stamp)
    pairPictures()
  })
  readFrames(
    pictureData,
    PICTURE_BYTES,
    () => spare.pop() ?? new Uint8Array(PICTURE_BYTES),
    (data) => {
      pictures.push(data)
      pairPictures()
    },
  )
  readFrames(
    stillData,
    stillBytes,
    () => pool.pop() ?? new Uint8Array(stillBytes),
    (data) => {
      const picture = { ...size, data }
      stills.push({ picture, sharpness: measureSharpness(picture) })
      pairStills()
    },
  )

  function pairPictures(): void {
    while (pictures.length > 0 && stamps.length > 0) takePicture(stamps.shift()!, pictures.shift()!)
  }

  function pairStills(): void {
    while (stills.length > 0 && awaited.length > 0) picker.add({ ...awaited.shift()!, ...stills.shift()! })
  }

  function takePicture({ tMs, isStill }: Stamp, data: Uint8Array): void {
    const at = (count % HISTORY_FRAMES) * KEPT_BYTES
    const frame = measureFrame(tMs, data, previous, kept.subarray(at, at + KEPT_BYTES))
    if (previous) spare.push(previous)
    previous = data
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
    take(picker.advance(Math.min(detector.certainMs, awaited[0]?.tMs ?? Number.POSITIVE_INFINITY)))
    if (count % 30 === 0) onProgress?.({ stage: 'shots', done: total === null ? count : Math.min(count, total), total })
  }

  function take(picks: Pick[]): void {
    for (const pick of picks) {
      const motion = motionAt(recent, pick.candidate.tMs)
      waiting++
      if (waiting >= MAX_WAITING) for (const pipe of pipes) pipe.pause()
      encoding = encoding
        .then(async () => {
          if (failure) return
          const { picture } = pick.candidate
          frames.push(await writeFrame(options.scratchDir, pick, probe, motion, rgb))
          pool.push(picture.data)
          onProgress?.({ stage: 'images', done: frames.length, total: null })
        })
        .catch(stop)
        .finally(() => {
          waiting--
          if (waiting === MAX_WAITING - 1) for (const pipe of pipes) pipe.resume()
        })
    }
  }

  try {
    const outcome = await end
    if (failure) throw failure
    if (outcome.failed) throw outcome.failed
    if (outcome.code === 127 || outcome.code === 126) throw new Error('ffmpeg was not found. Install ffmpeg.')
    if (count === 0) throw toDecodeError(tail(), outcome.signal)
    if (outcome.code !== 0) throw toDecodeError(tail(), outcome.signal)
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
    if (failure) throw failure
    if (frames.length === 0) throw new MediaError('blank_video', 'Every picture of the video is blank.')
    onProgress?.({ stage: 'images', done: frames.length, total: frames.length })
    return { boundaries, frames, endMs }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await encoding
  }
}

/** One decoding, two outputs: every frame small for the detector, about four a second at the size that is kept. Time stamps come beside them, because raw video has none. */
function decodeArguments(file: string, probe: Probe, size: { width: number; height: number }, maxDurationSec: number): string[] {
  // Asked for a range, the scaler copies even pictures that are as wanted.
  const range = probe.plainPixels ? '' : ':out_range=tv'
  const graph = [
    // Microseconds throughout: the printed seconds have six digits, too few for a long video.
    `[0:${probe.streamIndex}]settb=1/1000000,split=2[a][b]`,
    `[a]scale=${PICTURE_WIDTH}:${PICTURE_HEIGHT}:flags=fast_bilinear${range},format=yuv444p,metadata=mode=add:key=n:value=1,metadata=mode=print:file='pipe\\:4':direct=1[small]`,
    `[b]select='isnan(prev_selected_t)+gte(t-prev_selected_t,${(STILL_SPACING_US - 0.5) / 1e6})',scale=${size.width}:${size.height}:flags=bicubic${range},format=yuv420p[full]`,
  ].join(';')
  const raw = ['-fps_mode', 'passthrough', '-f', 'rawvideo']
  return [
    ...['-v', 'error', '-hide_banner', '-nostdin', '-threads', '2', '-t', String(maxDurationSec + 5)],
    ...inputOptions(file),
    ...['-filter_complex', graph, '-map', '[small]', ...raw, 'pipe:1', '-map', '[full]', ...raw, 'pipe:3'],
  ]
}

function toImageSize({ width, height }: ProbedVideo): { width: number; height: number } {
  const scale = Math.min(1, IMAGE_WIDTH / width)
  return { width: Math.max(2, Math.round((width * scale) / 2) * 2), height: Math.max(2, Math.round((height * scale) / 2) * 2) }
}

/** Cuts a byte stream into pieces of one length. */
function readFrames(data: Readable, bytes: number, allocate: () => Uint8Array, take: (frame: Uint8Array) => void): void {
  let frame: Uint8Array | null = null
  let filled = 0
  data.on('data', (chunk: Buffer) => {
    let at = 0
    while (at < chunk.length) {
      frame ??= allocate()
      const part = Math.min(bytes - filled, chunk.length - at)
      frame.set(chunk.subarray(at, at + part), filled)
      filled += part
      at += part
      if (filled < bytes) continue
      const whole = frame
      frame = null
      filled = 0
      take(whole)
    }
  })
}

interface Stamp {
  tMs: number
  /** Whether this frame also comes at full size. */
  isStill: boolean
}

function readStamps(stamps: Readable, fps: number, take: (stamp: Stamp) => void): void {
  let text = ''
  let lastMs = Number.NEGATIVE_INFINITY
  let stillUs = Number.NaN
  stamps.setEncoding('latin1')
  stamps.on('data', (chunk: string) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop()!
    for (const line of lines) {
      const found = /^frame:\d+\s+pts:(\S+)/.exec(line)
      if (!found) continue
      const us = Number(found[1])
      const isStill = Number.isNaN(stillUs) || us - stillUs >= STILL_SPACING_US
      if (isStill) stillUs = us
      // A frame without a stamp, or one that goes back, follows the last by one step, so that times always rise.
      const tMs = Number.isNaN(us) || us / 1000 <= lastMs ? Math.max(0, lastMs + 1000 / fps) : us / 1000
      lastMs = tMs
      take({ tMs, isStill })
    }
  })
}

async function writeFrame(
  scratchDir: string,
  pick: Pick,
  probe: Probe,
  motion: number,
  buffer: Uint8ClampedArray,
): Promise<ExtractedFrame> {
  const { picture, features, sharpness, tMs } = pick.candidate
  const { width, height } = picture
  const rgb = toRgb(picture, probe.colorSpace, probe.height, buffer)
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
  const thumb = await sharp(rgb, { raw }).resize({ width: THUMB_WIDTH, withoutEnlargement: true }).webp({ quality: 75 }).toBuffer()
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

function toDecodeError(stderr: string, signal: NodeJS.Signals | null): Error {
  if (signal === 'SIGXCPU') return new MediaError('timed_out', 'Decoding the video took too much computing time.')
  if (/Cannot allocate memory|malloc/i.test(stderr))
    return new MediaError('too_large', 'The video needs more memory to decode than is allowed.')
  return new MediaError('truncated', 'The video cannot be decoded: the file is cut off or damaged.', {
    cause: new Error(stderr.slice(-500)),
  })
}
