import { expect, test } from 'vitest'
import { createFrameMeter, PICTURE_BYTES, PICTURE_WIDTH } from '../shots/features.ts'
import type { PickedFrame } from './kept-frames.ts'
import { createPicker } from './picks.ts'

// Films that no rule was made for: the work stays bounded, the frames are sensible, and each has a reason.

type Rect = [x: number, y: number, width: number, height: number]

/** Lines of words that belong to the page: no other page has them. */
function page(seed: number): Rect[] {
  let state = seed + 1
  const next = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  next(1)
  const words: Rect[] = []
  for (let y = 8 + next(8); y < 80; y += 9 + next(6))
    for (let x = 10 + next(12); x < 130; x += 3 + words.at(-1)![2]) words.push([x, y, 4 + next(14), 5])
  return words
}

function drawn(rects: readonly Rect[], ground = 235, ink = 20): Uint8Array {
  const frame = new Uint8Array(PICTURE_BYTES).fill(128)
  frame.fill(ground, 0, PICTURE_WIDTH * 90)
  for (const [x, y, width, height] of rects)
    for (let row = Math.max(0, y); row < Math.min(90, y + height); row++)
      frame.fill(ink, row * PICTURE_WIDTH + x, row * PICTURE_WIDTH + Math.min(PICTURE_WIDTH, x + width))
  return frame
}

/** So many pages differ. */
const SLIDES = 44

/** The picks of a film of one shot, and how many stills were held at once. */
function pick(count: number, stepMs: number, draw: (n: number) => Uint8Array) {
  let [held, most] = [0, 0]
  const picker = createPicker(() => held--)
  const meter = createFrameMeter()
  const picks: PickedFrame[] = []
  const take = (taken: PickedFrame[]) => {
    held -= taken.length
    picks.push(...taken)
  }
  for (let n = 0; n < count; n++) {
    const picture = { width: 2, height: 2, data: new Uint8Array(6) }
    const features = meter.measure(n * stepMs, draw(n))
    const tMs = n * stepMs
    picker.add({ tMs, isForDrawn: false, held: { fromMs: tMs, toMs: tMs }, sharpness: 100, features, picture })
    most = Math.max(most, ++held)
    take(picker.advance(n * stepMs - 3000))
  }
  take(picker.finish())
  for (const { reason } of picks) expect(reason).toMatch(/^[A-Z].*\.$/)
  return { picks, most }
}

test('a film that rests throughout gives one frame', () => {
  const still = drawn(page(3))
  const { picks, most } = pick(1000, 200, () => still)
  expect(picks.map(({ kind }) => kind)).toEqual(['beat'])
  expect(most).toBeLessThan(40)
})

test('a film that never rests gives a frame now and then', () => {
  const { picks, most } = pick(300, 200, (n) => drawn(page(5).map(([x, y, w, h]) => [x, ((y + n * 7) % 97) - 5, w, h])))
  expect(picks.length).toBeGreaterThan(3)
  expect(picks.length).toBeLessThan(16)
  expect(most).toBeLessThan(80)
})

test('a blinking cursor and a clock are no new picture', () => {
  const { picks } = pick(750, 200, (n) => {
    const caret: Rect[] = n % 5 < 3 ? [[100, 60, 1, 5]] : []
    return drawn([...page(2), ...caret, [140, 2, 2 + (Math.floor(n / 5) % 3), 3]])
  })
  expect(picks.length).toBe(1)
})

test('twenty minutes of slides at one frame a second give each slide once, also those that come back', () => {
  const { picks, most } = pick(1200, 1000, (n) => drawn(page(Math.floor(n / 10) % SLIDES)))
  expect(picks.map(({ candidate }) => Math.floor(candidate.tMs / 10_000))).toEqual([...Array(SLIDES).keys()])
  expect(most).toBeLessThan(20)
})

test('flashing lights give few frames', () => {
  const { picks, most } = pick(300, 100, (n) => drawn(page(n % 2), n % 2 ? 235 : 20, n % 2 ? 20 : 235))
  expect(picks.length).toBeGreaterThan(0)
  expect(picks.length).toBeLessThan(5)
  expect(most).toBeLessThan(80)
})
