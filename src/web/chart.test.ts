import { expect, test } from 'vitest'
import { area, bars, dayBars, plot } from './chart.ts'
import { html } from './html.ts'

const toDays = (values: readonly (number | null)[]) =>
  values.map((value, n) => ({ day: `2026-11-0${n + 1}`, value, shown: String(value) }))

test('a chart of no days, one day and gaps has no NaN, and its words are escaped', () => {
  for (const values of [[], [3], [0, null, 2], [null, null]]) {
    const given = { label: 'Saves', unit: '<b>', top: '3', ends: ['0:00', '0:10'], told: 'Saves <a day>' } as const
    const { text } = plot(given, dayBars(toDays(values)))
    expect(text).not.toMatch(/NaN|Infinity|style=|<b>/)
    expect(text).toContain('aria-label="Saves &lt;a day&gt;"')
  }
  expect(area([0, 0], 0).text + bars([{ label: html`x`, told: '0', value: 0 }]).text).not.toMatch(/NaN|Infinity/)
})

test('a day without a figure has no bar, and the least figure can be seen', () => {
  const text = dayBars(toDays([1, null, 1_000, 0])).join('')
  expect([...text.matchAll(/\nheight="([\d.]+)"/g)].map(([, height]) => height)).toEqual(['2', '100'])
  expect([...text.matchAll(/<title>(.*?)<\/title>/g)].map(([, title]) => title)).toEqual([
    '2026-11-01: 1',
    '2026-11-03: 1000',
  ])
})
