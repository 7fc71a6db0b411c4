import { expect, test } from 'vitest'
import { ENGLISH } from '../words/words.ts'
import { valuesCalled } from './named-words.ts'
import { readQuestion } from './question.ts'

const parseQuery = (q: string) =>
  readQuestion(q).wanted.map(({ words, exact, unfinished }) => ({ words, exact, unfinished }))

test('a run of characters is asked for as it stands, a long one by its words', () => {
  const asked = (q: string) =>
    parseQuery(q).map((term) => `${term.words.join('')}${term.exact ? '!' : ''}${term.unfinished ? '*' : ''}`)
  expect(asked('東京の写真')).toEqual(['東京の写真!'])
  expect(asked('東京 写真 ki')).toEqual(['東京!', '写真!', 'ki*'])
  expect(asked('iPhone15を発売')).toEqual(['iphone15', 'を発売!'])
  expect(asked('東')).toEqual(['東!'])
  expect(asked('"東京 写真" 夜')).toEqual(['東京写真!', '夜!'])
  expect(asked('暗い背景のターミナル画面')).toEqual(['暗い!', 'ターミナル!', '画面!'])
  expect(asked('这是一个正常的虚拟机数据')).toContain('数据!')
  expect(asked('ภาพหน้าจอสีเข้ม').length).toBeGreaterThan(1)
  // Runs unknown to the dictionaries lose nothing, and no query exceeds the limit of both engines.
  expect(asked('가나다라마바사아자차카')).toEqual(['가나다라마바사아!', '자차카!'])
  const long = parseQuery('가나다라마바사아자차카'.repeat(20))
  expect(long.length).toBeLessThanOrEqual(10)
  expect(long.flatMap((term) => term.words)).toHaveLength(40)
  expect(parseQuery([...'東京都港区赤坂九丁目七番'].join(' '))).toHaveLength(10)
})

test('a query is words and phrases; the last word may be a beginning, an open quote is none', () => {
  expect(parseQuery('Red "big Kite" lam')).toEqual([
    { words: ['red'], exact: false, unfinished: false },
    { words: ['big', 'kite'], exact: true, unfinished: false },
    { words: ['lam'], exact: false, unfinished: true },
  ])
  // What is left out or cut off may stand behind it: then it is whole.
  const isBeginning = (q: string) => parseQuery(q).at(-1)!.unfinished
  expect(['lapto', 'lapto -dark', 'lapto without dark', 'lapto the'].map(isBeginning)).toEqual([
    true,
    false,
    false,
    false,
  ])
  expect(isBeginning(Array.from({ length: 12 }, (_, n) => `word${n}`).join(' '))).toBe(false)
  expect(parseQuery('“red kite”')).toEqual([{ words: ['red', 'kite'], exact: true, unfinished: false }])
  expect(parseQuery('"red ki').map(({ words: list, exact }) => [list, exact])).toEqual([
    [['red'], false],
    [['ki'], false],
  ])
  expect(parseQuery(' "" !? ')).toEqual([])
  expect(parseQuery('a b c e f g h j k m n o p q')).toHaveLength(10)
})

test('every phrase of the table names its value, also with function words between and in the plural', () => {
  const named = (q: string) => readQuestion(q).wanted.map((term) => [term.words.join(' '), ...term.named])
  for (const { phrase, named: value } of ENGLISH.attributes)
    for (const [, ...names] of named(phrase)) expect([phrase, names]).toEqual([phrase, expect.arrayContaining([value])])
  expect(named('talking into a camera')).toEqual(named('talking camera'))
  expect(named('terminals')).toEqual([['terminals', 'subject=terminal']])
  expect(named('on black')).toEqual([['on black', 'tone=dark']])
  expect(named('black')).toEqual([['black', 'color=black']])
  // Adjectives have no plural: lights are things.
  expect(named('lights')).toEqual([['lights']])
  expect(valuesCalled('tone', 'Light')).toEqual(['bright'])
  expect(valuesCalled('zone', 'left')).toEqual(['top-left', 'middle-left', 'bottom-left'])
  expect(valuesCalled('subject', 'dark')).toEqual([])
})

test('what only says “picture” or “ground” does not count beside other words', () => {
  const counted = (q: string) => readQuestion(q).wanted.map((term) => term.words.join(' '))
  expect(counted('macro shot of a flower')).toEqual(['macro shot', 'flower'])
  expect(counted('charts on dark backgrounds')).toEqual(['charts', 'on dark'])
  expect(counted('macro shot')).toEqual(['macro shot'])
  expect(counted('a background of trees')).toEqual(['background', 'trees'])
})

test('a word with one letter wrong, or two neighbours swapped, may name its value; a different word none', () => {
  const named = (q: string) => readQuestion(q).wanted.flatMap(({ corrected }) => corrected?.named ?? [])
  expect(named('presnter')).toEqual(['subject=presenter'])
  expect(named('terminsl')).toEqual(['subject=terminal'])
  expect(named('typografy')).toEqual(['subject=text-card'])
  expect(named('drak')).toEqual(['tone=dark'])
  expect(named('keyntoe stage')).toContain('technique=stage-keynote')
  expect(named('speakre')).toEqual(['subject=presenter'])
  const others = ['walking', 'produce', 'sneaker', 'presentre5', 'resenter', 'presntr', 'casre']
  for (const word of others) expect(named(word)).toEqual([])
  expect(named('"presnter"')).toEqual([])
})

test('what follows “without” is left out; a phrase of the table that begins so is asked for', () => {
  const read = (q: string) => {
    const { wanted, excluded } = readQuestion(q)
    return [wanted, excluded].map((terms) => terms.map((term) => [term.words.join(' '), ...term.named]))
  }
  expect(read('presenter without glasses')).toEqual([[['presenter', 'subject=presenter']], [['glasses']]])
  expect(read('ui without any text on screen, dark')).toEqual([
    [
      ['ui', 'subject=ui'],
      ['dark', 'tone=dark'],
    ],
    [['text on screen', 'subject=text-card']],
  ])
  expect(read('ui without a face')[1]).toEqual([])
  expect(read('ui without a face')[0]!.at(-1)).toEqual(['without face', 'shot=no-face'])
  expect(read('to go without')[0]!.map(([word]) => word)).toEqual(['go', 'without'])
  expect(read('"without glasses"')).toEqual([[['without glasses']], []])
})

test('what weighs nothing and what is left out', () => {
  const read = (q: string) => {
    const { wanted, excluded, ignored } = readQuestion(q)
    return [wanted, excluded].map((terms) => terms.map(({ words }) => words.join(' '))).concat([ignored])
  }
  expect(read('show me frames of a red kite')).toEqual([['red', 'kite'], [], ['show', 'me', 'frames', 'of', 'a']])
  expect(read('to be or not')).toEqual([['not'], [], ['to', 'be', 'or']])
  expect(read('to be')).toEqual([['to', 'be'], [], []])
  expect(read("it's the founder's cut")).toEqual([['founder', 'cut'], [], ['it', 's', 'the']])
  expect(read('kite -red -close-up -"blue sky" well-known - lamp')).toEqual([
    ['kite', 'well', 'known', 'lamp'],
    ['red', 'close up', 'blue sky'],
    [],
  ])
  expect(read('-東京 npm --save')).toEqual([['npm', 'save'], ['東 京'], []])
  expect(read('b c e f g h j k m n p q')).toEqual([[...'bcefghjkmn'], [], ['p', 'q']])
  expect(readQuestion('check up').wanted[0]!.joins).toEqual(['checkup'])
})

test('a long query is read to its hundredth word, and leaves out ten at most', () => {
  const { wanted, excluded, ignored } = readQuestion(`kite ${'the '.repeat(99)}lamp "red sky" -dark`)
  expect([wanted.map(({ text }) => text), excluded, ignored]).toEqual([
    ['kite'],
    [],
    ['the', 'lamp', 'red', 'sky', 'dark'],
  ])
  const many = readQuestion([...'abcdefghijkl'].map((letter) => `-x${letter}`).join(' '))
  expect([many.excluded.length, many.ignored]).toEqual([10, ['xk', 'xl']])
  expect(readQuestion('a b '.repeat(100_000)).wanted).toHaveLength(10)
})
