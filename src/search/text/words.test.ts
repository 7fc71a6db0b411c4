import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editDistance, expandTerms, fold, Highlighter, lexemesOf, parseQuery, tokenize } from './words.ts'

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

test('characters of scripts without spaces are words of their own, Latin words among them stay whole', () => {
  expect(words('新しい東京')).toEqual(['新', 'し', 'い', '東', '京'])
  expect(words('映像 ライブラリー')).toEqual(['映', '像', 'ラ', 'イ', 'ブ', 'ラ', 'リ', 'ー'])
  expect(tokenize('iPhone15を発売')).toEqual([
    { word: 'iphone15', start: 0, end: 8 },
    { word: 'を', start: 8, end: 9 },
    { word: '発', start: 9, end: 10 },
    { word: '売', start: 10, end: 11 },
  ])
  expect(words('Ｎｏ.５ﾊﾞｰÉté版')).toEqual(['no', '5', 'バ', 'ー', 'ete', '版'])
  expect(words('서울에서 한글'.normalize('NFD'))).toEqual(['서', '울', '에', '서', '한', '글'])
  expect(words('𠮷野家 々 〇')).toEqual(['𠮷', '野', '家', '々', '〇'])
  // A letter and its marks are found one by one, but marked together.
  expect(tokenize('นี้')).toEqual(['น', 'ี', '้'].map((word) => ({ word, start: 0, end: 3 })))
  expect(words('ខ្មែរ ລາວ မြန်မာ')).toHaveLength(5 + 3 + 6)
  expect(words('Привет κόσμε שלום मस्ते')).toEqual(['привет', 'κοσμε', 'שלום', 'मस्ते'])
})

test('every letter by itself is cut as in a mark’s company, where the long way is taken', () => {
  for (const [from, to] of [
    [0x3041, 0x30ff],
    [0x4e00, 0x9fff],
    [0xac00, 0xd7a3],
  ] as const) {
    for (let code = from; code <= to; code++) {
      const letter = String.fromCodePoint(code)
      const alone = words(letter)
      expect(words(`${letter}\ufe00`)).toEqual(alone)
      if (alone.length > 0) expect(alone.join('')).toBe(fold(letter))
    }
  }
})

test('a run of characters is asked for as it stands, a long one by its words', () => {
  const asked = (q: string) =>
    parseQuery(q).map((term) => `${term.words.join('')}${term.exact ? '!' : ''}${term.prefix ? '*' : ''}`)
  expect(asked('東京の写真')).toEqual(['東京の写真!'])
  expect(asked('東京 写真 ki')).toEqual(['東京!', '写真!', 'ki*'])
  expect(asked('iPhone15を発売')).toEqual(['iphone15', 'を発売!'])
  expect(asked('東')).toEqual(['東!'])
  expect(asked('"東京 写真" 夜')).toEqual(['東京写真!', '夜!'])
  expect(asked('暗い背景のターミナル画面')).toEqual(['暗い!', '背景!', 'ターミナル!', '画面!'])
  expect(asked('这是一个正常的虚拟机数据')).toContain('数据!')
  expect(asked('ภาพหน้าจอสีเข้ม').length).toBeGreaterThan(1)
  // Nothing is lost of what no dictionary knows, and no query grows beyond what both engines read.
  expect(asked('가나다라마바사아자차카')).toEqual(['가나다라마바사아!', '자차카!'])
  const long = parseQuery('가나다라마바사아자차카'.repeat(20))
  expect(long.length).toBeLessThanOrEqual(10)
  expect(long.flatMap((term) => term.words)).toHaveLength(40)
  expect(parseQuery([...'東京都港区赤坂九丁目七番'].join(' '))).toHaveLength(10)
})

test('a character lies in the index together with the next one', () => {
  expect(lexemesOf(words('a 東京都 b 京'))).toEqual(['a', '東京', '京都', '都', 'b', '京'])
  expect(lexemesOf([])).toEqual([])
})

test('a token stands where it says, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      let before = { start: -1, end: 0 }
      for (const { word, start, end } of tokenize(text)) {
        // What one sign folds to stands in one place.
        if (start !== before.start || end !== before.end) expect(start).toBeGreaterThanOrEqual(before.end)
        expect(end).toBeGreaterThan(start)
        expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u)
        expect(fold(word)).toBe(word)
        before = { start, end }
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
  const mark = (text: string, q: string, parts = false) => new Highlighter(parseQuery(q)).mark(text, { parts })
  expect(mark('A <red> "kite" & more', 'kite')).toBe('A &lt;red&gt; &quot;<em>kite</em>&quot; &amp; more')
  expect(mark('Kites and kiting', 'kit')).toBe('<em>Kites</em> and <em>kiting</em>')
  expect(mark('red kite, kite red', '"kite red"')).toBe('red kite, <em>kite</em> <em>red</em>')
  expect(mark('npm install hyperdrive', 'perdri', true)).toBe('npm install <em>hyperdrive</em>')
  expect(mark('npm install hyperdrive', 'perdri')).toBeUndefined()
  expect(mark('nothing here', 'kite')).toBeUndefined()
  expect(mark('İstanbul', 'insta')).toBe('<em>İstanbul</em>')
})

test('characters are marked as one stretch, wherever they stand; a long text without spaces is cut around them', () => {
  const mark = (text: string, q: string) => new Highlighter(parseQuery(q)).mark(text)
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
  const html = new Highlighter(parseQuery('kite')).mark(text)!
  expect(html.length).toBeLessThan(280)
  expect(html).toMatch(/^…\S.*<em>kite<\/em>.*\S ?…$/)
})

test('highlighting loses no sign of the text, whatever text and query', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 120 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
      (text, q) => {
        const html = new Highlighter(parseQuery(q)).mark(text, { parts: true })
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

test('a plain text is cut as any other', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
      // The mark at the end is no word and takes the text past the short way for ASCII.
      expect(tokenize(text)).toEqual(tokenize(`${text} →`))
    }),
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
        const highlighter = new Highlighter(parseQuery(words.join(' ')))
        const plain = `${before} ${words[0]!.slice(0, cut)}-${words[0]!.slice(cut)} ${before}`
        const mark = (of: string) => highlighter.mark(of, { parts })
        // A sign is no word; with it the text is cut the general way.
        const general = mark(`${plain} \u2603`)
        expect(mark(plain)).toBe(general?.slice(0, -2))
      },
    ),
    { numRuns: 3_000 },
  )
})
