import { expect, test } from 'vitest'
import { cutOut, findDetail, findLines, inReadingOrder, type LineBox, looksAlike } from './find-lines.ts'
import { pitchOf, splitWords } from './split-words.ts'

/** A line whose letters stand where the digits of `places` say, as bars of ink on a bright ground; `.` is bare. */
function strip(letters: string, places: string, ground = 240, ink = 20) {
  const [width, height] = [places.length * 4, 48]
  const data = new Uint8Array(width * height * 3).fill(ground)
  for (const [n, place] of [...places].entries())
    if (place !== '.')
      for (let y = 10; y < 38; y++) data.fill(ink, (y * width + n * 4) * 3, (y * width + n * 4 + 4) * 3)
  const middle = (n: number) => ((places.indexOf(String(n)) + places.lastIndexOf(String(n)) + 1) / 2) * 4
  return {
    letters: [...letters].map((text, n) => ({ text, confidence: 0.9, x: middle(n) })),
    pixels: { data, width, height },
  }
}

test.each([
  ['TOME', '00.11...22.33', 'TO ME'],
  ['TOME', '00..11..22..33', 'TOME'],
  ['TOME', '00.11.22.33', 'TOME'],
  ['发布更新', '00.11....22.33', '发布更新'],
  ['更新Go', '00.11....22.33', '更新 Go'],
  ['Iam', '00...11.22', 'I am'],
  ['Hi!Go', '00.11.2...33.44', 'Hi! Go'],
  ['a.ts', '00...1...22.33', 'a.ts'],
])('%s at %s is written %s, on any ground', (letters, places, words) => {
  for (const [ground, ink] of [
    [240, 20],
    [10, 200],
  ] as const) {
    const line = strip(letters, places, ground, ink)
    const parts = splitWords(line.letters, line.pixels)
    expect(parts.map((part) => part.letters.map(({ text }) => text).join('')).join(' ')).toBe(words)
    for (const { top, bottom } of parts) expect([top, bottom]).toEqual([10, 38])
  }
})

test('letters that stand apart tell their distance, and joined ones tell none', () => {
  const pitches = ['00..11..22..33', '00112233', '00000000..11111111..22222222..33333333']
  expect(pitches.map((places) => pitchOf(strip('TOME', places).pixels))).toEqual([16, null, null])
})

test('a space that was read parts words without a gap, and their boxes hold their ink', () => {
  const { letters, pixels } = strip('ab cd', '00.11.2.33.44')
  letters[2]!.text = ' '
  expect(splitWords(letters, pixels)).toMatchObject([
    { left: 0, letters: [{ text: 'a' }, { text: 'b' }] },
    { right: 52, letters: [{ text: 'c' }, { text: 'd' }] },
  ])
})

test('lines are the sure regions of the map, grown to the size of their letters', () => {
  const map = new Float32Array(100 * 60)
  const paint = (left: number, right: number, top: number, bottom: number, chance: number) => {
    for (let y = top; y < bottom; y++) map.fill(chance, y * 100 + left, y * 100 + right)
  }
  paint(10, 50, 10, 16, 0.9)
  paint(10, 50, 40, 46, 0.35)
  paint(80, 82, 10, 12, 0.9)
  const [line, ...others] = findLines(map, 100, 60)
  expect(others).toEqual([])
  expect(line!.left).toBeLessThan(10)
  expect(line!.top).toBeLessThan(8)
  expect(line!.right).toBeGreaterThan(50)
  expect(findLines(new Float32Array(1), 1, 1)).toEqual([])
})

test('all detail lies in its bounds, and a letter that changed is no longer alike', () => {
  const picture = (marks: readonly [x: number, y: number][]) => {
    const data = new Uint8Array(100 * 60 * 3).fill(200)
    for (const [x, y] of marks) data.fill(20, (y * 100 + x) * 3, (y * 100 + x) * 3 + 3)
    return { data, width: 100, height: 60 }
  }
  expect(findDetail(picture([]), 0)).toBeNull()
  expect(
    findDetail(
      picture([
        [33, 20],
        [60, 41],
      ]),
      30,
    ),
  ).toEqual({ left: 2, top: 0, right: 92, bottom: 60 })
  const box = { left: 30, top: 10, right: 40, bottom: 30 }
  const inBox = (...points: [number, number][]) => cutOut(picture(points), box)
  expect(looksAlike(inBox([33, 20]), inBox([33, 20], [60, 41]))).toBe(true)
  expect(looksAlike(inBox([33, 20]), inBox([34, 20]))).toBe(false)
  const faint = (...marks: number[]) => Uint8Array.from({ length: 60 }, (_, n) => (marks.includes(n) ? 85 : 51))
  expect([looksAlike(faint(9), faint(9)), looksAlike(faint(9), faint(9, 30))]).toEqual([true, false])
})

test('lines are read by panels, and rows from the left to the right', () => {
  const box = (left: number, top: number, width = 100, height = 20): LineBox => ({
    left,
    top,
    right: left + width,
    bottom: top + height,
  })
  const order = (boxes: Record<string, LineBox>) =>
    inReadingOrder(Object.entries(boxes).map(([name, placed]) => ({ name, box: placed }))).map(({ name }) => name)
  const cards = {
    b2: box(300, 130),
    a1: box(100, 100),
    title: box(120, 20, 300, 40),
    b1: box(300, 100),
    a2: box(100, 130),
  }
  expect(order(cards)).toEqual(['title', 'a1', 'a2', 'b1', 'b2'])
  expect(order({ b: box(120, 12), a: box(10, 10), c: box(230, 11) })).toEqual(['a', 'b', 'c'])
  expect(order({ b: box(50, 25), a: box(10, 10) })).toEqual(['a', 'b'])
  expect(order({})).toEqual([])
})
