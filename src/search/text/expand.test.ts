import { expect, test } from 'vitest'
import { expandTerms } from './expand.ts'
import { readQuestion } from './question.ts'

test('short words and words with digits must be right, longer ones may be wrong in one or two letters', () => {
  const close = (typed: string, candidate: string) =>
    expandTerms(readQuestion(`${typed} x`).wanted, new Map([[typed, [{ word: candidate, screen: false }]]]))[0]!.close
  expect(close('kyte', 'kite')).toEqual([])
  expect(close('lampe', 'lamps')).toEqual(['lamps'])
  expect(close('lampe', 'stamp')).toEqual([])
  expect(close('presnetr', 'presenter')).toEqual([])
  expect(close('presnetre', 'presenter')).toEqual(['presenter'])
  expect(close('v2000', 'v2001')).toEqual([])
  const both = ['flower', 'lower', 'flowers'].map((word) => ({ word, screen: false }))
  const [flower] = expandTerms(readQuestion('flower x').wanted, new Map([['flower', both]]))
  expect(flower!.close).toEqual(['flowers'])
})
