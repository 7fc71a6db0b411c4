import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beginningOf, fold, stemOf, tokenize } from './tokens.ts'

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
  expect(words('⒈ Sign up ⑴ ⑽ \ufc60')).toEqual(['1', 'sign', 'up', '1', '10'])
  expect(words('cafe\u0301 CAFÉ ﬁlm')).toEqual(['cafe', 'cafe', 'film'])
  expect(words('<b>&amp;</b> \u0000 \ud800')).toEqual(['b', 'amp', 'b'])
})

test('every letter by itself is cut as in a mark’s company, where the long way is taken', () => {
  const wrong: string[] = []
  for (const [from, to] of [
    [0x3041, 0x30ff],
    [0x4e00, 0x9fff],
    [0xac00, 0xd7a3],
  ] as const) {
    for (let code = from; code <= to; code++) {
      const letter = String.fromCodePoint(code)
      const alone = words(letter).join(' ')
      const isCut = alone === '' || alone.replaceAll(' ', '') === fold(letter)
      if (words(`${letter}\ufe00`).join(' ') !== alone || !isCut) wrong.push(letter)
    }
  }
  expect(wrong).toEqual([])
})

test('a token stands where it says, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      let before = { start: -1, end: 0 }
      const wrong = tokenize(text).filter((token) => {
        const { word, start, end } = token
        // All words from one sign share its place.
        const follows = start >= before.end || (start === before.start && end === before.end)
        before = token
        return !follows || end <= start || fold(word) !== word || !/^[\p{L}\p{N}\p{M}]+$/u.test(word)
      })
      expect(wrong).toEqual([])
    }),
    { numRuns: 500, seed: 1 },
  )
})

test('a plain text is cut as any other', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
      // The mark at the end is no word, but makes the text take the path for any script.
      expect(tokenize(text)).toEqual(tokenize(`${text} →`))
    }),
    { numRuns: 500, seed: 3 },
  )
})

test('accents are folded away, marks that make another letter or a vowel are not', () => {
  expect(fold('Ä é ς́ Й ё שָׁלוֹם كِتَاب')).toBe('a e ς и е שלום كتاب')
  expect(fold('が ぱ ヴ')).toBe('が ぱ ヴ')
  expect(fold('か\u3099')).toBe('が')
  expect(fold('ﾊﾞｰｼﾞｮﾝ ２')).toBe('バージョン 2')
  expect(fold('한글')).toBe('한글')
  expect(fold('한글'.normalize('NFD'))).toBe('한글')
  expect(fold('हिन्दी')).toBe('हिन्दी'.normalize('NFC'))
  expect(words('हिन्दी में')).toEqual(['हिन्दी', 'में'])
})

test.each([
  'answer answers answered answering',
  'smile smiles smiled smiling',
  'plan plans planned planning',
  'story stories',
  'city cities',
  'box boxes',
  'glass glasses',
  'puppet puppets',
  'present presents presenter presenters presenting',
  'robot robots robotic',
  'graph graphs graphic graphics',
  'pour pours poured pouring',
  'type types typed typing',
  'carry carries carried',
])('%s have one stem, and begin with it', (words) => {
  const forms = words.split(' ')
  expect(new Set(forms.map(stemOf)).size, forms.map(stemOf).join(' ')).toBe(1)
  for (const form of forms) expect(form.startsWith(beginningOf(stemOf(form)))).toBe(true)
})

test.each([
  'flow flower',
  'corn corner',
  'store story',
  'new news',
  'spring string',
  'speed spe',
  'king kings singing',
  'organ organisation',
  'bus bu',
  'this thi',
])('%s have different stems', (words) => {
  const forms = words.split(' ').filter((word) => word.length > 0)
  expect(new Set(forms.map(stemOf)).size, forms.map(stemOf).join(' ')).toBeGreaterThan(1)
})

test('what is no English word stays as it is', () => {
  for (const word of ['ui', '4k', 'b2b', '暗い', 'café', 'größe', 'css']) expect(stemOf(word)).toBe(word)
})
