import { expect, test } from 'vitest'
import type { Boundary } from '../shots/boundary.ts'
import { MINI_BYTES, PICTURE_PIXELS } from '../shots/features.ts'
import type { PickCandidate } from './kept-frames.ts'
import { createLoopFinder, LOOP_LIMITS, type Loop } from './loops.ts'

const cutAt = (tMs: number): Boundary => ({ type: 'cut', tMs, startMs: tMs - 33, endMs: tMs, strength: 50 })

/** A film of so many seconds, ten stills a second; `moves` says at which instants the picture changes. */
function filmOf(
  seconds: number,
  { moves = () => true, motion = () => 5 }: { moves?: (ms: number) => boolean; motion?: (ms: number) => number } = {},
) {
  const held = (startMs: number, endMs: number) => {
    const instants = Array.from({ length: 10 * seconds }, (_, n) => n * 100)
    const moved = instants.filter((ms) => ms >= startMs && ms < endMs && moves(ms))
    return 1 - moved.length / Math.max(1, (endMs - startMs) / 100)
  }
  const finder = createLoopFinder({
    moving: ({ startMs, endMs }) => ({ held: held(startMs, endMs), motion: motion(startMs) }),
  })
  let state = 0
  return {
    finder,
    play(fromSec = 0, toSec = seconds) {
      for (let ms = fromSec * 1000; ms < toSec * 1000; ms += 100) {
        if (moves(ms)) state++
        finder.still(stillOf(ms, state))
      }
    },
  }
}

/** The state is the brightness of the small picture, and that of the large one. */
function stillOf(tMs: number, state: number): Pick<PickCandidate, 'tMs' | 'features' | 'picture'> {
  const value = (state % 2) * 100 + (state % 100)
  const data = new Uint8Array(32 * 18 * 1.5).fill(value)
  const [picture, mini] = [new Uint8Array(PICTURE_PIXELS).fill(value), new Uint8Array(MINI_BYTES)]
  const features = { picture, mini } as PickCandidate['features']
  return { tMs, features, picture: { width: 32, height: 18, data } }
}

type LoopFinder = ReturnType<typeof createLoopFinder>

/** The loops so far. */
function loopsOf(finder: LoopFinder, certainMs = Number.POSITIVE_INFINITY, boundaries: Boundary[] = []) {
  finder.advance(certainMs, boundaries)
  return finder.chosen
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
const seen = ({ pictures }: Loop) => pictures.map(({ data }) => data[0]! % 100)

test('a loop begins with its frame and lasts two seconds', () => {
  const { finder, play } = filmOf(6)
  play()
  finder.picked(1000)
  expect(loopsOf(finder, 2900)).toEqual([])
  const [loop, ...more] = loopsOf(finder, 3000)
  expect(more).toEqual([])
  expect([loop!.tMs, sum(loop!.delaysMs)]).toEqual([1000, 2000])
  expect(seen(loop!)).toEqual(Array.from({ length: 20 }, (_, n) => 11 + n))
})

test('a shot that is shorter than 0.8 seconds has none', () => {
  const { finder, play } = filmOf(6)
  play()
  finder.picked(2300)
  expect(loopsOf(finder, Number.POSITIVE_INFINITY, [cutAt(2100), cutAt(2800)])).toEqual([])
})

test('a frame that stands has none, and one that was built up shows the movement before it', () => {
  const { finder, play } = filmOf(9, { moves: (ms) => ms < 3000 })
  play()
  finder.picked(7000)
  finder.picked(3000)
  const loops = loopsOf(finder)
  expect(loops.map(({ tMs }) => tMs)).toEqual([3000])
  expect(seen(loops[0]!).at(-1)).toBe(30)
})

test('a picture that stands within a loop is kept once, for as long as it stood', () => {
  const { finder, play } = filmOf(4, { moves: (ms) => ms % 300 === 0 })
  play()
  finder.picked(600)
  const [loop] = loopsOf(finder)
  expect(loop!.delaysMs).toEqual([300, 300, 300, 300, 300, 300, 200])
})

test('the three frames with most motion have one', () => {
  const motion = (ms: number) => (ms * 7) % 97
  const { finder, play } = filmOf(90, { motion })
  const picked = Array.from({ length: 30 }, (_, n) => n * 3000)
  for (const ms of picked) {
    play(ms / 1000, ms / 1000 + 3)
    finder.picked(ms)
    finder.advance(ms + 3000, [])
  }
  const byMotion = picked.toSorted((a, b) => motion(b) - motion(a))
  expect(finder.chosen.map(({ tMs }) => tMs)).toEqual(byMotion.slice(0, LOOP_LIMITS.perFilm))
})

test('a frame that is kept long after has none: its pictures are forgotten', () => {
  const { finder, play } = filmOf(60)
  play()
  finder.picked(20_000)
  finder.picked(55_000)
  expect(loopsOf(finder).map(({ tMs }) => tMs)).toEqual([55_000])
})
