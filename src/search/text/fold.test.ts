import { expect, test } from 'vitest'
import { fold, tokenize } from './tokens.ts'

const words = (text: string) => tokenize(text).map(({ word }) => word)

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
