import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openAnswerReader, parseAnswer } from './answer.ts'

// Texts of an attacker who knows where an answer is cut.
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '},{"key":"',
    '}],"query":',
    '},{',
    '}],',
    '"hits":[{"',
    '\\',
    '"',
    '\ud800',
    '東京',
    '{"a":[{"key":1}]}',
  ),
)
const text = fc.array(hostile, { maxLength: 4 }).map((parts) => parts.join(''))

const hit = fc.record({
  key: text,
  doc: fc.oneof(
    text,
    fc.record({ caption: text }).map((doc) => JSON.stringify(doc)),
  ),
  _rankingScore: fc.double({ min: 0, max: 1, noNaN: true }),
})
const result = fc.record({
  indexUid: fc.constantFrom('library_frames', 'library_names'),
  hits: fc.array(hit, { maxLength: 8 }),
  query: text,
  processingTimeMs: fc.nat(),
  facetDistribution: fc.dictionary(text, fc.dictionary(text, fc.nat(), { maxKeys: 3 }), { maxKeys: 3 }),
})
const answer = fc.record({ results: fc.array(result, { maxLength: 4 }) })

/** With a text that makes it large enough to be cut. */
const large = (value: object) => Buffer.from(JSON.stringify({ ...value, padding: 'x'.repeat(17 * 1024) }))

test('a large answer is read as JSON.parse reads it, whatever its documents hold', () => {
  fc.assert(
    fc.property(answer, (value) => {
      const bytes = large(value)
      expect(parseAnswer(bytes)).toEqual(JSON.parse(bytes.toString()))
    }),
    { numRuns: 500 },
  )
})

test('an answer that comes in pieces is whole, and the next one does not change it', () => {
  const read = openAnswerReader()
  const of = (word: string) =>
    large({
      results: [
        {
          hits: [
            { key: word, doc: `${word} 東京` },
            { key: 'b', doc: word },
          ],
          query: word,
        },
      ],
    })
  const inPieces = (bytes: Buffer, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))
  const first = read(inPieces(of('kite'), 7))
  const second = read(inPieces(of('lamp'), 5_000))
  expect(first).toEqual(JSON.parse(of('kite').toString()))
  expect(second).toEqual(JSON.parse(of('lamp').toString()))
})

test('an error of the engine and an answer that is no list of results are read as they are', () => {
  for (const value of [{ code: 'invalid_api_key' }, { hits: [{ key: 'a' }, { key: 'b' }], query: 'x' }, []]) {
    const bytes = Array.isArray(value) ? Buffer.from(JSON.stringify(value)) : large(value)
    expect(parseAnswer(bytes)).toEqual(JSON.parse(bytes.toString()))
  }
  expect(() => parseAnswer(Buffer.from('<html>'))).toThrow(SyntaxError)
})
