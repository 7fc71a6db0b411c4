import { expect, test } from 'vitest'
import { lengthOf, overview, sharesOf, stretchesOf } from './rhythm.ts'

const frame = (t_sec: number, kind: 'cut' | 'beat' | 'intro', subject: string | null, shot?: [number, number]) => ({
  t_sec,
  kind,
  subject,
  shot_sec: shot ?? null,
})
const frames = [
  frame(0.5, 'intro', 'logo'),
  frame(2, 'cut', 'ui'),
  frame(4, 'beat', 'ui'),
  frame(8, 'cut', null),
  frame(9, 'cut', 'logo'),
]

test('a value lasts until the next frame has another; the shares of the time follow', () => {
  const stretches = stretchesOf(frames, 10, ({ subject }) => subject)
  expect(stretches).toEqual([
    { from: 0, to: 2, value: 'logo' },
    { from: 2, to: 8, value: 'ui' },
    { from: 8, to: 9, value: null },
    { from: 9, to: 10, value: 'logo' },
  ])
  expect(sharesOf(stretches, 10)).toEqual([
    { value: 'ui', share: 0.6 },
    { value: 'logo', share: 0.3 },
  ])
})

test('a frame that was taken late in its shot stands for the shot from its beginning', () => {
  const rests = [
    frame(3, 'intro', 'logo', [0, 4]),
    frame(6.5, 'cut', 'ui', [4, 8]),
    frame(7.5, 'beat', 'chart', [4, 8]),
    frame(9, 'cut', 'logo', [8.2, 10]),
  ]
  expect(stretchesOf(rests, 10, ({ subject }) => subject).map(({ from }) => from)).toEqual([0, 4, 7.5, 8.2])
  expect(overview(rests, 10, 5).map(({ t_sec }) => t_sec)).toEqual([3, 3, 6.5, 6.5, 9])
})

test('a video is as long as its file says, and never shorter than its last frame', () => {
  expect(lengthOf(frames, 12)).toBe(12)
  expect(lengthOf(frames, null)).toBe(9)
  expect(lengthOf([], null)).toBeGreaterThan(0)
})

test('an overview shows what is seen in the middle of each part', () => {
  expect(overview(frames, 10, 5).map(({ t_sec }) => t_sec)).toEqual([0.5, 2, 4, 4, 9])
  expect(overview([], 10, 5)).toEqual([])
})
