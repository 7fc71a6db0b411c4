import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  GIVEN,
  type JsonText,
  jsonArray,
  jsonBytes,
  jsonObject,
  jsonObjectPieces,
  jsonObjectWithLists,
  jsonObjectWithPieces,
  jsonText,
  objectWriter,
  prefixMembers,
} from './json-text.ts'

/** Keys and strings that would break a text that is cut at the wrong place. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(',"path":"', '"path":"', '\\', '\\"', '}', ']', '{}', '', '__proto__', '0', '\ud800', '\u2028'),
)
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    hostile,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(hostile, tie('value'), { maxKeys: 4 }),
  ),
})).value
const fields = fc.dictionary(hostile, value, { maxKeys: 5 })

const parsed = (text: string): unknown => JSON.parse(text)
/** What any value is after one way through JSON. */
const plain = (of: unknown): unknown => parsed(JSON.stringify(of))
const texts = (of: Record<string, unknown>): Record<string, JsonText> =>
  Object.fromEntries(Object.entries(of).map(([name, member]) => [name, jsonText(member)]))

test('an array of texts is the text of the array', () => {
  fc.assert(
    fc.property(fc.array(value), (values) => {
      expect(parsed(jsonArray(values.map(jsonText)))).toEqual(plain(values))
      expect(jsonArray(values.map(jsonText))).toBe(JSON.stringify(values))
    }),
  )
})

test('an object of texts is the text of the object, whatever its names and strings hold', () => {
  fc.assert(
    fc.property(fields, (of) => {
      expect(parsed(jsonObject(texts(of)))).toEqual(plain(of))
      expect(jsonObject(texts(of))).toBe(JSON.stringify(of))
    }),
  )
})

test('an object as bytes is the object with its lists, however wide its letters are', () => {
  const lists = fc.dictionary(hostile, fc.oneof(value, fc.array(value, { maxLength: 5 })), { maxKeys: 5 })
  fc.assert(
    fc.property(lists, (of) => {
      const members = Object.entries(of).map(([name, member]) => [
        name,
        Array.isArray(member) ? member.map(jsonText) : jsonText(member),
      ])
      expect(jsonBytes(Object.fromEntries(members)).toString()).toBe(JSON.stringify(of))
    }),
  )
  const wide = Array.from({ length: 200 }, (_, n) => (n % 3 === 0 ? 'a' : '東京𝄞'.repeat(n)))
  expect(jsonBytes({ wide: wide.map(jsonText) }).toString()).toBe(JSON.stringify({ wide }))
})

test('a writer writes what is the same in all and what is given with each, in the order of the members', () => {
  const way = fc.constantFrom('same', 'json', 'plain')
  fc.assert(
    fc.property(fields, fc.array(way, { minLength: 5, maxLength: 5 }), (of, ways) => {
      const members = Object.entries(of).map(([name, member], at) => {
        const plainText = `plain ${at}`
        if (ways[at] === 'plain') return { name, member: GIVEN.plain, given: plainText, value: plainText }
        if (ways[at] === 'json') return { name, member: GIVEN.json, given: jsonText(member), value: member }
        return { name, member: jsonText(member), given: undefined, value: member }
      })
      fc.pre(members.some(({ given }) => given !== undefined))
      const write = objectWriter(Object.fromEntries(members.map(({ name, member }) => [name, member])))
      const given = members.flatMap((one) => (one.given === undefined ? [] : [one.given]))
      const expected = Object.fromEntries(members.map(({ name, value: one }) => [name, one]))
      for (let again = 0; again < 2; again++) expect(write(given)).toBe(JSON.stringify(expected))
    }),
  )
})

test('an undefined member is left out', () => {
  expect(jsonObject({ a: undefined, b: jsonText(1), c: undefined })).toBe('{"b":1}')
})

test('pieces in a row are the text of the object, and bytes among them are not copied', () => {
  fc.assert(
    fc.property(fields, fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }), (of, asBytes) => {
      const wellFormed = plain(of) as Record<string, unknown>
      const members = Object.fromEntries(
        Object.entries(texts(wellFormed)).map(([name, text], at) => [name, asBytes[at] ? Buffer.from(text) : text]),
      )
      const pieces = jsonObjectPieces(members)
      for (const member of Object.values(members)) if (typeof member !== 'string') expect(pieces).toContain(member)
      const sent = Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()
      expect(parsed(sent)).toEqual(parsed(Buffer.from(JSON.stringify(wellFormed)).toString()))
    }),
  )
})

test('prefixed members are the same members of the parsed object, whatever stands around them', () => {
  const before = fc.array(hostile, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(before, hostile, fields, hostile, fc.boolean(), (strings, path, after, prefix, isAdded) => {
      const small = `${path}${strings[0]}`
      const text = jsonText({ first: 1, strings, texts: strings.join(''), path, small_path: small, after })
      const added = isAdded ? { more: jsonText(strings), none: undefined } : undefined
      const spliced = prefixMembers(text, { renamed: { path: 'url', small_path: 'small_url' }, prefix, added })
      const urls = { url: prefix + path, small_url: prefix + small }
      const expected = { first: 1, strings, texts: strings.join(''), ...urls, after }
      expect(parsed(spliced!)).toEqual(plain(isAdded ? { ...expected, more: strings } : expected))
    }),
    { numRuns: 500 },
  )
})

test('an object without the members, or with them in another order, is not touched', () => {
  const renamed = { path: 'url', small_path: 'small_url' }
  for (const object of [
    { a: ',"path":"', b: ['x', 'path'] },
    { a: 1, path: 'x' },
    { a: 1, small_path: 'x', path: 'y' },
  ])
    expect(prefixMembers(jsonText(object), { renamed, prefix: '' })).toBe(undefined)
})

test('a value without a JSON text is refused', () => {
  expect(() => jsonText(undefined)).toThrow(TypeError)
})

test('an object with lists in batches is the text of the whole object, however the batches are cut', async () => {
  const lists = fc.array(fc.array(value, { maxLength: 3 }), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fields, lists, lists, async (members, items, others) => {
      const { items: _, others: __, ...about } = members
      async function* batches(cut: readonly unknown[][]) {
        for (const list of cut) yield list.map(jsonText)
      }
      const both = { items: batches(items), others: batches(others) }
      let text = ''
      for await (const piece of jsonObjectWithLists(texts(about), both)) text += piece
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
        for (const list of lists) yield list.map(jsonText)
      }
      async function* items() {
        for (const [{ items: __, ...own }, lists] of long) yield jsonObjectWithLists(texts(own), { items: cut(lists) })
      }
      const pieces: string[] = []
      for await (const piece of jsonObjectWithPieces(texts(about), 'boards', items())) pieces.push(piece)
      const boards = long.map(([own, lists]) => ({ ...own, items: lists.flat() }))
      expect(parsed(pieces.join(''))).toEqual(plain({ ...about, boards }))
      const filled = long.flatMap(([, lists]) => lists.filter((list) => list.length > 0))
      expect(pieces.length).toBe(1 + long.length + filled.length)
    }),
  )
})
