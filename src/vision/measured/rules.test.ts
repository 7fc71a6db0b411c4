import { expect, test } from 'vitest'
import type { Face } from './faces.ts'
import { INK_COLUMNS, INK_ROWS, type Picture } from './picture.ts'
import type { Word } from './read-text.ts'
import {
  concludeShot,
  concludeSubject,
  concludeTechnique,
  concludeZone,
  keepPlausible,
  measureLettering,
  zoneOf,
} from './rules.ts'

/** A grid with ink in the cells above `until`. */
const inkUntil = (until: number) =>
  Array.from({ length: INK_COLUMNS * INK_ROWS }, (_, i) => (i < until * INK_ROWS * INK_COLUMNS ? 20 : 0))
const drawn: Picture = {
  luma: 10,
  commonest: 0.9,
  colours: 10,
  flat: 0.9,
  soft: 0.02,
  letters: 0.05,
  textRuns: 20,
  longestRun: 12,
  ink: inkUntil(0.1),
  groundColour: '#000000',
  inkColour: '#ffffff',
}
const filmed: Picture = {
  luma: 120,
  commonest: 0.1,
  colours: 120,
  flat: 0.3,
  soft: 0.4,
  letters: 0.05,
  textRuns: 0,
  longestRun: 3,
  ink: [],
  groundColour: '#888888',
  inkColour: null,
}
const face = (over: Partial<Face> = {}): Face => ({ x: 0.5, y: 0.5, width: 0.15, height: 0.3, score: 0.95, ...over })
const found = (...faces: Face[]) => ({ faces, doubtful: 0, passMs: 0 })

function toWords(text: string, pitch: (word: string) => number, height = 0.02): Word[] {
  return text.split('\n').flatMap((line, row) =>
    line.split(' ').map((word, i) => ({
      text: word,
      confidence: 0.9,
      x: i * 0.1,
      y: row * 0.04,
      width: word.length * pitch(word),
      height,
      line: row,
    })),
  )
}

const LINES =
  'status changes commit\nstage everything here\nwrite message below\npush branch upstream\nfetch remote again'

test('a fixed pitch on a dark ground is a terminal, a loose one is an interface', () => {
  const fixed = measureLettering(
    toWords(LINES, () => 0.01),
    drawn,
  )
  const loose = measureLettering(
    toWords(LINES, (word) => 0.008 + (word.charCodeAt(0) % 7) * 0.001),
    drawn,
  )
  expect(concludeSubject(drawn, found(), fixed)).toMatchObject({ value: 'terminal' })
  expect(concludeSubject(drawn, found(), loose)).toMatchObject({ value: 'ui' })
  expect(concludeSubject({ ...drawn, luma: 240 }, found(), fixed)).toMatchObject({ value: 'ui' })
})

test('few large words on an empty ground are a text card; many numbers alone are nothing sure', () => {
  const card = measureLettering(
    toWords('Available today\nrelay.example', () => 0.055, 0.09),
    drawn,
  )
  expect(concludeSubject(drawn, found(), card)).toMatchObject({ value: 'text-card' })
  const besideMark = { ...drawn, ink: inkUntil(1) }
  const logo = measureLettering(
    toWords('Available today\nrelay.example', () => 0.055, 0.09),
    besideMark,
  )
  expect(concludeSubject(besideMark, found(), logo)).toMatchObject({ value: null })
  const figures = measureLettering(
    toWords('0.1 0.2 0.3 0.4 0.5\nspeed of light in glass\n10 20 30 40 50', () => 0.01),
    drawn,
  )
  expect(concludeSubject(drawn, found(), figures)).toMatchObject({ value: null })
})

test('a face makes a presenter only where it is sure, large and in a filmed picture', () => {
  expect(concludeSubject(filmed, found(face()), null)).toMatchObject({ value: 'presenter' })
  expect(concludeSubject(filmed, found(face({ score: 0.8 })), null)).toMatchObject({ value: null })
  expect(concludeSubject(filmed, found(face({ height: 0.08 })), null)).toMatchObject({ value: null })
  expect(concludeSubject(drawn, found(face()), null)).toMatchObject({ value: null })
})

test('many small faces are a crowd and leave the foreground empty', () => {
  const crowd = found(...[0.1, 0.3, 0.5, 0.7].map((x) => face({ x, height: 0.07, width: 0.04 })))
  expect(concludeSubject(filmed, crowd, null)).toMatchObject({ value: 'crowd' })
  expect(concludeShot(filmed, crowd)).toMatchObject({ value: 'no-face' })
  expect(concludeZone(crowd)).toMatchObject({ value: 'none' })
})

test('a small face in a corner of a screen is an inset, in a filmed picture it is a wide shot', () => {
  const corner = face({ x: 0.87, y: 0.9, height: 0.12, width: 0.06 })
  expect(concludeShot({ ...drawn, commonest: 0.5 }, found(corner))).toMatchObject({ value: 'corner-inset' })
  const busy = { ...filmed, commonest: 0.35, colours: 50 }
  expect(concludeSubject(busy, found(face({ x: 0.87, y: 0.9, height: 0.2 })), null)).toMatchObject({ value: null })
  expect(concludeShot(filmed, found(corner))).toMatchObject({ value: 'wide-presenter' })
})

test('a doubtful face leaves shot and zone unknown', () => {
  const doubtful = { faces: [], doubtful: 0.8, passMs: 0 }
  expect(concludeShot(filmed, doubtful)).toMatchObject({ value: null, reason: expect.any(String) })
  expect(concludeZone(doubtful)).toMatchObject({ value: null, reason: expect.any(String) })
})

test('the zone is the cell of the largest face; near a border it is said with less confidence', () => {
  expect(concludeZone(found(face({ x: 0.2, height: 0.1 }), face({ x: 0.85, height: 0.3 })))).toMatchObject({
    value: 'middle-right',
    confidence: 0.95,
  })
  expect(concludeZone(found(face({ x: 0.34 })))).toMatchObject({ confidence: 0.6 })
  expect([zoneOf(0, 0), zoneOf(0.5, 0.5), zoneOf(1, 1)]).toEqual(['top-left', 'middle-center', 'bottom-right'])
})

test('letters seen in leaves are dropped, a line of words on a filmed picture stays', () => {
  const leaves = toWords('A 4 i', () => 0.01)
  const line = toWords('Built by hand', () => 0.02).map((word) => ({ ...word, line: 9 }))
  expect(keepPlausible([...leaves.map((word, i) => ({ ...word, line: i })), ...line], false)).toEqual(line)
  expect(keepPlausible(leaves, true)).toHaveLength(3)
})

test('a technique is named only where it is measured', () => {
  const say = (text: string, height: number) => toWords(text, () => 0.03, height)
  const named = (given: Partial<Parameters<typeof concludeTechnique>[0]>) =>
    concludeTechnique({
      ...{ picture: drawn, shot: 'no-face', subject: null, words: [], reason: 'cut', isEnding: false },
      ...given,
    }).value
  expect(named({ picture: filmed, shot: 'corner-inset', subject: 'ui' })).toBe('picture-in-picture')
  expect(named({ picture: filmed, reason: 'cut: fade through black' })).toBe('fade-through-black')
  expect(named({ picture: filmed, shot: 'medium-presenter', subject: 'presenter' })).toBeNull()
  const card = { subject: 'text-card' } as const
  expect(named({ ...card, words: say('Ship faster', 0.1) })).toBe('title-card')
  expect(named({ ...card, words: say('98% uptime', 0.2) })).toBe('big-number')
  for (const isEnding of [false, true]) {
    expect(named({ ...card, words: say('Start at relay.example', 0.1), isEnding })).toBe(
      isEnding ? 'end-card' : 'title-card',
    )
    expect(named({ subject: 'logo', words: say('Relay', 0.1), isEnding })).toBe(isEnding ? 'end-card' : 'logo-reveal')
  }
})
