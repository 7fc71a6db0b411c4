import { describe, expect, test } from 'vitest'
import { createShotDetector } from './detector.ts'
import { createFrameMeter, PICTURE_BYTES, PICTURE_HEIGHT, PICTURE_WIDTH } from './features.ts'

type Painter = (x: number, y: number) => number

/** A textured picture: the same seed gives the same scene. */
function scene(seed: number, shift = 0): Painter {
  return (x, y) => {
    const u = x + shift
    return (
      118 +
      60 * Math.sin((u * (3 + seed)) / 29 + seed * 2.1) +
      55 * Math.sin((y * (2 + ((seed * 7) % 5))) / 17 + (u * seed) / 41 + seed)
    )
  }
}

/** A soft picture without an edge of its own. */
function soft(seed: number): Painter {
  return (x, y) => 120 + 70 * Math.sin(x / (40 + seed * 9) + seed) + 30 * Math.cos(y / (30 + seed * 4) + seed)
}

/** Pseudo-random and even, 0–1. */
function noise(n: number): number {
  const t = Math.imul(n ^ (n >>> 15), 0x2c1b3c6d)
  return ((t ^ (t >>> 13)) >>> 0) / 4294967296
}

function paint(painter: Painter): Uint8Array {
  const frame = new Uint8Array(PICTURE_BYTES).fill(128)
  for (let y = 0; y < PICTURE_HEIGHT; y++)
    for (let x = 0; x < PICTURE_WIDTH; x++) {
      frame[y * PICTURE_WIDTH + x] = Math.max(0, Math.min(255, Math.round(painter(x, y))))
    }
  return frame
}

function detect(count: number, make: (i: number) => Painter) {
  const meter = createFrameMeter()
  const detector = createShotDetector()
  const stepMs = 1000 / 30
  const frames = Array.from({ length: count }, (_, i) => meter.measure(i * stepMs, paint(make(i))))
  const found = [...frames.flatMap((frame) => detector.push(frame)), ...detector.finish()]
  return found.map(({ type, tMs }) => ({ type, frame: Math.round(tMs / stepMs) }))
}

const within = (low: number, high: number) => expect.toSatisfy((frame) => frame >= low && frame <= high)

describe('black bars', () => {
  const barred =
    (painter: Painter): Painter =>
    (x, y) =>
      y < 12 || y >= 78 ? 16 : painter(x, y)

  test('a cut between soft pictures is found although the bars keep their edges', () => {
    expect(detect(120, (i) => barred(soft(i < 60 ? 1 : 6)))).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('one shot inside bars stays one shot', () => {
    expect(detect(120, (i) => barred(scene(2, i * 0.8)))).toEqual([])
  })
})

describe('grain', () => {
  const grainy =
    (painter: Painter, i: number): Painter =>
    (x, y) =>
      painter(x, y) + 110 * (noise(i * 14_407 + y * 160 + x) - 0.5)

  test('a cut is found through heavy grain', () => {
    expect(detect(120, (i) => grainy(scene(i < 60 ? 1 : 4, i * 0.4), i))).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('a fade through a grainy black is one fade', () => {
    const light = (i: number) => Math.max(0, Math.min(1, Math.abs(i - 60) / 12 - 0.5))
    const found = detect(130, (i) => (x, y) => {
      const shown = 20 + (scene(i < 60 ? 1 : 4, i * 0.4)(x, y) - 20) * light(i)
      return shown + 34 * (noise(i * 14_407 + y * 160 + x) - 0.5)
    })
    expect(found).toEqual([{ type: 'fade', frame: within(48, 72) }])
  })

  test('grain alone is no cut', () => {
    expect(detect(120, (i) => grainy(scene(3, i * 0.4), i))).toEqual([])
  })
})

describe('black that brightens', () => {
  test('a picture that rises from nearly black while it moves is no transition', () => {
    // The first pictures are too dim to have edges and too uneven to be blank.
    const light = (i: number) => 0.06 + 0.94 * Math.min(1, (i / 40) ** 2)
    expect(detect(140, (i) => (x, y) => 16 + (scene(2, i * 0.7)(x, y) - 16) * light(i))).toEqual([])
  })
})

describe('quick motion', () => {
  test('a camera that swings quickly and comes to rest is none', () => {
    const share = (i: number) => Math.min(1, Math.max(0, (i - 55) / 12))
    const at = (i: number) => 160 * share(i) ** 2 * (3 - 2 * share(i))
    const swing = (i: number): Painter => {
      const samples = [0, 0.15, 0.3, 0.45].map((part) => scene(2, at(i + part)))
      return (x, y) => samples.reduce((sum, painter) => sum + painter(x, y), 0) / samples.length
    }
    expect(detect(120, swing)).toEqual([])
  })
})

describe('screens', () => {
  test('a page that jumps inside its window is no cut', () => {
    const text = (page: number, x: number, y: number) => noise(Math.floor(x / 3) * 31 + Math.floor(y / 4) * 977 + page)
    const found = detect(120, (i) => (x, y) => {
      if (x < 30 || y < 14) return 80
      return y % 8 < 4 && text(i < 60 ? 1 : 5, x, y) < 0.45 ? 210 : 18
    })
    expect(found).toEqual([])
  })

  test('a white flash of a few pictures is no fade', () => {
    const light = (i: number) => [0.97, 1, 1, 0.6][i - 60] ?? 0
    expect(detect(120, (i) => (x, y) => scene(2, i * 0.3)(x, y) * (1 - light(i)) + 255 * light(i))).toEqual([])
  })
})
