import sharp from 'sharp'
import type { AnnotateOptions, FrameAnnotation, FrameToAnnotate } from '../annotator.ts'
import { describeFrame } from './describe-frame.ts'
import { openFaceDetector, resizeRaster } from './faces.ts'
import type { ReadingLanguages } from './identity.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { holdsText, measurePicture } from './picture.ts'
import { prepareReading } from './prepare-reading.ts'
import { openTextReader } from './read-text.ts'
import { measureDrawing } from './shapes.ts'

export interface MeterOptions {
  languages: ReadingLanguages
  readTimeoutMs: number
}

export interface MeasureRequest {
  /** Its image is base64. */
  frame: Omit<FrameToAnnotate, 'image'> & { image: string }
  techniques: AnnotateOptions['techniques']
}

export interface Measured {
  annotation: FrameAnnotation
  timing: FrameTiming
}

export interface FrameTiming {
  frameId: string
  totalMs: number
  /** The face detector's pass over the whole picture. */
  facePassMs: number
  /** Preparing and reading; 0 when the frame holds no text and was not read. */
  readMs: number
  read: boolean
}

/** Kept frames are 1280 wide. A picture near this size is hostile. */
const MAX_PIXELS = 8_000_000

/**
 * Measures frames in this thread, one at a time. It is blocked while it looks for faces. The text reader has a thread
 * of its own, which reads another frame meanwhile.
 */
export async function openMeter({ languages, readTimeoutMs }: MeterOptions) {
  sharp.concurrency(1)
  sharp.cache(false)
  const detector = await openFaceDetector()
  const reader = openTextReader({ timeoutMs: readTimeoutMs, languages })
  const run = oneAtATime()

  async function measure(image: Buffer) {
    const { data, info } = await sharp(image, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
      .resize(1280, 1280, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#000' })
      .toColourspace('srgb')
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    const raster = { data: new Uint8Array(data), width: info.width, height: info.height }
    const small = await resizeRaster(raster, 640)
    const picture = measurePicture(small)
    const reading = holdsText(picture) ? await prepareReading(raster, picture) : null
    return { picture, drawing: measureDrawing(small), faces: await detector.find(raster), reading }
  }

  return async ({ frame, techniques }: MeasureRequest): Promise<Measured> => {
    const start = performance.now()
    const measured = await run(() => measure(Buffer.from(frame.image, 'base64')))
    const { reading, faces } = measured
    const readStart = performance.now()
    const words = reading ? await reader.read(reading) : []
    const end = performance.now()
    const readMs = reading ? reading.preparedMs + end - readStart : 0
    return {
      annotation: describeFrame(frame, measured, { words, languages: languages.codes }, techniques),
      timing: { frameId: frame.id, totalMs: end - start, facePassMs: faces.passMs, readMs, read: reading !== null },
    }
  }
}
