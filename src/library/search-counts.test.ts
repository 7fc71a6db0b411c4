import { expect, test } from 'vitest'
import { toAnonymousTerm } from './search-counts.ts'

test.each([
  ['  Blue   KITE ', 'blue kite'],
  ['h.264 encoder', 'h.264 encoder'],
  ['凧', '凧'],
])('keeps the words of %j', (q, term) => expect(toAnonymousTerm(q)).toBe(term))

test.each([
  '',
  'jane.doe@example.com',
  'jane@',
  'https://example.com/private?token=1',
  'www.example.com',
  '+49 171 234 567',
  '٠١٢٣٤',
  'flk_live_abcdefghijklmnop',
  'a b c d e f g h i',
  'word '.repeat(20),
])('keeps no word of %j', (q) => expect(toAnonymousTerm(q)).toBeNull())
