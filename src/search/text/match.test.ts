import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Matcher } from './match.ts'
import { readQuestion } from './question.ts'
import { type Guesses, sensesOf } from './senses.ts'

const NOTHING: Guesses = { longer: [], begins: false, parts: [], close: [], pairs: [] }

/** A text of a library that has every word of the question; `guesses`: of its last word, which the library lacks. */
function explain(text: string, q: string, guesses?: Partial<Guesses>) {
  const known = { has: () => true, like: () => [], isName: () => false }
  const senses = sensesOf(readQuestion(q).wanted, known)
  const last = senses.at(-1)
  if (last && guesses) Object.assign(last, { forms: [[]], named: [], called: [], guesses: { ...NOTHING, ...guesses } })
  return new Matcher(senses).frame({ on_screen_text: text }, [])
}
const mark = (text: string, q: string, guesses?: Partial<Guesses>): string | undefined =>
  explain(text, q, guesses).matched.on_screen_text

test('highlighting escapes everything and marks only what was asked for', () => {
  expect(mark('A <red> "kite" & more', 'kite')).toBe('A &lt;red&gt; &quot;<em>kite</em>&quot; &amp; more')
  expect(mark('Kites and kitchens', 'kite')).toBe('<em>Kites</em> and kitchens')
  expect(mark('Kites and kitchens', 'kit', { longer: ['kites', 'kitchens'] })).toBe(
    '<em>Kites</em> and <em>kitchens</em>',
  )
  expect(mark('red kite, kite red', '"kite red"')).toBe('red kite, <em>kite</em> <em>red</em>')
  expect(mark('npm install hyperdrive', 'perdri', { parts: ['hyperdrive'] })).toBe('npm install <em>hyperdrive</em>')
  expect(mark('npm install hyperdrive', 'perdri')).toBeUndefined()
  expect(mark('nothing here', 'kite')).toBeUndefined()
  expect(mark('İstanbul', 'istnbul', { close: ['istanbul'] })).toBe('<em>İstanbul</em>')
})

test('characters are marked as one stretch, wherever they stand; a long text without spaces is cut around them', () => {
  expect(mark('新しい東京の写真、東と京', '東京')).toBe('新しい<em>東京</em>の写真、東と京')
  expect(mark('東京 京都', '京')).toBe('東<em>京</em> <em>京</em>都')
  // A particle weighs nothing.
  expect(mark('iPhone15を発売', 'iphone15を')).toBe('<em>iPhone15</em>を発売')
  expect(mark('かき', 'がぎ')).toBeUndefined()
  expect(mark('ฉันรักนี้', 'น')).toBe('ฉั<em>น</em>รัก<em>นี้</em>')
  const html = mark(`Intro ${'𠮷い'.repeat(100)}東京${'がん'.repeat(200)}`, '東京')!
  expect(html).toMatch(/^…[𠮷い]{50,}<em>東京<\/em>[がん]{100,}…$/u)
})

test('a long text is cut around its first match, between words', () => {
  const text = `${'lorem ipsum '.repeat(40)}a red kite ${'dolor sit '.repeat(40)}`
  const html = mark(text, 'kite')!
  expect(html.length).toBeLessThan(280)
  expect(html).toMatch(/^…\S.*<em>kite<\/em>.*\S ?…$/)
})

test('highlighting loses no sign of the text, whatever text and query', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 120 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
      (text, q) => {
        const html = mark(text, q)
        if (html === undefined) return
        const bare = html.replace(/<\/?em>/g, '')
        expect(bare).not.toMatch(/[<>"']/)
        const back = bare.replace(
          /&lt;|&gt;|&quot;|&#39;|&amp;/g,
          (entity) => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' })[entity]!,
        )
        expect(back).toBe(text.toWellFormed())
      },
    ),
    { numRuns: 500, seed: 3 },
  )
})

test('each word tells its best match; what is met by a guess or not at all is missing', () => {
  const met = (text: string, q: string, guesses?: Partial<Guesses>) => {
    const { met: list, missing } = explain(text, q, guesses)
    return [list.map(({ word, kind }) => `${word} ${kind}`), missing]
  }
  expect(met('Puppets on a smartphone', 'puppet phone')).toEqual([['puppet word', 'phone synonym'], undefined])
  expect(met("They don't stop", 'dont stopped')).toEqual([['dont word', 'stopped word'], undefined])
  expect(met('A carry case', 'red car', { longer: ['carry'] })).toEqual([['car beginning'], ['red', 'car']])
  expect(met('the price', 'price ice', { parts: ['price'] })).toEqual([['price word', 'ice part'], ['ice']])
  expect(met('White words', 'on white')).toEqual([[], ['on white']])
  expect(met('words on white', 'on white')).toEqual([['on white word'], undefined])
})
