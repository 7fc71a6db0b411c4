import { expect, test } from 'vitest'
import type { AnnotateOptions, Annotator, FrameAnnotation, FrameToAnnotate } from './annotator.ts'
import { AnnotatorUnavailable } from './annotator.ts'
import { composeAnnotators, joinAnnotations } from './compose.ts'

const measured: FrameAnnotation = {
  frameId: 'a',
  status: 'annotated',
  values: {
    subject: { value: 'terminal', source: 'rule', confidence: 0.9 },
    shot: { value: 'no-face', source: 'measured', confidence: 0.9 },
    caption: { value: 'Dark terminal', source: 'measured', confidence: null },
    steal: { value: null, source: 'measured', confidence: null, reason: 'needs a model' },
  },
  measures: { faces: 0, emptyShare: 0.7, ink: null, ground: null },
  issues: [],
}
const model: FrameAnnotation = {
  frameId: 'a',
  status: 'annotated',
  values: {
    subject: { value: 'ui', source: 'model', confidence: 0.4 },
    shot: { value: null, source: 'model', confidence: null, reason: 'could not tell' },
    caption: { value: 'A commit in a terminal', source: 'model', confidence: 0.9 },
    steal: { value: null, source: 'model', confidence: null, reason: 'could not tell' },
  },
  issues: [{ code: 'repaired', message: '' }],
}

const frame = { id: 'a', imageSha256: 'x' } as FrameToAnnotate
const video = { id: 'v', title: '', author: null, durationSec: 1 }

function stub(
  name: string,
  annotate: (frames: readonly FrameToAnnotate[], options: AnnotateOptions) => Promise<FrameAnnotation[]>,
): Annotator {
  return {
    version: name,
    model: name,
    batchSize: 4,
    annotate: async (_, frames, options) => ({ annotations: await annotate(frames, options), calls: [] }),
    [Symbol.asyncDispose]: async () => {},
  }
}

test('the better source wins, and nothing known loses to nothing', () => {
  const joined = joinAnnotations(measured, model)
  expect(joined.values.subject).toMatchObject({ value: 'ui', source: 'model' })
  expect(joined.values.shot).toMatchObject({ value: 'no-face', source: 'measured' })
  expect(joined.values.caption).toMatchObject({ value: 'A commit in a terminal' })
  expect(joined.values.steal).toMatchObject({ value: null, source: 'model' })
  expect(joined.issues).toHaveLength(1)
  expect(joined.measures).toEqual(measured.measures)
})

test('a frame that the model refuses keeps its measured facts and the refusal', () => {
  const joined = joinAnnotations(measured, { frameId: 'a', status: 'refused', reason: 'no', values: {}, issues: [] })
  expect(joined).toMatchObject({
    status: 'refused',
    reason: 'no',
    values: { subject: { value: 'terminal' }, caption: { value: 'Dark terminal' } },
  })
})

test('a frame put off by the endpoint is not measured again', async () => {
  let measurings = 0
  let asked = 0
  const composed = composeAnnotators(
    stub('measured', async (frames) => {
      measurings += frames.length
      return frames.map(() => measured)
    }),
    stub('model', async (_, options) => {
      if (asked++ === 0) throw new AnnotatorUnavailable('rate_limited', 'wait', 1)
      await options.onAnnotated?.(model)
      return [model]
    }),
  )
  const options = { signal: new AbortController().signal, techniques: [] }
  await expect(composed.annotate(video, [frame], options)).rejects.toThrow('wait')
  const handed: FrameAnnotation[] = []
  const run = await composed.annotate(video, [frame], {
    ...options,
    onAnnotated: async (annotation) => void handed.push(annotation),
  })
  expect(measurings).toBe(1)
  expect(run.annotations[0]?.values.shot?.value).toBe('no-face')
  expect(handed).toEqual(run.annotations)
  expect(composed.version).toBe('measured+model')
})
