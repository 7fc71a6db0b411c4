import { describe, expect, test } from 'vitest'
import { framesOfADay, parseTimecode, type Rate, toFrame, toRate, toTimecode } from './rate.ts'

const NTSC30 = { num: 30_000, den: 1001 }
const NTSC60 = { num: 60_000, den: 1001 }

/**
 * Counts a day as SMPTE ST 12-1 says it in words: at each minute but every tenth, the first labels are left out. Names
 * the labels of each minute's first and last second, and of one second within.
 */
function* labels(base: number, dropped: number): Generator<[frame: number, label: string]> {
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0')
  let count = 0
  for (let second = 0; second < 86_400; second++) {
    const clock = [second / 3600, (second / 60) % 60, second % 60].map(two).join(':')
    for (let frame = 0; frame < base; frame++) {
      if (frame < dropped && second % 60 === 0 && (second / 60) % 10 !== 0) continue
      if ([0, 31, 59].includes(second % 60)) yield [count, `${clock}${dropped > 0 ? ';' : ':'}${two(frame)}`]
      count++
    }
  }
}

describe('labels', () => {
  test.each<[Rate, number, number]>([
    [NTSC30, 30, 2],
    [NTSC60, 60, 4],
    [{ num: 24_000, den: 1001 }, 24, 0],
    [{ num: 25, den: 1 }, 25, 0],
  ])('%o counts a whole day as the standard does, and reads each label back', (rate, base, dropped) => {
    const drop = dropped > 0
    const wrong: string[] = []
    let last = 0
    for (const [frame, label] of labels(base, dropped)) {
      const read = parseTimecode(label, rate)
      if (toTimecode(frame, { rate, drop }) !== label || read?.frame !== frame || read.drop !== drop) wrong.push(label)
      last = frame
    }
    expect(wrong).toEqual([])
    expect(framesOfADay({ rate, drop })).toBe(last + 1)
  })

  test.each([
    ['00:01:00;00', NTSC30, 'a dropped label'],
    ['00:01:00;03', NTSC60, 'a dropped label'],
    ['00:00:00:30', NTSC30, 'a frame beyond the rate'],
    ['00:00:00;00', { num: 25, den: 1 }, 'dropped labels at 25'],
    ['24:00:00:00', NTSC30, 'a 25th hour'],
    ['1:00:00:00', NTSC30, 'one digit'],
  ])('%s is no label (%o: %s)', (text, rate) => {
    expect(parseTimecode(text, rate)).toBeUndefined()
  })
})

test('a rounded rate gives the exact one back; an unusual one the nearest', () => {
  expect(toRate(29.97)).toEqual(NTSC30)
  expect(toRate(23.976)).toEqual({ num: 24_000, den: 1001 })
  expect(toRate(30)).toEqual({ num: 30, den: 1 })
  expect(toRate(27.4)).toEqual({ num: 25, den: 1 })
})

test('an hour at 29.97 holds 107,892 frames', () => {
  expect(toFrame(3_600_000, NTSC30)).toBe(107_892)
})
