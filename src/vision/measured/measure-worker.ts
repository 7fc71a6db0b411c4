import { parentPort } from 'node:worker_threads'
import sharp from 'sharp'
import { type FaceFinding, openFaceDetector, resizeRaster } from './faces.ts'
import { holdsText, measurePicture, type Picture } from './picture.ts'
import { prepareReading } from './prepare-reading.ts'
import type { Readable } from './read-text.ts'
import { type Drawing, measureDrawing } from './shapes.ts'

/** A message to the worker thread, which handles one at a time. */
export interface MeasureRequest {
  id: number
  image: Uint8Array
}

export interface Measurement {
  picture: Picture
  drawing: Drawing
  faces: FaceFinding
  /** Ready for the text reader; null where the picture holds no text. */
  reading: Readable | null
}

/** `ready` comes once, when the models have loaded. */
export type MeasureReply = 'ready' | { id: number; measurement: Measurement } | { id: number; error: string }

/** Kept frames are 1280 wide. A picture near this size is hostile. */
const MAX_PIXELS = 8_000_000

sharp.concurrency(1)
sharp.cache(false)
const detector = openFaceDetector()

async function measure(image: Uint8Array): Promise<Measurement> {
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
  return { picture, drawing: measureDrawing(small), faces: await (await detector).find(raster), reading }
}

parentPort?.on('message', ({ id, image }: MeasureRequest) => {
  measure(image).then(
    (measurement) => parentPort?.postMessage({ id, measurement } satisfies MeasureReply),
    (error: unknown) =>
      parentPort?.postMessage({
        id,
        error: error instanceof Error ? error.message : String(error),
      } satisfies MeasureReply),
  )
})

detector.then(
  () => parentPort?.postMessage('ready' satisfies MeasureReply),
  // Without its models the thread is useless. Its end reports the error.
  (error: unknown) => {
    throw error
  },
)
