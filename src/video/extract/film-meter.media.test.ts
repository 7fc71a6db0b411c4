import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { createFrameMeter, PICTURE_BYTES } from '../shots/features.ts'
import { createFilmMeter } from './film-meter.ts'

/** Pictures of 25 a second, each of one grey: `grey(tMs)`. */
function filmOf(lengthMs: number, grey: (tMs: number) => number, { everyMs = 40 } = {}) {
  const meter = createFrameMeter()
  const film = createFilmMeter()
  for (let tMs = 0; tMs < lengthMs; tMs += everyMs) {
    const picture = new Uint8Array(PICTURE_BYTES).fill(128).fill(grey(tMs), 0, PICTURE_BYTES / 3)
    film.add(meter.measure(tMs, picture))
  }
  return film
}

test('a held picture, a moving one, and the jump between them that belongs to neither', () => {
  // Held for four seconds; then brighter by one level a picture: 25 a second.
  const film = filmOf(8000, (tMs) => (tMs < 4000 ? 40 : 100 + (tMs - 4000) / 40))
  expect(film.moving({ startMs: 0, endMs: 4000 })).toEqual({ held: 1, motion: 0 })
  const moving = film.moving({ startMs: 4000, endMs: 8000 })
  expect(moving.held).toBe(0)
  expect(moving.motion).toBeCloseTo(25, 0)
  const clean = [
    { startMs: 0, endMs: 4000 },
    { startMs: 4000, endMs: 8000 },
  ]
  const { measures, arcs } = film.film(clean, 8000)
  expect(measures.held_share).toBeCloseTo(0.5, 2)
  expect(measures.motion).toBeCloseTo(12.5, 0)
  // Five samples a second: the first picture of five stands for them.
  expect(measures.luma).toBeCloseTo((40 + 147.5) / 2, 1)
  expect(measures).toMatchObject({ contrast: 0, colour: 0 })
  expect([arcs.luma[0], arcs.luma[15], arcs.u[31]]).toEqual([40, 40, 128])
})

test('a rest of half a second is held, a shorter one is not', () => {
  const every = (ms: number) => filmOf(6000, (tMs) => 60 + 10 * (Math.floor(tMs / ms) % 2))
  expect(every(600).moving({ startMs: 0, endMs: 6000 }).held).toBeCloseTo(1, 2)
  expect(every(400).moving({ startMs: 0, endMs: 6000 }).held).toBe(0)
})

test('a picture that a variable rate does not repeat is held all the same', () => {
  const film = filmOf(6000, (tMs) => (tMs < 3000 ? 60 : 90), { everyMs: 3000 })
  expect(film.moving({ startMs: 0, endMs: 6000 }).held).toBe(1)
  expect(film.film([{ startMs: 0, endMs: 6000 }], 6000).measures.luma).toBeCloseTo(75, 0)
})

test('a held shot is held, however its end is rounded and however soon the next shot comes', () => {
  const film = filmOf(2000, (tMs) => (tMs < 800 ? 40 : 160))
  for (const endMs of [799.5, 800, 800.5]) expect(film.moving({ startMs: 0, endMs })).toEqual({ held: 1, motion: 0 })
})

test('slides at a variable rate are held, the last one and a single one too', () => {
  const slides = filmOf(30_000, (tMs) => 60 + tMs / 200, { everyMs: 10_000 })
  for (const startMs of [0, 10_000, 20_000])
    expect(slides.moving({ startMs, endMs: startMs + 10_000 })).toMatchObject({ held: 1 })
  expect(filmOf(40, () => 60).moving({ startMs: 0, endMs: 5000 })).toMatchObject({ held: 1 })
})

test('a long film in which every frame moves fits into the memory of a small process', () => {
  const measure = `
    import { createFrameMeter, PICTURE_BYTES } from '${new URL('../shots/features.ts', import.meta.url)}'
    import { createFilmMeter } from '${new URL('film-meter.ts', import.meta.url)}'
    const frame = createFrameMeter().measure(0, new Uint8Array(PICTURE_BYTES).fill(128))
    const film = createFilmMeter()
    for (let n = 0; n < 1_500_000; n++) film.add(Object.assign(frame, { tMs: n / 10, difference: 2 }))
    console.log(film.moving({ startMs: 0, endMs: 150_000 }).motion)`
  const flags = ['--max-old-space-size=128', '--input-type=module', '--eval', measure]
  const { status, stdout } = spawnSync(process.execPath, flags, { encoding: 'utf8' })
  expect([status, Number(stdout)]).toEqual([0, expect.closeTo(20_000, 0)])
})

test('a shot without length has neither', () => {
  const film = filmOf(1000, () => 60)
  expect(film.moving({ startMs: 500, endMs: 500 })).toEqual({ held: null, motion: null })
  expect(film.film([], 1000).measures).toMatchObject({ held_share: null, motion: null, luma: 60 })
})
