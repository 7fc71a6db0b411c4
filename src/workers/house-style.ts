import type { MediaStore } from '../media/media-store.ts'
import type { Correction, HouseStyle } from '../vision/model/house-style.ts'

/** Long side of an example's picture. */
const SIDE = 320
const MAX_KEPT = 200

/** A style with the pictures of the media store. Undefined without corrections. */
export function openHouseStyle(
  store: MediaStore,
  style: { version: string; corrections: readonly Correction[] } | undefined,
): HouseStyle | undefined {
  if (!style || style.corrections.length === 0) return undefined
  const kept = new Map<string, Promise<string | null>>()
  return {
    ...style,
    pictureOf({ frameId, imageKey }) {
      const known = kept.get(frameId)
      if (known) return known
      const picture = toPicture(store, imageKey)
      kept.set(frameId, picture)
      // After an outage of the store the next call asks again.
      picture.catch(() => kept.delete(frameId))
      if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!)
      return picture
    },
  }
}

async function toPicture(store: MediaStore, key: string): Promise<string | null> {
  const image = await store.get(key)
  if (!image) return null
  const { default: sharp } = await import('sharp')
  const jpeg = await sharp(image)
    .flatten({ background: '#000' })
    .resize(SIDE, SIDE, { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 70 })
    .toBuffer()
  return `data:image/jpeg;base64,${jpeg.toString('base64')}`
}
