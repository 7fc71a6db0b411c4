import { expect, test } from 'vitest'
import { cleanLines, cleanText } from './clean-text.ts'

test('control characters, direction marks and lone surrogates are gone, whatever else stays', () => {
  expect(cleanText(' A\u0000 \u001b[31mred\u202e cod\u0085e\u2066\ud800 ')).toBe('A [31mred cod e \ufffd')
  expect(cleanText('e\u0301\r\n\tx')).toBe('é x')
  expect([cleanText('ab😀', 3), cleanText('ab😀', 4), cleanText('ab😀cd', 2)]).toEqual(['ab', 'ab😀', 'ab'])
  // The joiners of Indic scripts and of emoji belong to the text.
  expect(cleanText('क्‍ष 👩‍💻')).toBe('क्‍ष 👩‍💻')
  // More marks on a letter than any script has.
  expect([...cleanText(`a${'\u0301\u0323'.repeat(200)}b`)].length).toBeLessThan(33)
  // A name that nobody can see is none.
  expect(['\u200b', '\u2060\ufeff \u00ad', '\u3164', '\u2800'].map((text) => cleanText(text))).toEqual(['', '', '', ''])
  expect(cleanLines('one\r\ntwo\u202e\n\nthree\u0007')).toBe('one\ntwo \n\nthree')
})
