import { expect, test } from 'vitest'
import { plainText } from './plain-text.ts'

test('control and direction characters go, lines stay, blanks become one', () => {
  expect(plainText(' a\u0000b\t\u202Ec \r\n\r\n  d\u200B ', 100)).toBe('a b c\nd')
})

test('markup stays as text', () => {
  expect(plainText('<b onclick=x>&amp;</b>', 100)).toBe('<b onclick=x>&amp;</b>')
})

test('a cut never leaves half a character, nor does a broken text get through', () => {
  expect(plainText('ab😀', 3)).toBe('ab')
  expect(plainText('a\uD83D', 10)).toBe('a')
  expect(plainText('x'.repeat(50), 10)).toHaveLength(10)
})
