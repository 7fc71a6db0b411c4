import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { BEAT_RATE, createBeatMeter, cutsOnBeats } from './beats.ts'

const SEC = 16
const random = seededRandom(5)
const noise = () => 2 * random() - 1

/** Sounds that begin at some seconds, as samples; `sound` has the level at a time since its beginning. */
function played(
  beginnings: readonly number[],
  sound: (sec: number, n: number) => number,
  lengthSec = 0.3,
): Float64Array {
  const samples = new Float64Array(SEC * BEAT_RATE)
  beginnings.forEach((sec, n) => {
    const from = Math.round(sec * BEAT_RATE)
    const to = Math.min(samples.length, from + lengthSec * BEAT_RATE)
    for (let at = from; at < to; at++) samples[at]! += sound((at - from) / BEAT_RATE, n)
  })
  return samples
}

const mixed = (one: Float64Array, other: Float64Array) => one.map((sample, n) => sample + other[n]!)
const times = (count: number, every: number) => Array.from({ length: count }, (_, n) => n * every)

/** Kick and snare in turn, and a cymbal twice a beat. */
function drums(bpm: number): Float64Array {
  const beat = 60 / bpm
  const drum = (sec: number, n: number) =>
    n % 2 === 0 ? 0.6 * Math.exp(-15 * sec) * Math.sin(2 * Math.PI * 60 * sec) : 0.4 * Math.exp(-20 * sec) * noise()
  const cymbal = (sec: number) => 0.15 * Math.exp(-60 * sec) * noise()
  return mixed(played(times(SEC / beat, beat), drum), played(times((2 * SEC) / beat, beat / 2), cymbal, 0.05))
}

/** Syllables of 80 to 330 ms, voiced or not, with pauses. */
function speech(): Float64Array {
  const beginnings: number[] = []
  const lengths: number[] = []
  for (let at = 0; at < SEC; ) {
    const length = 0.08 + 0.25 * random()
    beginnings.push(at)
    lengths.push(length)
    at += length + (random() < 0.15 ? 0.2 + 0.5 * random() : 0.02 + 0.06 * random())
  }
  const voice = (sec: number, n: number) => {
    if (sec > lengths[n]!) return 0
    const harmonics = times(12, 1).map((k) => Math.sin(2 * Math.PI * (110 + 7 * (n % 9)) * (k + 1) * sec) / (k + 1))
    const sound = n % 3 === 0 ? noise() : harmonics.reduce((sum, one) => sum + one, 0)
    return 0.2 * Math.sin((Math.PI * sec) / lengths[n]!) * sound
  }
  return played(beginnings, voice, 0.33)
}

function beatOf(samples: Float64Array) {
  const bytes = Buffer.from(Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32_767).buffer)
  const meter = createBeatMeter()
  // Pieces as a pipe may cut them, also within a sample.
  for (let at = 0; at < bytes.length; at += 9_999) meter.add(bytes.subarray(at, at + 9_999))
  return meter.beat()
}

test.each([100, 120, 128, 140])('drums at %i: the tempo to a hundredth, beats within 15 ms', (bpm) => {
  const found = beatOf(drums(bpm))!
  expect(Math.abs(found.bpm / bpm - 1)).toBeLessThan(0.01)
  const off = found.beats.map((sec) => Math.abs(sec - (60 / bpm) * Math.round((sec * bpm) / 60)))
  expect(found.beats.length).toBeGreaterThan((SEC * bpm) / 60 - 4)
  expect(Math.max(...off)).toBeLessThan(0.015)
})

test('drums are heard below speech', () => {
  expect(
    beatOf(
      mixed(
        drums(120),
        speech().map((sample) => sample / 2),
      ),
    )!.bpm,
  ).toBeCloseTo(120, 0)
})

test.each([
  ['speech', speech()],
  ['noise', Float64Array.from({ length: SEC * BEAT_RATE }, () => 0.3 * noise())],
  ['silence', new Float64Array(SEC * BEAT_RATE)],
  ['a moment of sound', drums(120).subarray(0, 100)],
  ['two bangs', played([3, 3.5], (sec) => Math.exp(-20 * sec) * noise())],
  ['five bangs', played(times(5, 0.5), (sec) => Math.exp(-20 * sec) * noise())],
])('%s has no tempo', (_what, samples) => {
  expect(beatOf(samples)).toBeNull()
})

describe('cuts on beats', () => {
  const film = { nearSec: 0.05, durationSec: 20 }
  const beats = times(40, 0.5)

  test('are counted beside what chance gives', () => {
    expect(cutsOnBeats(times(16, 1), beats, film)).toEqual({ share: 1, byChance: expect.closeTo(0.2, 2) })
    const between = times(16, 1).map((sec) => sec + 0.25)
    expect(cutsOnBeats(between, beats, film)!.share).toBe(0)
  })

  test('chance is what circular shifts of the cuts give', () => {
    const cuts = times(20, 1).map((sec) => sec + 0.4 * random())
    const shares = times(2000, 0.01).map((shift) => {
      const shifted = cuts.map((cut) => (cut + shift) % film.durationSec)
      return cutsOnBeats(shifted, beats, film)!.share
    })
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
    expect(cutsOnBeats(cuts, beats, film)!.byChance).toBeCloseTo(mean, 1)
  })

  test('say nothing below a dozen', () => {
    expect(cutsOnBeats(times(11, 1), beats, film)).toBeNull()
  })
})
