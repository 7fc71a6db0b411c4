import { expect, test } from 'vitest'
import type { Boundary } from '../shots/boundary.ts'
import {
  createFrameMeter,
  MINI_PIXELS,
  MINI_WIDTH,
  PICTURE_BYTES,
  PICTURE_HEIGHT,
  PICTURE_WIDTH,
} from '../shots/features.ts'
import type { PickCandidate, PickedFrame } from './kept-frames.ts'
import { createPicker } from './picks.ts'
import { PICK_LIMITS } from './shot-picks.ts'

const STEP_MS = 250

/** A checked picture of one scene; `shift` moves it, `flat` makes it blank. */
function candidate(tMs: number, scene: number, { shift = 0, sharpness = 100, flat = false } = {}): PickCandidate {
  const frame = new Uint8Array(PICTURE_BYTES).fill(128)
  for (let y = 0; y < PICTURE_HEIGHT; y++) {
    for (let x = 0; x < PICTURE_WIDTH; x++) {
      frame[y * PICTURE_WIDTH + x] = flat
        ? 16
        : 40 + (((((x + shift) * (scene + 3)) >> 4) + ((y * (scene * 2 + 5)) >> 4)) % 5) * 40
    }
  }
  return {
    tMs,
    isForDrawn: false,
    held: { fromMs: tMs, toMs: tMs },
    sharpness,
    features: createFrameMeter().measure(tMs, frame),
    picture: { width: 2, height: 2, data: new Uint8Array(6) },
  }
}

function cut(tMs: number): Boundary {
  return { type: 'cut', tMs, startMs: tMs - 33, endMs: tMs, strength: 50 }
}

/** The picks must be the same whether everything is known at the start or only as it comes. */
function pick(candidates: PickCandidate[], boundaries: Boundary[], lagMs = 5000): PickedFrame[] {
  const gone = new Set<PickCandidate>()
  const picker = createPicker((released) => gone.add(released))
  const picks: PickedFrame[] = []
  const open = [...boundaries]
  for (const one of candidates) {
    picker.add(one)
    while (open[0] && open[0].endMs <= one.tMs) picker.boundary(open.shift()!)
    picks.push(...picker.advance(one.tMs - lagMs))
  }
  picks.push(...picker.finish())
  expect(picks.filter(({ candidate: kept }) => gone.has(kept))).toEqual([])
  return picks
}

const series = (count: number, make: (tMs: number, i: number) => PickCandidate) =>
  Array.from({ length: count }, (_, i) => make(i * STEP_MS, i))

test('one frame opens the video, one each shot; it has the time of its picture', () => {
  const sceneAt = (tMs: number) => [3000, 6100].filter((cutMs) => tMs >= cutMs).length + 1
  const picks = pick(
    series(40, (tMs) => candidate(tMs, sceneAt(tMs))),
    [cut(3000), cut(6100)],
  )
  expect(picks.map(({ kind }) => kind)).toEqual(['intro', 'cut', 'cut'])
  expect(picks.map(({ candidate: { tMs } }) => sceneAt(tMs))).toEqual([1, 2, 3])
  for (const { reason } of picks) expect(reason).toMatch(/^[A-Z].*\.$/)
})

test('what is decided does not depend on when it becomes known', () => {
  const candidates = series(200, (tMs, i) =>
    candidate(tMs, Math.floor(tMs / 7000), { shift: i * 2, sharpness: 50 + ((i * 37) % 60) }),
  )
  const boundaries = [1, 2, 3, 4, 5, 6, 7].map((n) => cut(n * 7000))
  const key = (picks: PickedFrame[]) => picks.map(({ kind, candidate: { tMs } }) => [kind, tMs])
  expect(key(pick(candidates, boundaries, 20_000))).toEqual(key(pick(candidates, boundaries, 3000)))
})

test('blank and smeared pictures are passed over', () => {
  const picks = pick(
    series(24, (tMs, i) => candidate(tMs, 1, { flat: tMs < 1000, sharpness: i === 4 ? 20 : 100 })),
    [],
  )
  expect(picks).toHaveLength(1)
  expect(picks[0]!.candidate).toMatchObject({ sharpness: 100 })
  expect(picks[0]!.candidate.tMs).toBeGreaterThan(1000)
})

test('a still shot gives one frame however long it is, a changing one gives more, ever further apart', () => {
  expect(
    pick(
      series(400, (tMs) => candidate(tMs, 1)),
      [],
    ),
  ).toHaveLength(1)
  const times = pick(
    series(400, (tMs, i) => candidate(tMs, i)),
    [],
  ).map(({ candidate: { tMs } }) => tMs)
  const gaps = times.slice(1).map((tMs, i) => tMs - times[i]!)
  expect(times.length).toBeGreaterThan(6)
  expect(Math.min(...gaps.slice(1))).toBeGreaterThanOrEqual(PICK_LIMITS.beatGapMs)
  expect(gaps.at(-1)).toBeGreaterThan(gaps[1]!)
})

test('a scene that comes back is not kept twice', () => {
  const picks = pick(
    series(48, (tMs) => candidate(tMs, tMs < 4000 || tMs >= 8000 ? 1 : 2)),
    [cut(4000), cut(8000)],
  )
  expect(picks.map(({ candidate: { tMs } }) => Math.floor(tMs / 4000))).toEqual([0, 1])
})

test('never more than the budget of a minute', () => {
  const candidates = series(240, (tMs, i) => candidate(tMs, i * 3 + 1, { shift: i * 7 }))
  const boundaries = Array.from({ length: 239 }, (_, i) => cut((i + 1) * STEP_MS))
  const picks = pick(candidates, boundaries)
  expect(picks.length).toBeLessThanOrEqual(PICK_LIMITS.perMinute)
  expect(new Set(picks.map(({ candidate: { tMs } }) => tMs)).size).toBe(picks.length)
})

/** Rows that a drawn scene shows on a flat ground. `offset`: how far in its row each stands. */
function frameOf(rows: number, { page = 0, offset = 0 } = {}): Uint8Array {
  const frame = new Uint8Array(PICTURE_BYTES).fill(128)
  frame.fill(240, 0, PICTURE_WIDTH * PICTURE_HEIGHT)
  for (let row = 0; row < rows; row++)
    for (let y = 0; y < 6; y++)
      for (let x = 0; x < 40 + ((row * 17 + page * 29) % 60); x++)
        frame[(10 + row * 12 + y) * PICTURE_WIDTH + 20 + x + offset + page * 7] = x % 9 < 5 ? 20 : 90
  return frame
}

function stillOf(tMs: number, frame: Uint8Array, isHeld = false): PickCandidate {
  // The frame's luma, and a chroma without colour: planar 4:2:0.
  const data = new Uint8Array((PICTURE_WIDTH * PICTURE_HEIGHT * 3) / 2).fill(128)
  data.set(frame.subarray(0, PICTURE_WIDTH * PICTURE_HEIGHT))
  const picture = { width: PICTURE_WIDTH, height: PICTURE_HEIGHT, data }
  const held = isHeld ? { fromMs: tMs - 60, toMs: tMs + 60 } : { fromMs: tMs, toMs: tMs }
  return { ...candidate(tMs, 1), held, features: createFrameMeter().measure(tMs, frame), picture }
}

const drawn = (tMs: number, rows: number, how = {}) => stillOf(tMs, frameOf(rows, how))
const timesOf = (picks: PickedFrame[]) => picks.map(({ candidate: { tMs } }) => tMs)

test('a build-up gives its complete state alone', () => {
  // A row more each half second, five in all, complete from 2.5 s to 6 s.
  const stills = series(24, (tMs) => drawn(tMs, Math.min(5, Math.floor(tMs / 500))))
  const [only, ...others] = timesOf(pick(stills, []))
  expect(others).toEqual([])
  expect(only).toBeGreaterThanOrEqual(2500)
})

test('the steps of a build-up are told as passed over', () => {
  // Another page fades away by rows until 1 s, then seven rows come one by one.
  const rowsAt = (tMs: number) => (tMs < 1000 ? 4 - Math.floor(tMs / 250) : Math.min(7, Math.floor((tMs - 1000) / 500)))
  const picker = createPicker()
  for (const still of series(32, (tMs) => drawn(tMs, rowsAt(tMs), { page: tMs < 1000 ? 4 : 0 }))) picker.add(still)
  expect(picker.finish()).toHaveLength(1)
  expect(picker.passedOver.some(({ why }) => why === 'a step of a build-up')).toBe(true)
})

test('a panel that changes its content gives each content; what leaves is no state of its own', () => {
  const rowsAt = (tMs: number) => (tMs < 5500 ? 4 : Math.max(1, 3 - Math.floor((tMs - 5500) / 500)))
  const picks = pick(
    series(32, (tMs) => drawn(tMs, rowsAt(tMs), { page: tMs < 3000 ? 0 : 1 })),
    [],
  )
  expect(timesOf(picks).map((tMs) => Math.floor(tMs / 3000))).toEqual([0, 1])
})

test('a small panel that changes its content gives each; a line more in a full window is no other picture', () => {
  // Two rows of seven: at 3 s they show other words, or a mark is added.
  const change = (one: PickCandidate, mark: (x: number, y: number) => boolean) => {
    for (let y = 60; y < 75; y++)
      for (let x = 110; x < 140; x++) one.features.picture[y * PICTURE_WIDTH + x] = mark(x, y) ? 20 : 240
    return one
  }
  const swapped = pick(
    series(24, (tMs) => change(drawn(tMs, 7), (x, y) => (tMs < 3000 ? (x + y) % 11 < 5 : (x - y + 90) % 9 < 4))),
    [],
  )
  expect(swapped.map(({ candidate: { tMs } }) => Math.floor(tMs / 3000))).toEqual([0, 1])
  const added = pick(
    series(24, (tMs) => change(drawn(tMs, 7), (x, y) => y > 70 && x < 120 && tMs >= 3000)),
    [],
  )
  expect(added).toHaveLength(1)
})

test('a panel that is swapped in place for one of another colour gives each', () => {
  const picks = pick(
    series(24, (tMs) => {
      const one = drawn(tMs, 6)
      one.features.mini.fill(tMs < 3000 ? 100 : 160, MINI_PIXELS + 3 * MINI_WIDTH, MINI_PIXELS + 12 * MINI_WIDTH)
      return one
    }),
    [],
  )
  expect(timesOf(picks).map((tMs) => Math.floor(tMs / 3000))).toEqual([0, 1])
})

test('a build-up that is cut off counts as it was at its fullest', () => {
  const stills = series(20, (tMs, i) => drawn(tMs, 1 + (i % 10) / 2, { offset: (i % 10) * 2, page: i < 10 ? 0 : 3 }))
  const picks = pick(stills, [cut(2500)])
  expect(timesOf(picks)[0]).toBe(2250)
  expect(picks[0]!.reason).toMatch(/cut off/)
})

test('a state that stands for an instant is kept where it is cut off, and not where it goes over into the next', () => {
  // Six rows stand at 2 s, for the frames around one still only. Then another page is built up, or a row is added.
  const at = (tMs: number, then: (tMs: number) => PickCandidate) => {
    if (tMs > 2000) return then(tMs)
    const still = drawn(tMs, Math.min(6, 1 + tMs / 400), { offset: tMs < 2000 ? (tMs / 250) % 9 : 0 })
    return tMs === 2000 ? { ...still, held: { fromMs: tMs - 60, toMs: tMs + 60 } } : still
  }
  const cutOff = pick(
    series(20, (tMs) => at(tMs, () => drawn(tMs, Math.min(6, (tMs - 2000) / 250), { page: 5, offset: 40 }))),
    [],
  )
  expect(timesOf(cutOff)[0]).toBe(2000)
  expect(cutOff).toHaveLength(2)
  const goesOn = pick(
    series(20, (tMs) => at(tMs, () => drawn(tMs, 7))),
    [],
  )
  expect(timesOf(goesOn).some((tMs) => tMs <= 2000)).toBe(false)
})

test('a caret that blinks and a clock that ticks do not keep a screen from its rest', () => {
  const stills = series(80, (tMs, i) => {
    const one = drawn(tMs, 5)
    for (let y = 80; y < 84; y++) one.features.picture[y * PICTURE_WIDTH + 150] = i % 2 === 0 ? 20 : 240
    return one
  })
  expect(pick(stills, [])).toHaveLength(1)
})

/** Two pictures at once. */
const both = (one: Uint8Array, other: Uint8Array) => one.map((value, at) => Math.round((value + other[at]!) / 2))
const FIRST = frameOf(5)
const OTHER = frameOf(4, { page: 3, offset: 30 })
const NEXT = frameOf(6, { page: 5, offset: 10 })
/** A small mark. */
const dot = frameOf(0)
for (let y = 40; y < 44; y++) dot.fill(20, y * PICTURE_WIDTH + 60, y * PICTURE_WIDTH + 66)
/** A full window, and a mark of its own below them. */
const full = (width: number, y: number) => {
  const frame = frameOf(7)
  for (let row = y; row < y + 5; row++)
    for (let x = 130; x < 130 + width; x++) frame[row * PICTURE_WIDTH + x] = x % 5 < 3 ? 20 : 240
  return frame
}
/** The last page with sparks, as a burst throws them. */
const burst = NEXT.map((value, at) =>
  at < PICTURE_WIDTH * PICTURE_HEIGHT && at % PICTURE_WIDTH > 140 && at % 7 < 3 ? 20 : value,
)
/** What is shown before an instant, at it and after it. */
const at = (tMs: number, instantMs: number, ...shown: [Uint8Array, Uint8Array, Uint8Array]) =>
  shown[1 + Math.sign(tMs - instantMs)]!
/** A page by rows, each in its place from the left when it is whole. */
const built = (rows: number, leftMs: number) => frameOf(Math.floor(rows), { page: 7, offset: Math.round(leftMs / 60) })
/** From 5 s on the shot dissolves into the next one. */
const dissolving = (tMs: number, shown: Uint8Array) => (tMs < 5500 ? shown : NEXT)
const dissolve: Boundary = { type: 'dissolve', tMs: 5250, startMs: 5000, endMs: 5500, strength: 50 }

test.each<[what: string, show: (tMs: number) => Uint8Array, spans: number[], ends?: Boundary]>([
  [
    'in the middle of a crossfade an instant shows both',
    (tMs) => at(tMs, 2000, FIRST, both(FIRST, OTHER), OTHER),
    [0, 1999, 2125, 6000],
  ],
  [
    'a burst passes, and its page stays',
    (tMs) => at(tMs, 1000, built(tMs / 200, 1000 - tMs), burst, NEXT),
    [1125, 6000],
  ],
  ['a dot stands before a page', (tMs) => (tMs < 1000 ? dot : FIRST), [1000, 6000]],
  [
    'a line has taken the place of a mark in a full window once another page has slid by',
    (tMs) => at(Math.trunc((tMs - 2500) / 500), 0, full(8, 60), built(6, (tMs - 2000) * 4), full(28, 70)),
    [3000, 6000],
  ],
  [
    'what is built up last stands until a dissolve begins',
    (tMs) => dissolving(tMs, tMs < 3000 ? FIRST : built((tMs - 3000) / 330, 5000 - tMs)),
    [0, 3000, 4700, 5000, 5500, 6000],
    dissolve,
  ],
  [
    'a page leaves by rows before a dissolve',
    (tMs) =>
      dissolving(
        tMs,
        tMs < 3000 ? FIRST : frameOf(5 - Math.round((tMs - 3000) / 400), { offset: Math.round((tMs - 3000) / 60) }),
      ),
    [0, 3000, 5500, 6000],
    dissolve,
  ],
  [
    'a dissolve begins a little before it is told',
    (tMs) => dissolving(tMs, tMs > 4900 ? both(built(5, tMs), NEXT) : built(Math.min(5, 1 + tMs / 700), tMs)),
    [3000, 4900, 5500, 6000],
    dissolve,
  ],
])('%s: each state is kept once', (_what, show, spans, ends) => {
  const picks = timesOf(
    pick(
      Array.from({ length: 48 }, (_, n) => stillOf(n * 125, show(n * 125), n % 8 === 0)),
      ends ? [ends] : [],
      1000,
    ),
  )
  expect(picks).toHaveLength(spans.length / 2)
  for (const [n, tMs] of picks.entries()) {
    expect(tMs).toBeGreaterThanOrEqual(spans[2 * n]!)
    expect(tMs).toBeLessThanOrEqual(spans[2 * n + 1]!)
  }
})

test('items that take a colour as the next one comes are steps of one build-up', () => {
  const stills = series(24, (tMs) => {
    const items = Math.min(5, 1 + Math.floor(tMs / 1000))
    const one = drawn(tMs, items)
    for (let row = 0; row < items - 1; row++)
      one.features.mini.fill(
        165,
        MINI_PIXELS + (2 + Math.floor(row * 2.4)) * MINI_WIDTH,
        MINI_PIXELS + (4 + Math.floor(row * 2.4)) * MINI_WIDTH,
      )
    return one
  })
  const [only, ...others] = timesOf(pick(stills, []))
  expect(others).toEqual([])
  expect(only).toBeGreaterThan(4000)
})

test('a drawn page whose number and foot change at once is another page, and no caption', () => {
  const page = (tMs: number) => {
    const frame = new Uint8Array(PICTURE_BYTES).fill(235)
    const n = Math.floor(tMs / 3000)
    const letters = (top: number, from: number, to: number) => {
      for (let y = top; y < top + 5; y++)
        for (let x = from; x < to; x++) frame[y * PICTURE_WIDTH + x] = (x * (n + 3) + y * 5) % 7 < 3 ? 20 : 235
    }
    letters(10, 30, 36)
    letters(70, 30, 130)
    return stillOf(tMs, frame, true)
  }
  expect(pick(series(36, page), [])).toHaveLength(3)
})

test('a filmed head under captions gives one frame, and words in the middle of a picture give more', () => {
  const filmed = (tMs: number, top: number, height: number) => {
    const frame = new Uint8Array(PICTURE_BYTES).fill(128)
    for (let at = 0; at < PICTURE_WIDTH * PICTURE_HEIGHT; at++)
      frame[at] = 100 + 40 * Math.sin(at / 9) * Math.cos(at / PICTURE_WIDTH / 7) + ((at * 7) % 17)
    const words = Math.floor(tMs / 2000) + 5
    for (let y = top; y < top + height; y++)
      for (let x = 30; x < 130; x++) frame[y * PICTURE_WIDTH + x] = (x * words + (y >> 1) * 5) % 13 < 6 ? 250 : 10
    // Something in it moves, as on no screen.
    const eye = 8 * PICTURE_WIDTH + 60 + (Math.floor(tMs / 500) % 4) * 6
    for (let y = 0; y < 4; y++) frame.fill(200, eye + y * PICTURE_WIDTH, eye + y * PICTURE_WIDTH + 5)
    return stillOf(tMs, frame)
  }
  expect(
    pick(
      series(40, (tMs) => filmed(tMs, 78, 6)),
      [],
    ),
  ).toHaveLength(1)
  expect(
    pick(
      series(40, (tMs) => filmed(tMs, 30, 24)),
      [],
    ).length,
  ).toBeGreaterThan(2)
})

test('words that are built up over a photograph, and stand from then on, give their complete state alone', () => {
  const stills = Array.from({ length: 40 }, (_, n) => {
    const frame = new Uint8Array(PICTURE_BYTES).fill(128)
    for (let at = 0; at < PICTURE_WIDTH * PICTURE_HEIGHT; at++)
      frame[at] = 90 + 40 * Math.sin((at % PICTURE_WIDTH) / 9) + ((at * 7) % 17)
    const away = Math.max(0, 2 * (16 - n))
    for (let row = 0; row < Math.min(4, 1 + n / 5); row++)
      for (let y = 8 + row * 16; y < 16 + row * 16; y++)
        for (let x = 20; x < 100 + row * 9; x++) frame[y * PICTURE_WIDTH + x + away] = x % 7 < 3 ? 250 : 10
    return stillOf(n * 125, frame)
  })
  const [only, ...others] = timesOf(pick(stills, []))
  expect(others).toEqual([])
  expect(only).toBeGreaterThanOrEqual(2000)
})
