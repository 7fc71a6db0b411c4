import { DARK_BELOW_LUMA, type Tone } from '../../vocabulary.ts'
import { PICTURE_HEIGHT, PICTURE_WIDTH } from '../shots/features.ts'

/** One decoded picture: planar YUV 4:2:0, limited range, even sides. */
export interface YuvPicture {
  width: number
  height: number
  data: Uint8Array
}

/**
 * Variance of the luma's Laplacian at every second pixel of every fourth row. Larger is sharper. Values are comparable
 * only within one video.
 */
export function measureSharpness({ width, height, data }: YuvPicture): number {
  let sum = 0
  let squares = 0
  let count = 0
  for (let row = 1; row < height - 1; row += 4) {
    const end = row * width + width - 1
    for (let at = row * width + 1; at < end; at += 2) {
      const value = 4 * data[at]! - data[at - 1]! - data[at + 1]! - data[at - width]! - data[at + width]!
      sum += value
      squares += value * value
      count++
    }
  }
  if (count === 0) return 0
  const mean = sum / count
  return squares / count - mean * mean
}

/**
 * Red and blue weights of a colour matrix by ffmpeg's name. Without a name it is guessed as players do: BT.709 from 720
 * lines up, otherwise BT.601.
 */
function matrixOf(colorSpace: string | null, height: number): { kr: number; kb: number } {
  if (colorSpace === 'bt2020nc' || colorSpace === 'bt2020c') return { kr: 0.2627, kb: 0.0593 }
  if (colorSpace === 'smpte240m') return { kr: 0.212, kb: 0.087 }
  if (colorSpace === 'bt709' || (colorSpace === null && height >= 720)) return { kr: 0.2126, kb: 0.0722 }
  return { kr: 0.299, kb: 0.114 }
}

/**
 * Packed 8-bit RGB, written to `into` if given (it must fit). `sourceHeight` decides the matrix where the file names
 * none.
 */
export function toRgb(
  picture: YuvPicture,
  colorSpace: string | null,
  sourceHeight: number,
  into?: Uint8ClampedArray,
): Uint8ClampedArray {
  const { width, height, data } = picture
  const { kr, kb } = matrixOf(colorSpace, sourceHeight)
  const kg = 1 - kr - kb
  // 16.16 fixed point: limited range 16…235 and 16…240 to 0…255, rounded by the luma's half step.
  const table = (offset: number, factor: number, add = 0) =>
    Int32Array.from({ length: 256 }, (_, i) => Math.round((i - offset) * factor * 65536) + add)
  const lumaOf = table(16, 255 / 219, 32768)
  const redOfV = table(128, (255 / 112) * (1 - kr))
  const blueOfU = table(128, (255 / 112) * (1 - kb))
  const greenOfU = table(128, ((-255 / 112) * (1 - kb) * kb) / kg)
  const greenOfV = table(128, ((-255 / 112) * (1 - kr) * kr) / kg)
  const rgb = into ?? new Uint8ClampedArray(width * height * 3)
  const half = width >> 1
  const toV = half * (height >> 1)
  for (let row = 0, y = 0, out = 0; row < height; row++) {
    let chroma = width * height + (row >> 1) * half
    for (const end = chroma + half; chroma < end; chroma++, y += 2, out += 6) {
      const u = data[chroma]!
      const v = data[chroma + toV]!
      const r = redOfV[v]!
      const g = greenOfU[u]! + greenOfV[v]!
      const b = blueOfU[u]!
      const left = lumaOf[data[y]!]!
      const right = lumaOf[data[y + 1]!]!
      rgb[out] = (left + r) >> 16
      rgb[out + 1] = (left + g) >> 16
      rgb[out + 2] = (left + b) >> 16
      rgb[out + 3] = (right + r) >> 16
      rgb[out + 4] = (right + g) >> 16
      rgb[out + 5] = (right + b) >> 16
    }
  }
  return rgb
}

/** A small RGB picture made of box averages. Its longer side is at most `side`. */
export function shrink(
  rgb: Uint8Array | Uint8ClampedArray,
  width: number,
  height: number,
  side: number,
): { width: number; height: number; rgb: Uint8Array } {
  const scale = Math.min(1, side / Math.max(width, height))
  const w = Math.max(1, Math.round(width * scale))
  const h = Math.max(1, Math.round(height * scale))
  const out = new Uint8Array(w * h * 3)
  for (let row = 0; row < h; row++) {
    const y0 = Math.floor((row * height) / h)
    const y1 = Math.max(y0 + 1, Math.floor(((row + 1) * height) / h))
    for (let column = 0; column < w; column++) {
      const x0 = Math.floor((column * width) / w)
      const x1 = Math.max(x0 + 1, Math.floor(((column + 1) * width) / w))
      let r = 0
      let g = 0
      let b = 0
      let count = 0
      // Every second pixel of a large box is enough for a mean.
      const step = x1 - x0 > 5 ? 2 : 1
      for (let y = y0; y < y1; y += step) {
        for (let x = x0; x < x1; x += step) {
          const at = (y * width + x) * 3
          r += rgb[at]!
          g += rgb[at + 1]!
          b += rgb[at + 2]!
          count++
        }
      }
      const at = (row * w + column) * 3
      out[at] = r / count + 0.5
      out[at + 1] = g / count + 0.5
      out[at + 2] = b / count + 0.5
    }
  }
  return { width: w, height: h, rgb: out }
}

/** At most so wide, by the mean of four points of each box of a planar 4:2:0 picture. The sides stay even. */
export function shrinkPicture({ width, height, data }: YuvPicture, atMost: number): YuvPicture {
  const w = 2 * Math.max(1, Math.round(Math.min(width, atMost) / 2))
  const h = 2 * Math.max(1, Math.round((height * w) / width / 2))
  const small = new Uint8Array((w * h * 3) / 2)
  const half = { from: { width: width >> 1, height: height >> 1 }, to: { width: w >> 1, height: h >> 1 } }
  const chroma = (width * height) / 4
  shrinkPlane(data, { width, height }, small, { width: w, height: h })
  shrinkPlane(data.subarray(width * height), half.from, small.subarray(w * h), half.to)
  shrinkPlane(data.subarray(width * height + chroma), half.from, small.subarray((w * h * 5) / 4), half.to)
  return { width: w, height: h, data: small }
}

type Size = Pick<YuvPicture, 'width' | 'height'>

function shrinkPlane(from: Uint8Array, size: Size, to: Uint8Array, { width, height }: Size): void {
  const columns = (part: number) =>
    Int32Array.from({ length: width }, (_, n) => Math.floor(((n + part) * size.width) / width))
  const [lefts, rights] = [columns(1 / 4), columns(3 / 4)]
  for (let row = 0, at = 0; row < height; row++) {
    const above = Math.floor(((row + 1 / 4) * size.height) / height) * size.width
    const below = Math.floor(((row + 3 / 4) * size.height) / height) * size.width
    for (let column = 0; column < width; column++) {
      const left = lefts[column]!
      const right = rights[column]!
      to[at++] = (from[above + left]! + from[above + right]! + from[below + left]! + from[below + right]! + 2) >> 2
    }
  }
}

/** Mean BT.709 luma of gamma-coded RGB, 0–255, and its tone. */
export function measureLuma(rgb: Uint8Array): { luma: number; tone: Tone } {
  let sum = 0
  for (let i = 0; i < rgb.length; i += 3) sum += 0.2126 * rgb[i]! + 0.7152 * rgb[i + 1]! + 0.0722 * rgb[i + 2]!
  const luma = Math.round((sum / (rgb.length / 3)) * 10) / 10
  return { luma, tone: luma < DARK_BELOW_LUMA ? 'dark' : 'bright' }
}

/**
 * 64-bit difference hash, 16 hex digits: 9×8 box averages of the 160×90 luma, each compared with its right neighbour.
 */
export function differenceHash(picture: Uint8Array): string {
  const means = new Float64Array(72)
  for (let row = 0; row < 8; row++) {
    for (let column = 0; column < 9; column++) {
      const y0 = Math.floor((row * PICTURE_HEIGHT) / 8)
      const y1 = Math.floor(((row + 1) * PICTURE_HEIGHT) / 8)
      const x0 = Math.floor((column * PICTURE_WIDTH) / 9)
      const x1 = Math.floor(((column + 1) * PICTURE_WIDTH) / 9)
      let sum = 0
      for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) sum += picture[y * PICTURE_WIDTH + x]!
      means[row * 9 + column] = sum / ((y1 - y0) * (x1 - x0))
    }
  }
  let hash = 0n
  for (let row = 0; row < 8; row++) {
    for (let column = 0; column < 8; column++) {
      // A margin of half a step keeps the noise of a flat background from setting bits.
      hash = (hash << 1n) | (means[row * 9 + column]! > means[row * 9 + column + 1]! + 0.5 ? 1n : 0n)
    }
  }
  return hash.toString(16).padStart(16, '0')
}
