import { expect, test } from 'vitest'
import { bar, dayBars } from './chart.ts'

test('a chart of no days, one day and gaps has no NaN and names itself', () => {
  for (const values of [[], [3], [0, null, 2], [null, null]]) {
    const days = values.map((value, n) => ({ day: `2026-11-0${n + 1}`, value, shown: String(value) }))
    const { text } = dayBars('Saves <a day>', days)
    expect(text).not.toMatch(/NaN|Infinity|style=/)
    expect(text).toContain('aria-label="Saves &lt;a day&gt;"')
  }
  expect(bar(0, 0).text).not.toContain('NaN')
})

test('a day without a figure has no bar, and the least figure can be seen', () => {
  const values = [1, null, 1_000, 0]
  const days = values.map((value, n) => ({ day: `2026-11-0${n + 1}`, value, shown: String(value) }))
  const { text } = dayBars('t', days)
  expect([...text.matchAll(/ height="([\d.]+)"/g)].map(([, height]) => height)).toEqual(['2', '100'])
  expect([...text.matchAll(/<title>(.*?)<\/title>/g)].map(([, title]) => title)).toEqual([
    '2026-11-01: 1',
    '2026-11-03: 1000',
  ])
})
