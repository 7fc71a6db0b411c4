import { expect, test } from 'vitest'
import { expandTerms, expansionOf } from './expand.ts'
import { readQuestion } from './question.ts'

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

test('two words are written as one only where the library has that word, or may have it', () => {
  const joinsOf = (longer: string[] | undefined) => {
    const known = { close: [], forms: [], parts: [], pairs: [], ...(longer ? { longer } : {}) }
    return expandTerms(readQuestion('sign up').wanted, () => known).map(({ joins }) => joins.map(({ word }) => word))
  }
  expect(joinsOf([])).toEqual([[], []])
  expect(joinsOf(['signal'])).toEqual([[], []])
  // The last word may be the beginning of a longer one.
  expect(joinsOf(['signups'])).toEqual([['signup'], ['signup']])
  // Too many words begin so to be listed.
  expect(joinsOf(undefined)).toEqual([['signup'], ['signup']])
})
