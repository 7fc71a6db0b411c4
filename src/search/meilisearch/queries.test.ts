import { expect, test } from 'vitest'
import { renderFilter } from './queries.ts'

test('values are data, whatever they hold', () => {
  expect(renderFilter({ attribute: 'author', in: ['a"b', 'c\\', '\\"', "O'B", 'x" OR y = "z'] })).toBe(
    String.raw`author IN ["a\"b", "c\\", "\\\"", "O'B", "x\" OR y = \"z"]`,
  )
  expect(renderFilter({ attribute: 'colors', in: [1, 22] })).toBe('colors IN [1, 22]')
})

test('a tree is written with its brackets; nothing to filter is no filter', () => {
  expect(renderFilter({ and: [] })).toBeUndefined()
  expect(renderFilter({ and: [{ attribute: 'tone', in: ['dark'] }] })).toBe('tone IN ["dark"]')
  expect(
    renderFilter({
      and: [
        { attribute: 'tone', in: ['dark'] },
        {
          or: [
            { attribute: 'kind', in: ['cut'] },
            { attribute: 'zone', in: [] },
          ],
        },
      ],
    }),
  ).toBe('(tone IN ["dark"]) AND ((kind IN ["cut"]) OR (zone IN []))')
})
