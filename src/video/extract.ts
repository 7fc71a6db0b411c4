import type { Kind, Tone } from '../vocabulary.ts'

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
  /** The instant that names the frame: for a cut the boundary, else the sampled instant. Milliseconds. */
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

export interface ExtractOptions {
  file: string
  /** An empty private folder; the caller removes it. */
  scratchDir: string
  signal: AbortSignal
  limits: { maxDurationSec: number }
  onProgress?: (progress: { stage: 'probe' | 'shots' | 'images'; done: number; total: number | null }) => void
}
