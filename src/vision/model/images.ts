import sharp from 'sharp'
import { holdsText, measurePicture } from '../measured/picture.ts'
import { tokensOfPicture } from './window.ts'

/** Long side of the JPEG that is sent: enough for labels, or enough for small text where there is much of it. */
const SIDE = 768
const SIDE_WITH_TEXT = 1280
/** Kept frames are 1280 wide. A picture near this size is hostile. */
const MAX_PIXELS = 8_000_000

/** A picture as the model gets it. Local servers take no WebP. */
export interface ModelImage {
  /** In base64. */
  jpeg: string
  tokens: number
}

/** Rejects when the bytes are not a picture. */
export async function toModelImage(image: Buffer): Promise<ModelImage> {
  const source = sharp(image, { limitInputPixels: MAX_PIXELS, failOn: 'error' }).flatten({ background: '#000' })
  const { data, info } = await source
    .clone()
    .resize(640, 640, { fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  const side = holdsText(measurePicture({ data, width: info.width, height: info.height })) ? SIDE_WITH_TEXT : SIDE
  const sent = await source
    .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 80 })
    .toBuffer({ resolveWithObject: true })
  return { jpeg: sent.data.toString('base64'), tokens: tokensOfPicture(sent.info.width, sent.info.height) }
}
