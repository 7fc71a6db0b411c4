import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CSV_HEAD, csvCell, toCsvLines, toExportRow } from './export.ts'

test('a cell that a spreadsheet would run as a formula is text', () => {
  for (const value of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '  =1', '\r=1', '＝1'])
    expect(csvCell(value).replace(/^"/, '')[0]).toBe("'")
  expect(csvCell(-1.5)).toBe('-1.5')
  expect(csvCell(null)).toBe('')
})

test('no part of a cell becomes a formula where a semicolon, a tab or a line begins a new cell', () => {
  expect(csvCell('a;=1+1')).toBe("a;'=1+1")
  expect(csvCell('a; @SUM(A1);-1')).toBe("a; '@SUM(A1);'-1")
  expect(csvCell('a\n=1')).toBe(`"a\n'=1"`)
  expect(csvCell('a;b; c')).toBe('a;b; c')
})

test('any text comes back from its cell', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const cell = csvCell(text)
      const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
      expect(cell.startsWith('"') || !/[",\r\n]/.test(cell)).toBe(true)
      if (/[;\t\r\n]/.test(text)) expect(read.replaceAll("'", '')).toBe(text.replaceAll("'", ''))
      else expect(read === text || read === `'${text}`).toBe(true)
    }),
  )
})

test('a row carries credit and source', () => {
  const row = toExportRow({
    id: 'v-1',
    t_sec: 72.5,
    author: 'Acme, Inc.',
    platform: 'youtube',
    source_url: null,
    image_url: 'http://x/i.webp',
    caption: 'said "so"',
    steal: null,
    note: '=evil',
    pinned_at: '2026-01-01T00:00:00.000Z',
    video: {
      id: 'v',
      title: 'Launch',
      author: 'Acme, Inc.',
      platform: 'youtube',
      source_url: 'https://youtu.be/x',
      duration_sec: 90,
    },
  } as never)
  expect(row.credit).toBe('“Launch” by Acme, Inc., youtube, at 1:12.5')
  const csv = CSV_HEAD + toCsvLines([row])
  expect(csv.split('\r\n')).toHaveLength(3)
  expect(csv).toContain('"said ""so"""')
  expect(csv).toContain("'=evil")
  expect(csv).toContain('https://youtu.be/x')
})
