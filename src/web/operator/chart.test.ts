import { expect, test } from 'vitest'
import { bar, lineChart, roundUp } from './chart.ts'

test('the scale ends at a short number above the greatest value', () => {
  expect([0, 0.02, 1, 3, 7, 9, 10, 41, 1_001].map(roundUp)).toEqual([4, 0.02, 1, 4, 8, 12, 12, 60, 1_200])
})

test('a chart of no days, one day and gaps has no NaN and names itself', () => {
  for (const values of [[], [3], [0, null, 2], [null, null]]) {
    const days = values.map((_, n) => `2026-11-0${n + 1}`)
    const { text } = lineChart({ title: 'Saves <a day>', days, lines: [{ label: 'saves', values }] })
    expect(text).not.toMatch(/NaN|Infinity|style=/)
    expect(text).toContain('aria-label="Saves &lt;a day&gt;"')
  }
  expect(bar(0, 0).text).not.toContain('NaN')
})

test('a gap is not drawn as a line', () => {
  const days = ['2026-11-01', '2026-11-02', '2026-11-03']
  const { text } = lineChart({ title: 't', days, lines: [{ label: 'x', values: [1, null, 1] }] })
  expect(/ d="([^"]*)"/.exec(text)?.[1]?.match(/M/g)).toHaveLength(2)
})
