import { expect, test } from 'vitest'
import { holdsText, isDrawn, measurePicture, type Raster } from './picture.ts'

function paint(width: number, height: number, colour: (x: number, y: number) => number): Raster {
  const data = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) data.fill(colour(x, y), (y * width + x) * 3, (y * width + x) * 3 + 3)
  return { data, width, height }
}

/** Strokes two pixels wide, as lines of print 16 pixels high. */
const print = (x: number, y: number) => y % 48 >= 16 && y % 48 < 32 && x > 100 && x < 500 && x % 4 < 2

test('an empty picture holds no text, one with lines of print does', () => {
  const empty = measurePicture(paint(640, 360, () => 30))
  expect(empty).toMatchObject({ commonest: 1, colours: 1, flat: 1, letters: 0, textRuns: 0 })
  expect(isDrawn(empty)).toBe(true)
  expect(holdsText(empty)).toBe(false)
  expect(holdsText(measurePicture(paint(640, 360, (x, y) => (print(x, y) ? 240 : 30))))).toBe(true)
})

test('noise is neither drawn nor text', () => {
  let seed = 1
  const noise = () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return (seed >> 8) & 255
  }
  const picture = measurePicture(paint(640, 360, noise))
  expect(isDrawn(picture)).toBe(false)
  expect(measurePicture(paint(640, 360, (x, y) => (x * 255) / 640 + (y % 3)))).toMatchObject({ textRuns: 0 })
})

test('a picture smaller than a block is measured without a fault', () => {
  expect(measurePicture(paint(1, 1, () => 200))).toMatchObject({ flat: 0, textRuns: 0, commonest: 1 })
})
