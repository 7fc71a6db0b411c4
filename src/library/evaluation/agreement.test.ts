import { expect, test } from 'vitest'
import type { FrameAnnotation } from '../../vision/annotator.ts'
import { compareModels, wilson } from './agreement.ts'

const answer = (frameId: string, subject: string | null): FrameAnnotation => ({
  frameId,
  status: 'annotated',
  values: { subject: { value: subject, source: 'model', confidence: null } },
  issues: [],
})

const answers = (subjects: (string | null)[]) =>
  new Map(subjects.map((subject, n) => [`f${n}`, answer(`f${n}`, subject)]))

test('the interval is that of the textbook, and stays within 0 and 1', () => {
  expect(wilson(8, 10)).toEqual([expect.closeTo(0.4902, 3), expect.closeTo(0.9433, 3)])
  expect(wilson(10, 10)).toEqual([expect.closeTo(0.7225, 3), 1])
  expect(wilson(0, 10)).toEqual([0, expect.closeTo(0.2775, 3)])
})

test('only values on which the models differ tell them apart', () => {
  const known = new Map(Array.from({ length: 12 }, (_, n) => [`f${n}`, { subject: ['ui'] }]))
  const first = answers([...Array(10).fill('ui'), 'logo', null])
  const second = answers([...Array(3).fill('ui'), ...Array(7).fill('logo'), 'ui', 'logo'])
  expect(compareModels(first, second, known)).toEqual({
    frames: 12,
    values: 12,
    first_right: 10,
    second_right: 4,
    only_first: 7,
    only_second: 1,
    // 2 · (1 + 8) ÷ 2⁸
    p: expect.closeTo(18 / 256, 9),
  })
})

test('models that never differ, or that shared no frame, are equally good', () => {
  const known = new Map([['f0', { subject: ['ui'] }]])
  expect(compareModels(answers(['ui']), answers(['ui']), known)).toMatchObject({ values: 1, p: 1 })
  expect(compareModels(answers(['ui']), new Map(), known)).toMatchObject({ values: 0, p: 1 })
})

test('many values do not overflow', () => {
  const known = new Map(Array.from({ length: 4000 }, (_, n) => [`f${n}`, { subject: ['ui'] }]))
  const half = answers(Array.from({ length: 4000 }, (_, n) => (n % 2 === 0 ? 'ui' : 'logo')))
  const other = answers(Array.from({ length: 4000 }, (_, n) => (n % 2 === 0 ? 'logo' : 'ui')))
  expect(compareModels(half, other, known).p).toBeCloseTo(1, 1)
  expect(compareModels(answers(Array(4000).fill('ui')), answers(Array(4000).fill(null)), known).p).toBe(0)
})
