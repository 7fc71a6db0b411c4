import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NOT_READ } from '../../vision/annotator.ts'
import { ANNOTATED, SOURCES } from '../../vocabulary.ts'
import { OUT_OF_LIST, resolveValues, type ValueCandidate } from './provenance.ts'

const annotatorSources = SOURCES.filter((source) => source !== 'person')
const value = fc.record({
  value: fc.option(fc.constantFrom('ui', 'terminal', 'chart'), { nil: null }),
  source: fc.constantFrom(...annotatorSources),
  confidence: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
})
const candidate: fc.Arbitrary<ValueCandidate> = fc.record({
  annotator: fc.constantFrom('a@1', 'b@1', 'b@2', 'c@9'),
  at: fc.integer({ min: 0, max: 5 }).map((ms) => new Date(ms)),
  values: fc.record({ subject: value, caption: value }, { requiredKeys: [] }),
})
// The table holds one answer per annotator.
const candidates = fc.uniqueArray(candidate, { selector: ({ annotator }) => annotator, maxLength: 4 })

test('the order in which answers are read does not matter', () => {
  fc.assert(
    fc.property(candidates, fc.infiniteStream(fc.nat()), (list, keys) => {
      const shuffled = list.map((entry) => ({ entry, key: keys.next().value as number })).sort((a, b) => a.key - b.key)
      expect(
        resolveValues(
          shuffled.map(({ entry }) => entry),
          {},
        ),
      ).toEqual(resolveValues(list, {}))
    }),
  )
})

test('an answer from a weaker source never changes a value that a better one gave', () => {
  fc.assert(
    fc.property(candidates, candidate, (list, late) => {
      const before = resolveValues(list, {}).subject
      fc.pre(before.value !== null && late.values.subject !== undefined)
      fc.pre(!list.some(({ annotator }) => annotator === late.annotator))
      fc.pre(SOURCES.indexOf(late.values.subject!.source) < SOURCES.indexOf(before.provenance!.source))
      expect(resolveValues([...list, late], {}).subject).toEqual(before)
    }),
    { numRuns: 300 },
  )
})

test('what wins was offered by somebody, under that name and source, and a value beats none', () => {
  fc.assert(
    fc.property(candidates, (list) => {
      const { value: won, provenance } = resolveValues(list, {}).subject
      const offers = list.filter(({ values }) => values.subject !== undefined)
      if (offers.length === 0) {
        expect([won, provenance]).toEqual([null, null])
        return
      }
      const offer = offers.find(({ annotator }) => annotator === provenance!.by)!
      expect(offer.values.subject).toMatchObject({
        value: won,
        source: provenance!.source,
        confidence: provenance!.confidence,
      })
      // Null wins only if no source's last word is a value.
      if (won === null) {
        for (const source of annotatorSources) {
          const last = offers
            .filter(({ values }) => values.subject!.source === source)
            .sort((a, b) => a.at.getTime() - b.at.getTime() || (a.annotator < b.annotator ? -1 : 1))
            .at(-1)
          expect(last?.values.subject?.value ?? null).toBeNull()
        }
      }
    }),
  )
})

test('what a person fixed stays, whoever answers', () => {
  const locked = {
    subject: {
      value: 'logo',
      provenance: { source: 'person' as const, confidence: 1, by: 'person:x', at: '2026-01-01T00:00:00Z' },
    },
  }
  fc.assert(
    fc.property(candidates, (list) => {
      const resolved = resolveValues(list, locked)
      expect(resolved.subject).toEqual(locked.subject)
      expect(resolved.caption).toEqual(resolveValues(list, {}).caption)
      expect(Object.keys(resolved).sort()).toEqual([...ANNOTATED].sort())
    }),
  )
})

const at = (annotator: string, ms: number, subject: ValueCandidate['values']['subject']): ValueCandidate => ({
  annotator,
  at: new Date(ms),
  values: { subject: subject! },
})

test('a newer answer of the same source takes an older value back; one that was thrown out does not', () => {
  const old = at('m@1', 1, { value: 'ui', source: 'model', confidence: 0.9 })
  const nothing = at('m@2', 2, { value: null, source: 'model', confidence: 0.9, reason: 'not visible' })
  const broken = at('m@3', 3, { value: null, source: 'model', confidence: 0.9, reason: OUT_OF_LIST })
  const rule = at('r@1', 1, { value: 'terminal', source: 'rule', confidence: 0.9 })
  expect(resolveValues([old, nothing], {}).subject.value).toBeNull()
  expect(resolveValues([old, broken], {}).subject.value).toBe('ui')
  expect(resolveValues([old, nothing, rule], {}).subject.value).toBe('terminal')
  expect(resolveValues([old, rule], {}).subject.value).toBe('ui')
})

test('no annotator can pass for a person', () => {
  const forged = at('evil@1', 9, { value: 'logo', source: 'person', confidence: 1 })
  expect(resolveValues([forged], {}).subject).toEqual({ value: null, provenance: null })
})

test('the text of a note counts only where a reading of the picture does not contradict it', () => {
  const text = (annotator: string, source: 'ocr' | 'notes', value: string | null, reason?: string): ValueCandidate => ({
    annotator,
    at: new Date(1),
    values: { on_screen_text: { value, source, confidence: null, ...(reason ? { reason } : {}) } },
  })
  const shown = (reading?: ValueCandidate) => {
    const note = text('notes:a', 'notes', 'Open a new browser')
    return resolveValues(reading ? [note, reading] : [note], {}).on_screen_text.value
  }
  expect(shown()).toBe('Open a new browser')
  expect(shown(text('m', 'ocr', 'pen a new'))).toBe('Open a new browser')
  expect(shown(text('m', 'ocr', null, `${NOT_READ}: it took too long`))).toBe('Open a new browser')
  expect(shown(text('m', 'ocr', null, 'no readable text'))).toBeNull()
  expect(shown(text('m', 'ocr', 'Chrome'))).toBe('Chrome')
  expect(shown(text('m', 'ocr', 'Open a new browser window'))).toBe('Open a new browser window')
})
