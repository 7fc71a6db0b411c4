import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Highlighter } from './highlight.ts'
import { readQuestion } from './question.ts'

test('highlighting escapes everything and marks only what was asked for', () => {
  const mark = (text: string, q: string, parts = false) => new Highlighter(readQuestion(q).wanted).mark(text, { parts })
  expect(mark('A <red> "kite" & more', 'kite')).toBe('A &lt;red&gt; &quot;<em>kite</em>&quot; &amp; more')
  expect(mark('Kites and kiting', 'kit')).toBe('<em>Kites</em> and <em>kiting</em>')
  expect(mark('red kite, kite red', '"kite red"')).toBe('red kite, <em>kite</em> <em>red</em>')
  expect(mark('npm install hyperdrive', 'perdri', true)).toBe('npm install <em>hyperdrive</em>')
  expect(mark('npm install hyperdrive', 'perdri')).toBeUndefined()
  expect(mark('nothing here', 'kite')).toBeUndefined()
  expect(mark('İstanbul', 'insta')).toBe('<em>İstanbul</em>')
})

test('characters are marked as one stretch, wherever they stand; a long text without spaces is cut around them', () => {
  const mark = (text: string, q: string) => new Highlighter(readQuestion(q).wanted).mark(text)
  expect(mark('新しい東京の写真、東と京', '東京')).toBe('新しい<em>東京</em>の写真、東と京')
  expect(mark('東京 京都', '京')).toBe('東<em>京</em> <em>京</em>都')
  expect(mark('iPhone15を発売', 'iphone15を')).toBe('<em>iPhone15を</em>発売')
  expect(mark('かき', 'がぎ')).toBeUndefined()
  expect(mark('ฉันรักนี้', 'น')).toBe('ฉั<em>น</em>รัก<em>นี้</em>')
  const html = mark(`Intro ${'𠮷い'.repeat(100)}東京${'がん'.repeat(200)}`, '東京')!
  expect(html).toMatch(/^…[𠮷い]{50,}<em>東京<\/em>[がん]{100,}…$/u)
})

test('a long text is cut around its first match, between words', () => {
  const text = `${'lorem ipsum '.repeat(40)}a red kite ${'dolor sit '.repeat(40)}`
  const html = new Highlighter(readQuestion('kite').wanted).mark(text)!
  expect(html.length).toBeLessThan(280)
  expect(html).toMatch(/^…\S.*<em>kite<\/em>.*\S ?…$/)
})

test('highlighting loses no sign of the text, whatever text and query', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 120 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
      (text, q) => {
        const html = new Highlighter(readQuestion(q).wanted).mark(text, { parts: true })
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

test('marks are the same whether a text is all plain letters or not', () => {
  const word = fc.stringMatching(/^[a-eA-E1-3]{1,7}$/)
  const text = fc
    .array(fc.tuple(word, fc.constantFrom(' ', '-', ', ', '. ', '  ')), { maxLength: 12 })
    .map((all) => all.flat().join(''))
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      text,
      fc.nat({ max: 6 }),
      fc.boolean(),
      (words, before, cut, parts) => {
        const highlighter = new Highlighter(readQuestion(words.join(' ')).wanted)
        const plain = `${before} ${words[0]!.slice(0, cut)}-${words[0]!.slice(cut)} ${before}`
        const mark = (of: string) => highlighter.mark(of, { parts })
        // The sign is no word, but makes the text take the path for any script.
        const general = mark(`${plain} \u2603`)
        expect(mark(plain)).toBe(general?.slice(0, -2))
      },
    ),
    { numRuns: 3_000 },
  )
})
