import { expect, test } from 'vitest'
import { beginningOf, stemOf } from './word-forms.ts'

test.each([
  'answer answers answered answering',
  'smile smiles smiled smiling',
  'plan plans planned planning',
  'story stories',
  'city cities',
  'box boxes',
  'glass glasses',
  'puppet puppets',
  'present presents presenter presenters presenting',
  'robot robots robotic',
  'graph graphs graphic graphics',
  'pour pours poured pouring',
  'type types typed typing',
  'carry carries carried',
])('%s have one stem, and begin with it', (words) => {
  const forms = words.split(' ')
  expect(new Set(forms.map(stemOf)).size, forms.map(stemOf).join(' ')).toBe(1)
  for (const form of forms) expect(form.startsWith(beginningOf(stemOf(form)))).toBe(true)
})

test.each([
  'flow flower',
  'corn corner',
  'store story',
  'new news',
  'spring string',
  'speed spe',
  'king kings singing',
  'organ organisation',
  'bus bu',
  'this thi',
])('%s have different stems', (words) => {
  const forms = words.split(' ').filter((word) => word.length > 0)
  expect(new Set(forms.map(stemOf)).size, forms.map(stemOf).join(' ')).toBeGreaterThan(1)
})

test('what is no English word stays as it is', () => {
  for (const word of ['ui', '4k', 'b2b', '暗い', 'café', 'größe', 'css']) expect(stemOf(word)).toBe(word)
})
