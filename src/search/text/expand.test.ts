import { expect, test } from 'vitest'
import { expansionOf } from './expand.ts'

test('short words and words with digits must be right, longer ones may be wrong in one or two letters', () => {
  const close = (typed: string, candidate: string) => expansionOf(typed, [{ word: candidate, screen: false }]).close
  expect(close('kyte', 'kite')).toEqual([])
  expect(close('lampe', 'lamps')).toEqual(['lamps'])
  expect(close('lampe', 'stamp')).toEqual([])
  expect(close('presnetr', 'presenter')).toEqual([])
  expect(close('presnetre', 'presenter')).toEqual(['presenter'])
  expect(close('v2000', 'v2001')).toEqual([])
  const both = ['flower', 'lower', 'flowers'].map((word) => ({ word, screen: false }))
  expect(expansionOf('flower', both).close).toEqual(['flowers'])
})
