import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groundName } from '../vision/measured/caption.ts'
import { toOklab } from '../vocabulary.ts'
import { cellOf, cellsOf, colorNames, distance, paletteLikeness } from './color.ts'

const named = (palette: string[], palette_shares: number[], colored_share = 0.5) => ({
  palette,
  palette_shares,
  colored_share,
})
const hex = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)

test('OKLab agrees with its published reference points', () => {
  for (const [color, l, a, b] of [
    ['#ffffff', 1, 0, 0],
    ['#000000', 0, 0, 0],
    ['#ff0000', 0.628, 0.2249, 0.1258],
    ['#00ff00', 0.8664, -0.2339, 0.1795],
    ['#0000ff', 0.452, -0.0325, -0.3115],
  ] as const) {
    const lab = toOklab(color)
    expect(lab.l).toBeCloseTo(l, 3)
    expect(lab.a).toBeCloseTo(a, 3)
    expect(lab.b).toBeCloseTo(b, 3)
  }
})

test('a color that fills a fifth of the picture is always found by itself; one far from every color never', () => {
  fc.assert(
    fc.property(hex, hex, (color, other) => {
      expect(cellsOf([color, other], [0.2, 0.8])).toContain(cellOf(color))
      const far = distance(toOklab(color), toOklab(other)) > 0.16 + 0.0867
      if (far) expect(cellsOf([other], [1])).not.toContain(cellOf(color))
    }),
    { numRuns: 2_000, seed: 4 },
  )
})

test('a spot of color does not make a picture of that color, and more area never finds less', () => {
  expect(cellsOf(['#ffffff', '#d02020'], [0.95, 0.05])).not.toContain(cellOf('#d02020'))
  fc.assert(
    fc.property(hex, hex, (color, other) => {
      const some = cellsOf([color, other], [0.3, 0.7]).includes(cellOf(color))
      const much = cellsOf([color], [1]).includes(cellOf(color))
      expect(!some || much).toBe(true)
    }),
    { numRuns: 500, seed: 5 },
  )
})

test('cells fit a 16-bit integer and are sorted', () => {
  fc.assert(
    fc.property(hex, (color) => {
      const cells = cellsOf([color], [1])
      expect(cells).toEqual(cells.toSorted((a, b) => a - b))
      for (const cell of [...cells, cellOf(color)])
        expect(Number.isInteger(cell) && cell >= 0 && cell < 32_768).toBe(true)
    }),
  )
})

test('a palette is most like itself, and likeness goes both ways', () => {
  const palettes = fc
    .array(hex, { minLength: 1, maxLength: 5 })
    .map((palette) => ({ palette, palette_shares: palette.map((_, n) => 0.5 / (n + 1)) }))
  fc.assert(
    fc.property(palettes, palettes, (one, other) => {
      expect(paletteLikeness(one, one)).toBeCloseTo(1)
      expect(paletteLikeness(one, other)).toBeCloseTo(paletteLikeness(other, one))
      expect(paletteLikeness(one, other)).toBeLessThanOrEqual(1 + 1e-9)
    }),
  )
})

test('colours have the names that people give them; a spot has none, letters in black or white have', () => {
  const called = (hex: string) => colorNames(named([hex], [1]))[0]
  expect(['#000000', '#808080', '#ffffff', '#101820', '#f4f1ea'].map(called)).toEqual([
    ...['black', 'grey', 'white', 'black', 'white'],
  ])
  expect(['#d02020', '#ff8800', '#f9d423', '#188038', '#00897b', '#1a73e8'].map(called)).toEqual([
    ...['red', 'orange', 'yellow', 'green', 'teal', 'blue'],
  ])
  expect(['#7b1fa2', '#ff69b4', '#8a6f5c', '#800080', '#ffb6c1', '#0b3d2e'].map(called)).toEqual([
    ...['purple', 'pink', 'brown', 'purple', 'pink', 'green'],
  ])
  expect(colorNames(named(['#000000', '#ffffff', '#d02020'], [0.94, 0.03, 0.03]))).toEqual(['black', 'white'])
})

test('a picture is warm, cool, pastel, vivid or without colour by the area of such colours', () => {
  const families = (...of: Parameters<typeof named>) =>
    colorNames(named(...of)).filter((name) => ['warm', 'cool', 'pastel', 'vivid', 'monochrome'].includes(name))
  expect(families(['#a07850', '#5a3a22', '#202020'], [0.4, 0.3, 0.3])).toEqual(['warm'])
  expect(families(['#1a73e8', '#101820', '#ffffff'], [0.5, 0.3, 0.2])).toEqual(['cool', 'vivid'])
  expect(families(['#f7d6e0', '#d7ecd9', '#ffffff'], [0.5, 0.3, 0.2])).toEqual(['warm', 'pastel'])
  const grey = [
    ['#000000', '#808080', '#ffffff'],
    [0.6, 0.2, 0.2],
  ] as [string[], number[]]
  expect([0, 0.0035, 0.0038, 0.4].map((colored) => families(...grey, colored))).toEqual([
    ...[['monochrome'], ['monochrome'], [], []],
  ])
  // A little red makes a black and white picture neither red nor warm, nor one without colour.
  expect(families(['#000000', '#ffffff', '#d02020'], [0.7, 0.2, 0.1])).toEqual([])
})

test('a picture is mostly of the colours that fill three tenths of it', () => {
  expect(colorNames(named(['#1a73e8', '#ffffff', '#d02020'], [0.5, 0.4, 0.1]), { mostly: true })).toContain('blue')
  expect(colorNames(named(['#1a73e8', '#ffffff', '#d02020'], [0.2, 0.7, 0.1]), { mostly: true })).not.toContain('blue')
})

test('a caption calls a ground what the filter calls it', () => {
  fc.assert(
    fc.property(hex, (color) =>
      groundName(color)
        .split(' ')
        .includes(colorNames(named([color], [1]))[0]!),
    ),
  )
})
