import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editDistance, expandTerms, fold, openHighlighter, parseQuery, tokenize } from './words.ts'

const words = (text: string) => tokenize(text).map(({ word }) => word)

test('words are cut at everything that is no letter or digit, and folded', () => {
  expect(words('Cursor-zoom, npm_install: “Größe” — 2.0 ÆØÅ ½')).toEqual([
    'cursor',
    'zoom',
    'npm',
    'install',
    'grosse',
    '2',
    '0',
    'aeoa',
    '12',
  ])
  expect(words('cafe\u0301 CAFÉ ﬁlm')).toEqual(['cafe', 'cafe', 'film'])
  expect(words('映像 ライブラリ')).toEqual(['映像', 'ライフラリ'])
  expect(words('<b>&amp;</b> \u0000 \ud800')).toEqual(['b', 'amp', 'b'])
})

test('a token stands where it says, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      let at = 0
      for (const { word, start, end } of tokenize(text)) {
        expect(start).toBeGreaterThanOrEqual(at)
        expect(end).toBeGreaterThan(start)
        expect(word).toMatch(/^[\p{L}\p{N}]+$/u)
        expect(fold(word)).toBe(word)
        at = end
      }
    }),
    { numRuns: 500, seed: 1 },
  )
})

test('a query is words and phrases; the last word may be a beginning, an open quote is none', () => {
  expect(parseQuery('Red "big Kite" la')).toEqual([
    { words: ['red'], exact: false, prefix: false },
    { words: ['big', 'kite'], exact: true, prefix: false },
    { words: ['la'], exact: false, prefix: true },
  ])
  expect(parseQuery('“red kite”')).toEqual([{ words: ['red', 'kite'], exact: true, prefix: false }])
  expect(parseQuery('"red ki').map(({ words: list, exact }) => [list, exact])).toEqual([
    [['red'], false],
    [['ki'], false],
  ])
  expect(parseQuery(' "" !? ')).toEqual([])
  expect(parseQuery('a b c d e f g h i j k l')).toHaveLength(10)
})

test('the edit distance counts a swap as one and stops at its limit', () => {
  expect(editDistance('presenter', 'presnter', 2)).toBe(1)
  expect(editDistance('presenter', 'presnetre', 2)).toBe(2)
  expect(editDistance('terminal', 'termnial', 1)).toBe(1)
  expect(editDistance('kite', 'lamp', 2)).toBe(3)
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
      expect(editDistance(a, b, 20)).toBe(editDistance(b, a, 20))
      expect(editDistance(a, b, 20) === 0).toBe(a === b)
      expect(editDistance(a, b, 1)).toBe(Math.min(2, editDistance(a, b, 20)))
    }),
    { numRuns: 300, seed: 2 },
  )
})

test('short words and words with digits must be right, longer ones may be wrong in one or two letters', () => {
  const close = (typed: string, candidate: string) =>
    expandTerms(parseQuery(`${typed} x`), new Map([[typed, [{ word: candidate, screen: false }]]]))[0]!.close
  expect(close('kyte', 'kite')).toEqual([])
  expect(close('lampe', 'lamps')).toEqual(['lamps'])
  expect(close('lampe', 'stamp')).toEqual([])
  expect(close('presnetr', 'presenter')).toEqual([])
  expect(close('presnetre', 'presenter')).toEqual(['presenter'])
  expect(close('v2000', 'v2001')).toEqual([])
})

test('highlighting escapes everything and marks only what was asked for', () => {
  const mark = (text: string, q: string, parts = false) => openHighlighter(parseQuery(q))(text, { parts })
  expect(mark('A <red> "kite" & more', 'kite')).toBe('A &lt;red&gt; &quot;<em>kite</em>&quot; &amp; more')
  expect(mark('Kites and kiting', 'kit')).toBe('<em>Kites</em> and <em>kiting</em>')
  expect(mark('red kite, kite red', '"kite red"')).toBe('red kite, <em>kite</em> <em>red</em>')
  expect(mark('npm install hyperdrive', 'perdri', true)).toBe('npm install <em>hyperdrive</em>')
  expect(mark('npm install hyperdrive', 'perdri')).toBeUndefined()
  expect(mark('nothing here', 'kite')).toBeUndefined()
})

test('a long text is cut around its first match, between words', () => {
  const text = `${'lorem ipsum '.repeat(40)}a red kite ${'dolor sit '.repeat(40)}`
  const html = openHighlighter(parseQuery('kite'))(text)!
  expect(html.length).toBeLessThan(280)
  expect(html).toMatch(/^…\S.*<em>kite<\/em>.*\S ?…$/)
})

test('highlighting loses no sign of the text, whatever text and query', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 120 }), fc.string({ unit: 'binary', maxLength: 12 }), (text, q) => {
      const html = openHighlighter(parseQuery(q))(text, { parts: true })
      if (html === undefined) return
      const bare = html.replace(/<\/?em>/g, '')
      expect(bare).not.toMatch(/[<>"']/)
      const back = bare.replace(
        /&lt;|&gt;|&quot;|&#39;|&amp;/g,
        (entity) => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' })[entity]!,
      )
      expect(back).toBe(text.toWellFormed())
    }),
    { numRuns: 500, seed: 3 },
  )
})

test('a plain text is cut as any other', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
      // The mark at the end is no word and takes the text past the short way for ASCII.
      expect(tokenize(text)).toEqual(tokenize(`${text} →`))
    }),
    { numRuns: 500, seed: 3 },
  )
})
