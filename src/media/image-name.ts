/*
 * A frame's images have a key in the media store and a public name below /media. Both hold the same parts: the
 * frame id (`<video>-<instant>`) and eight digits of the image's hash.
 */

/** The media-store keys of a frame's images. */
export function imageKeysOf(frameId: string, imageSha256: string): { image: string; thumb: string } {
  const [videoId, instant] = frameId.split('-')
  return imagePair(`frames/${videoId}/${instant}-${imageSha256.slice(0, 8)}`)
}

/** The public names of a frame's images. A name holds the content's hash, so the image behind it never changes. */
export function imageNamesOf(frameId: string, imageSha256: string): { image: string; thumb: string } {
  return imagePair(`${frameId}-${imageSha256.slice(0, 8)}`)
}

/** The media-store key of the loop that a frame may have beside its images. */
export function loopKeyOf(frameId: string, sha256: string): string {
  return imageKeysOf(frameId, sha256).image.replace(/\.webp$/, '-loop.webp')
}

function imagePair(base: string): { image: string; thumb: string } {
  return { image: `${base}.webp`, thumb: `${base}-480.webp` }
}

const PUBLIC_NAME = /^([a-z0-9]{8,32})-([a-z0-9]{1,8})-([0-9a-f]{8})(-480|-loop)?\.webp$/

/** The media-store key of a public image name; undefined for any other name. */
export function toImageKey(name: string): string | undefined {
  const match = PUBLIC_NAME.exec(name)
  return match ? `frames/${match[1]}/${match[2]}-${match[3]}${match[4] ?? ''}.webp` : undefined
}

/** The media-store key of an image by its path, signed or not; undefined for any other path. */
export function imageKeyOf(path: string): string | undefined {
  const [plain = ''] = path.split('?')
  return toImageKey(plain.replace('/media/', ''))
}

/** The public name of an image, by its media-store key. */
export function toImageName(key: string): string {
  return key.slice('frames/'.length).replace('/', '-')
}

/** The id of the frame that a public image name shows; undefined for any other name. */
export function frameIdOfImage(name: string): string | undefined {
  const match = PUBLIC_NAME.exec(name)
  return match ? `${match[1]}-${match[2]}` : undefined
}
