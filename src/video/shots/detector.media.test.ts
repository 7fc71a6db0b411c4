import { describe, expect, test } from 'vitest'
import type { Boundary } from './boundary.ts'
import { createShotDetector } from './detector.ts'
import { createFrameMeter, type FrameFeatures, PICTURE_BYTES, PICTURE_HEIGHT, PICTURE_WIDTH } from './features.ts'

type Painter = (x: number, y: number) => number

/** A textured picture: the same seed gives the same scene. `shift` moves it sideways, `light` scales it. */
function scene(seed: number, shift = 0, light = 1): Painter {
  return (x, y) => {
    const u = x + shift
    const wide = 60 * Math.sin((u * (3 + seed)) / 29 + seed * 2.1)
    return (110 + wide + 55 * Math.sin((y * (2 + ((seed * 7) % 5))) / 17 + (u * seed) / 41 + seed)) * light
  }
}

/** Large areas of light that stay, with fine leaves that move. */
function foliage(i: number): Painter {
  return (x, y) => 50 + 0.9 * x + 30 * Math.sin(y / 15) + 30 * Math.sin((x + i * 1.3) / 1.7) * Math.sin((y + i) / 1.3)
}

/** Words on a flat card: bars of pseudo-random lengths. */
function card(seed: number, background = 20, ink = 230): Painter {
  return (x, y) => {
    const line = Math.floor((y - 30) / 8)
    if (y < 30 || y > 62 || (y - 30) % 8 > 4 || x < 30 || x > 130) return background
    const at = Math.floor(x / 3)
    return ((at * 2654435761 + line * 40503 + seed * 97003) >>> 7) % 5 < 2 ? ink : background
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
  const frame = new Uint8ClampedArray(PICTURE_BYTES).fill(128)
  for (let y = 0; y < PICTURE_HEIGHT; y++)
    for (let x = 0; x < PICTURE_WIDTH; x++) frame[y * PICTURE_WIDTH + x] = painter(x, y)
  return new Uint8Array(frame.buffer)
}

function mix(a: Uint8Array, b: Uint8Array, share: number): Uint8Array {
  return Uint8Array.from(a, (value, i) => Math.round(value * (1 - share) + b[i]! * share))
}

function findShots(frames: FrameFeatures[]): Boundary[] {
  const detector = createShotDetector()
  return [...frames.flatMap((frame) => detector.push(frame)), ...detector.finish()]
}

function detect(frames: Uint8Array[], stepMs = 1000 / 30) {
  const meter = createFrameMeter()
  return findShots(frames.map((frame, i) => meter.measure(i * stepMs, frame))).map(({ type, tMs }) => ({
    type,
    frame: Math.round(tMs / stepMs),
  }))
}

const many = (count: number, make: (i: number) => Uint8Array) => Array.from({ length: count }, (_, i) => make(i))
const film = (count: number, make: (i: number) => Painter) => many(count, (i) => paint(make(i)))

describe('cuts', () => {
  test('a cut between two moving scenes is found at its first frame', () => {
    const frames = [...film(60, (i) => scene(1, i * 0.5)), ...film(60, (i) => scene(4, i * 0.5))]
    expect(detect(frames)).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('another text on the same background is a cut', () => {
    const frames = [...film(60, () => card(1)), ...film(60, () => card(2))]
    expect(detect(frames)).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('short shots of a montage are all found', () => {
    const frames = film(8 * 13, (i) => scene(1 + Math.floor(i / 13), i * 0.4))
    expect(detect(frames).map(({ frame }) => frame)).toEqual([13, 26, 39, 52, 65, 78, 91])
  })

  test('another object on the same ground is a cut, although both move', () => {
    const object =
      (seed: number, i: number): Painter =>
      (x, y) =>
        Math.hypot((x - 80) / 60, (y - 45) / 32) < 1 ? scene(seed, i * 1.5)(x, y) * 0.5 : 235
    const frames = [...film(60, (i) => object(1, i)), ...film(60, (i) => object(4, i))]
    expect(detect(frames)).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('a cut to a shot over which a title fades in at once is found where it is', () => {
    for (const [length, from] of [
      [10, 62],
      [24, 60],
    ] as const) {
      const frames = many(150, (i) => {
        if (i < 60) return paint(scene(1, i * 0.4))
        const share = Math.max(0, Math.min(1, (i - from) / length))
        return mix(
          paint(() => 20),
          paint(card(1)),
          share,
        )
      })
      const found = detect(frames).map(({ frame }) => frame)
      expect([length, found]).toEqual([length, [expect.toSatisfy((frame) => Math.abs(frame - 60) <= 1)]])
    }
  })

  test('at 60 frames a second and at 24 alike', () => {
    for (const fps of [24, 25, 50, 60]) {
      const frames = [...film(fps * 2, (i) => scene(2, i * 0.3)), ...film(fps * 2, (i) => scene(5, i * 0.3))]
      expect(detect(frames, 1000 / fps)).toEqual([{ type: 'cut', frame: fps * 2 }])
    }
  })
})

describe('what is no transition', () => {
  test('a pan', () => {
    for (const speed of [0.3, 1, 3]) expect(detect(film(120, (i) => scene(3, i * speed)))).toEqual([])
  })

  test('a flash of three frames', () => {
    expect(detect(film(120, (i) => (i >= 60 && i < 63 ? () => 250 : scene(3, i * 0.2))))).toEqual([])
  })

  test('a lamp that goes on', () => {
    expect(detect(film(120, (i) => scene(3, 0, i < 60 ? 0.5 : 1)))).toEqual([])
  })

  test('a window that opens over a page, and the page turning inside its frame', () => {
    const chrome: Painter = (x, y) => {
      if (y < 12) return x % 9 < 4 ? 60 : 200
      if (x < 3 || x > 156 || y > 86) return 90
      return x % 40 === 0 ? 120 : Number.NaN
    }
    const page =
      (seed: number, popUp: boolean): Painter =>
      (x, y) => {
        const frame = chrome(x, y)
        if (!Number.isNaN(frame)) return frame
        if (popUp && x > 50 && x < 110 && y > 30 && y < 60) return x === 51 || y === 31 ? 40 : 220
        return card(seed, 240, 30)(x, y)
      }
    const frames = [
      ...film(60, () => page(1, false)),
      ...film(60, () => page(1, true)),
      ...film(60, () => page(2, false)),
    ]
    expect(detect(frames)).toEqual([])
  })

  test.each([8, 15, 30])('a title that fades in within %i frames over a moving picture, which darkens', (length) => {
    const frames = many(240, (i) => {
      const share = Math.max(0, Math.min(1, (i - 60) / length, (180 + length - i) / length))
      const [bare, ink] = [foliage(i), card(2, Number.NaN)]
      return paint((x, y) => {
        const dimmed = bare(x, y) * (1 - 0.6 * share)
        const letter = ink(x, y)
        return Number.isNaN(letter) ? dimmed : dimmed * (1 - share) + letter * share
      })
    })
    expect(detect(frames)).toEqual([])
  })

  test('pictures that come five times a second', () => {
    expect(detect(film(150, (i) => scene(3, Math.floor(i / 6) * 9)))).toEqual([])
  })

  test('a fade from black at the start and to black at the end', () => {
    const light = (i: number) => Math.min(1, i / 15, (149 - i) / 15)
    const frames = film(150, (i) => scene(2, i * 0.2, light(i)))
    expect(detect(frames)).toEqual([])
  })

  test('nothing at all', () => {
    expect(detect([])).toEqual([])
    expect(detect([paint(() => 0)])).toEqual([])
    expect(detect(film(100, () => () => 0))).toEqual([])
  })
})

describe('gradual transitions', () => {
  test.each([8, 15, 30])('a dissolve of %i frames', (length) => {
    const frames = many(150, (i) =>
      mix(paint(scene(1, i * 0.1)), paint(scene(5, i * 0.1)), Math.max(0, Math.min(1, (i - 60) / length))),
    )
    const found = detect(frames)
    expect(found.map(({ type }) => type)).toEqual(['dissolve'])
    expect(found[0]!.frame).toBeGreaterThanOrEqual(58)
    expect(found[0]!.frame).toBeLessThanOrEqual(62 + length)
  })

  test('a fade through black is one transition', () => {
    const light = (i: number) => Math.min(1, i < 72 ? (71 - i) / 12 : (i - 72) / 12)
    const found = detect(film(150, (i) => scene(i < 72 ? 1 : 4, i * 0.1, light(i))))
    expect(found.map(({ type }) => type)).toEqual(['fade'])
    expect(found[0]!.frame).toBeGreaterThanOrEqual(60)
    expect(found[0]!.frame).toBeLessThanOrEqual(84)
  })

  test('a wipe', () => {
    const frames = many(120, (i) => {
      const edge = ((i - 50) / 20) * PICTURE_WIDTH
      const [left, right] = [scene(4), scene(1)]
      return paint((x, y) => (x < edge ? left(x, y) : right(x, y)))
    })
    const found = detect(frames)
    expect(found).toHaveLength(1)
    expect(found[0]!.frame).toBeGreaterThanOrEqual(48)
    expect(found[0]!.frame).toBeLessThanOrEqual(72)
  })

  test.each(['left', 'right', 'up', 'down'])('a push to the %s', (way) => {
    const frames = many(120, (i) => {
      const share = Math.max(0, Math.min(1, (i - 50) / 14))
      const [old, fresh] = [scene(4, i * 0.05), scene(1, i * 0.05)]
      return paint((x, y) => {
        const across = way === 'left' || way === 'right'
        const length = across ? PICTURE_WIDTH : PICTURE_HEIGHT
        const at = (across ? x : y) + (way === 'left' || way === 'up' ? share : -share) * length
        const from = at >= length || at < 0 ? fresh : old
        const moved = (at + length) % length
        return across ? from(moved, y) : from(x, moved)
      })
    })
    const found = detect(frames)
    expect(found.map(({ type }) => type)).toEqual(['wipe'])
    expect(found[0]!.frame).toBeGreaterThanOrEqual(48)
    expect(found[0]!.frame).toBeLessThanOrEqual(66)
  })
})

test('a camera that swings to the next part of one wide scene makes no push', () => {
  for (const pixels of [80, 130, 160]) {
    const frames = many(120, (i) => {
      const way = Math.max(0, Math.min(1, (i - 50) / 16))
      return paint(scene(4, pixels * way * way * (3 - 2 * way)))
    })
    expect([pixels, detect(frames)]).toEqual([pixels, []])
  }
})

const within = (low: number, high: number) => expect.toSatisfy((frame) => frame >= low && frame <= high)

describe('black bars', () => {
  const barred =
    (painter: Painter): Painter =>
    (x, y) =>
      y < 12 || y >= 78 ? 16 : painter(x, y)

  test('a cut between soft pictures is found although the bars keep their edges', () => {
    expect(detect(film(120, (i) => barred(soft(i < 60 ? 1 : 6))))).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('one shot inside bars stays one shot', () => {
    expect(detect(film(120, (i) => barred(scene(2, i * 0.8))))).toEqual([])
  })
})

describe('grain', () => {
  const grainy =
    (painter: Painter, i: number): Painter =>
    (x, y) =>
      painter(x, y) + 110 * (noise(i * 14_407 + y * 160 + x) - 0.5)

  test('a cut is found through heavy grain', () => {
    expect(detect(film(120, (i) => grainy(scene(i < 60 ? 1 : 4, i * 0.4), i)))).toEqual([{ type: 'cut', frame: 60 }])
  })

  test('a fade through a grainy black is one fade', () => {
    const light = (i: number) => Math.max(0, Math.min(1, Math.abs(i - 60) / 12 - 0.5))
    const frames = film(130, (i) => (x, y) => {
      const shown = 20 + (scene(i < 60 ? 1 : 4, i * 0.4)(x, y) - 20) * light(i)
      return shown + 34 * (noise(i * 14_407 + y * 160 + x) - 0.5)
    })
    expect(detect(frames)).toEqual([{ type: 'fade', frame: within(48, 72) }])
  })

  test('grain alone is no cut', () => {
    expect(detect(film(120, (i) => grainy(scene(3, i * 0.4), i)))).toEqual([])
  })
})

describe('black that brightens', () => {
  test('a picture that rises from nearly black while it moves is no transition', () => {
    // The first pictures are too dim to have edges and too uneven to be blank.
    const light = (i: number) => 0.06 + 0.94 * Math.min(1, (i / 40) ** 2)
    expect(detect(film(140, (i) => (x, y) => 16 + (scene(2, i * 0.7)(x, y) - 16) * light(i)))).toEqual([])
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
    expect(detect(film(120, swing))).toEqual([])
  })
})

describe('screens', () => {
  test('a page that jumps inside its window is no cut', () => {
    const text = (page: number, x: number, y: number) => noise(Math.floor(x / 3) * 31 + Math.floor(y / 4) * 977 + page)
    const frames = film(120, (i) => (x, y) => {
      if (x < 30 || y < 14) return 80
      return y % 8 < 4 && text(i < 60 ? 1 : 5, x, y) < 0.45 ? 210 : 18
    })
    expect(detect(frames)).toEqual([])
  })

  test('a white flash of a few pictures is no fade', () => {
    const light = (i: number) => [0.97, 1, 1, 0.6][i - 60] ?? 0
    expect(detect(film(120, (i) => (x, y) => scene(2, i * 0.3)(x, y) * (1 - light(i)) + 255 * light(i)))).toEqual([])
  })
})
