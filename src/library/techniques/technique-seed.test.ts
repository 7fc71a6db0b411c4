import { expect, test } from 'vitest'
import { TECHNIQUE_SEED } from './technique-seed.ts'

test('every term is described, and no slug or alias stands for two', () => {
  expect(TECHNIQUE_SEED.length).toBeGreaterThanOrEqual(45)
  const names = TECHNIQUE_SEED.flatMap(({ slug, aliases }) => [slug, ...aliases])
  expect(new Set(names).size).toBe(names.length)
  for (const term of TECHNIQUE_SEED) {
    expect(term.slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    for (const text of [term.name, term.description, term.recognise]) expect(text.length).toBeGreaterThan(3)
  }
})
