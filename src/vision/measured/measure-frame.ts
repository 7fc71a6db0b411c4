import sharp from 'sharp'
import type { AnnotateOptions, FrameAnnotation, FrameToAnnotate } from '../annotator.ts'
import { describeFrame } from './describe-frame.ts'
import { openFaceDetector, resizeRaster } from './faces.ts'
import { holdsText, mayHoldFace, measurePicture, type Raster } from './picture.ts'
import { openTextReader, type Reading } from './read-text.ts'
import { measureDrawing } from './shapes.ts'

export interface MeterOptions {
  models: readonly string[]
  readTimeoutMs: number
}

export interface MeasureRequest {
  /** Its image is base64. */
  frame: Omit<FrameToAnnotate, 'image'> & { image: string }
  techniques: AnnotateOptions['techniques']
  /** Of the film. */
  durationSec: number
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
  /** 0 when the frame holds no text and was not read. */
  readMs: number
  read: boolean
}

/** Kept frames are 1280 wide. A picture near this size is hostile. */
const MAX_PIXELS = 8_000_000

const NO_FACES = { faces: [], doubtful: 0, passMs: 0 }

/** Measures frames in this thread, which is blocked while it looks for faces and reads. */
export async function openMeter({ models, readTimeoutMs }: MeterOptions) {
  sharp.concurrency(1)
  sharp.cache(false)
  const detector = await openFaceDetector()
  let reader: ReturnType<typeof openTextReader> | undefined

  /** Why nothing can be read is said of each frame, and everything else about it is measured. */
  async function read(raster: Raster): Promise<Reading> {
    reader ??= openTextReader({ models, timeoutMs: readTimeoutMs })
    try {
      return await (await reader).read(raster)
    } catch (error) {
      return { unread: (error as Error).message }
    }
  }

  return async ({ frame, ...film }: MeasureRequest): Promise<Measured> => {
    const start = performance.now()
    const { data, info } = await sharp(Buffer.from(frame.image, 'base64'), {
      limitInputPixels: MAX_PIXELS,
      failOn: 'error',
    })
      .resize(1280, 1280, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#000' })
      .toColourspace('srgb')
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    const raster = { data: new Uint8Array(data), width: info.width, height: info.height }
    const small = await resizeRaster(raster, 640)
    const picture = measurePicture(small)
    const drawing = measureDrawing(small)
    const faces = mayHoldFace(picture) ? await detector.find(raster) : NO_FACES
    const readStart = performance.now()
    const reading = holdsText(picture) ? await read(raster) : null
    const end = performance.now()
    return {
      annotation: describeFrame(frame, { picture, drawing, faces, reading }, film),
      timing: {
        frameId: frame.id,
        totalMs: end - start,
        facePassMs: faces.passMs,
        readMs: reading ? end - readStart : 0,
        read: reading !== null,
      },
    }
  }
}
