import { expect, test } from 'vitest'
import { type Column, type Line, table } from './terminal.ts'

const COLUMNS: Column<string[]>[] = ['ID', 'WHY', 'TITLE'].map((heading, at) => ({ heading, cell: (row) => row[at]! }))
const ROWS = [
  ['a', 'The file is not a video. Allowed: MP4, MOV, WebM.', 'a title that is longer than its column'],
  ['b', '日本語の長い説明がここに書かれています', 'short'],
]
const textOf = (line: Line) =>
  typeof line === 'string' ? line : line.map((piece) => (typeof piece === 'string' ? piece : piece.text)).join('')

test('on a narrow terminal the widest column is cut, but neither the first nor the last', () => {
  expect(table(ROWS, COLUMNS, true, 70).map(textOf)).toEqual([
    'ID  WHY                         TITLE',
    'a   The file is not a video.…   a title that is longer than its column',
    'b   日本語の長い説明がここに…   short',
  ])
})

test('nothing is cut in a pipe, or where a terminal has room', () => {
  expect(textOf(table(ROWS, COLUMNS, false, 70)[0]!)).toBe(`a  ${ROWS[0]!.slice(1).join('  ')}`)
  expect(textOf(table(ROWS, COLUMNS, true, 200)[1]!)).toBe(`a   ${ROWS[0]!.slice(1).join('  ')}`)
})
