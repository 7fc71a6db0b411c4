import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonPieces } from './json-pieces.ts'

/** Keys and strings that would break a text that is cut at the wrong place. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(',"path":"', '"path":"', '\\', '\\"', '}', ']', '{}', '', '__proto__', '0', '\ud800', '\u2028'),
)
/** V8's JSON.parse takes an escaped key of one character for a lone backslash, once an object had that as a key. */
const key = hostile.filter((text) => text !== '\\')
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    hostile,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
})).value
const fields = fc.dictionary(key, value, { maxKeys: 5 })

const parsed = (text: string): unknown => JSON.parse(text)
/** What any value is after one way through JSON. */
const plain = (of: unknown): unknown => parsed(JSON.stringify(of))

test('an object with lists in batches is the text of the whole object, however the batches are cut', async () => {
  const lists = fc.array(fc.array(value, { maxLength: 3 }), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fields, lists, lists, async (members, items, others) => {
      const { items: _, others: __, ...about } = members
      async function* batches(cut: readonly unknown[][]) {
        for (const list of cut) yield list as object[]
      }
      const both = { items: batches(items), others: batches(others) }
      let text = ''
      for await (const piece of jsonPieces(about, both)) text += piece
      expect(parsed(text)).toEqual(plain({ ...about, items: items.flat(), others: others.flat() }))
    }),
  )
})

test('an object with a list of long objects is the text of the whole, a batch in each piece', async () => {
  const batches = fc.array(fc.array(value, { maxLength: 3 }), { maxLength: 3 })
  const objects = fc.array(fc.tuple(fields, batches), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fields, objects, async (members, long) => {
      const { boards: _, ...about } = members
      async function* cut(lists: readonly unknown[][]) {
        for (const list of lists) yield list as object[]
      }
      async function* items() {
        for (const [{ items: __, ...own }, lists] of long) yield jsonPieces(own, { items: cut(lists) })
      }
      const pieces: string[] = []
      for await (const piece of jsonPieces(about, { boards: items() })) pieces.push(piece)
      const boards = long.map(([own, lists]) => ({ ...own, items: lists.flat() }))
      expect(parsed(pieces.join(''))).toEqual(plain({ ...about, boards }))
      const filled = long.flatMap(([, lists]) => lists.filter((list) => list.length > 0))
      expect(pieces.length).toBe(1 + long.length + filled.length)
    }),
  )
})
