import { MediaError } from '../../errors.ts'
import type { FilmPicture, Transition } from '../../vocabulary.ts'
import type { Boundary } from '../shots/boundary.ts'
import { EXTRACTION_VERSION } from '../shots/detector.ts'
import { THRESHOLDS } from '../shots/thresholds.ts'
import { type DecodeOptions, decodeVideo } from './decode.ts'
import type { Moving } from './film-meter.ts'
import { createFrameAnalysis } from './frame-analysis.ts'
import type { ExtractedFrame } from './frame-images.ts'
import { createFrameWriter } from './frame-images.ts'
import type { PassedOver } from './kept-frames.ts'
import { type Probe, type ProbedVideo, probeVideo, tooLong } from './probe.ts'
import { measureSound } from './sound.ts'

/** A shot. What lies between the clean parts of two shots is the transition. */
export interface ExtractedShot extends Moving {
  /** The clean part. */
  startMs: number
  endMs: number
  /** The bounds, which meet: the first picture of a cut, the middle of a gradual transition. */
  fromMs: number
  toMs: number
  /** How the shot begins. */
  transition: Transition
  through: 'black' | 'white' | null
}

export interface Extraction {
  probe: ProbedVideo
  shots: ExtractedShot[]
  picture: FilmPicture
  frames: ExtractedFrame[]
  /** Pictures that were considered and not kept, in order of time. */
  passedOver: PassedOver[]
  /** Version and thresholds, stored with the video. */
  detector: { version: string; parameters: Record<string, number> }
}

/** `scratchDir` is an empty private folder, which the caller removes. */
export interface ExtractOptions extends DecodeOptions {
  /** How long reading the header may take. */
  probeTimeoutMs?: number
  /** Whether moving shots get loops. Default: none does. */
  loops?: boolean
  onProgress?: (progress: { stage: 'probe' | 'shots' | 'images'; done: number; total: number | null }) => void
}

/**
 * Finds the shots of a video file, picks the frames worth keeping and writes their images into the scratch folder, in
 * one decode pass. The same file gives the same result. In every case no process is left running.
 * @throws MediaError when the file is at fault; the signal's reason when aborted; other errors when the machine is
 */
export async function extractVideo(options: ExtractOptions): Promise<Extraction> {
  const { signal, limits, onProgress } = options
  signal.throwIfAborted()
  onProgress?.({ stage: 'probe', done: 0, total: 1 })
  const probe = await probeVideo(options.file, { ...options, maxDurationSec: limits.maxDurationSec })
  onProgress?.({ stage: 'probe', done: 1, total: 1 })
  const { boundaries, frames, passedOver, endMs, film } = await findAndWrite(options, probe)
  const durationSec = probe.durationKnown ? probe.durationSec : Math.round(endMs) / 1000
  const filmMs = Math.max(durationSec * 1000, endMs)
  const shots = toShots(boundaries, filmMs).map((shot) => ({ ...shot, ...film.moving(shot) }))
  const seen = film.film(shots, filmMs)
  const sound = await measureSound(options, probe, durationSec)
  const { width, height, fps, frameRate, startTimecode, rotation, codec, container, title } = probe
  return {
    probe: { durationSec, width, height, fps, frameRate, startTimecode, rotation, codec, container, title },
    shots,
    picture: { ...seen, ...sound, measures: { ...seen.measures, ...sound.measures } },
    frames: frames.sort((a, b) => a.tMs - b.tMs),
    passedOver: passedOver.map(({ tMs, why }) => ({ tMs: Math.round(tMs), why })).sort((a, b) => a.tMs - b.tMs),
    detector: { version: EXTRACTION_VERSION, parameters: { ...THRESHOLDS } },
  }
}

async function findAndWrite(options: ExtractOptions, probe: Probe) {
  const { limits, onProgress } = options
  const pool: Uint8Array[] = []
  const release = (memory: Uint8Array) => pool.push(memory)
  const writer = createFrameWriter(options, probe, {
    release,
    onWritten: (done) => onProgress?.({ stage: 'images', done, total: null }),
  })
  const analysis = createFrameAnalysis({ take: writer.write, release, withLoops: options.loops })
  const total = probe.durationKnown ? Math.max(1, Math.round(probe.durationSec * probe.fps)) : null
  try {
    const complaints = await decodeVideo(options, probe, (decoding) => {
      writer.attach(decoding)
      return {
        frame(tMs, data, isStill) {
          analysis.frame(tMs, data, isStill)
          if (analysis.count % 30 !== 0) return
          onProgress?.({ stage: 'shots', done: Math.min(analysis.count, total ?? analysis.count), total })
        },
        still: analysis.still,
        allocate: (bytes) => pool.pop() ?? new Uint8Array(bytes),
      }
    })
    const { boundaries, endMs } = analysis
    checkLength({ decodedSec: endMs / 1000, complaints }, probe, limits.maxDurationSec)
    analysis.finish()
    for (const loop of analysis.loops) writer.writeLoop(loop)
    await writer.finish()
    options.signal.throwIfAborted()
    const { frames } = writer
    if (frames.length === 0)
      throw new MediaError('blank_video', 'Every picture of the video is blank. Use another one.')
    onProgress?.({ stage: 'images', done: frames.length, total: frames.length })
    const { passedOver, film } = analysis
    return { boundaries, frames, passedOver, film, endMs }
  } finally {
    await writer.close()
  }
}

/**
 * @throws MediaError when the decoded pictures go on for too long, or end well before the announced length with
 * complaints: without them the last picture of a variable rate stands until the end
 */
function checkLength(
  { decodedSec, complaints }: { decodedSec: number; complaints: string },
  probe: Probe,
  maxDurationSec: number,
): void {
  if (decodedSec > maxDurationSec) throw tooLong(decodedSec, maxDurationSec)
  if (!probe.durationKnown || probe.durationSec <= 1 || decodedSec >= probe.durationSec * 0.9 - 1) return
  if (complaints === '') return
  const readable = `${decodedSec.toFixed(1)} of ${probe.durationSec.toFixed(1)} seconds`
  throw new MediaError('truncated', `Only ${readable} can be read: the file is cut off or damaged. Use a whole copy.`)
}

function toShots(boundaries: readonly Boundary[], endMs: number): Omit<ExtractedShot, keyof Moving>[] {
  const bounds = [0, ...boundaries.map(({ tMs }) => Math.round(tMs))]
  const lastMs = Math.round(Math.max(endMs, boundaries.at(-1)?.endMs ?? 0))
  return bounds.map((fromMs, n) => {
    const [before, behind] = [boundaries[n - 1], boundaries[n]]
    const cleanEndMs = behind?.type === 'cut' ? behind.tMs : behind?.startMs
    return {
      startMs: Math.round(before?.endMs ?? 0),
      endMs: Math.round(cleanEndMs ?? lastMs),
      fromMs,
      toMs: bounds[n + 1] ?? lastMs,
      transition: before?.type ?? 'start',
      through: before?.through ?? null,
    }
  })
}
