import { expect, test } from 'vitest'
import { parseAnswer, toAnnotation } from './answer.ts'

const frame = (name: string) => `{"frame":"${name}","caption":"a } brace and a \\" quote","confidence":{"caption":0.5}}`
const names = (text: string) => parseAnswer(text).frames.map((each) => each.frame)

test('JSON in a code fence or in prose is found', () => {
  expect(names(`Here you are:\n\`\`\`json\n{"frames":[${frame('f1')},${frame('f2')}]}\n\`\`\` Enjoy!`)).toEqual([
    'f1',
    'f2',
  ])
  expect(names(`[${frame('f1')}]`)).toEqual(['f1'])
})

test('an object that only stands inside a text is not an answer', () => {
  expect(names(`{"frames":[{"frame":"f1","caption":${JSON.stringify(`see ${frame('f2')}`)}},`)).toEqual(['f1'])
})

test.each([
  '',
  'no',
  '{',
  '{}',
  '[]',
  'null',
  '{"frames":{}}',
  '{"frames":[1,null,{"frame":7}]}',
  '}{',
  '{'.repeat(100_000),
])('%.20s… holds no frames', (text) => {
  expect(names(text)).toEqual([])
})

test('values are taken in any case, words for nothing are null, percent is a share', () => {
  const { values } = toAnnotation(
    'a',
    { frame: 'f1', subject: ' UI ', zone: 'N/A', shot: 'no-face', confidence: { subject: 85, shot: 'high' } },
    [],
  )
  expect(values.subject).toEqual({ value: 'ui', source: 'model', confidence: 0.85 })
  expect(values.zone).toMatchObject({ value: null })
  expect(values.shot).toMatchObject({ value: 'no-face', confidence: null })
})

test('"None" is nobody’s text and no technique to review, but a zone', () => {
  const said = {
    frame: 'f1',
    zone: 'none',
    technique: 'None',
    suggested_technique: 'none',
    on_screen_text: 'None.',
    caption: 'Nonetheless',
  }
  const { values, suggestedTechnique, issues } = toAnnotation('a', said, [])
  expect(values).toMatchObject({ zone: { value: 'none' }, technique: { value: null }, on_screen_text: { value: null } })
  expect(values.caption?.value).toBe('Nonetheless')
  expect(suggestedTechnique).toBeUndefined()
  expect(issues).toEqual([])
})
