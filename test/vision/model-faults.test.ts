import { expect, test, vi } from 'vitest'
import type { FrameAnnotation } from '../../src/vision/annotator.ts'
import { type FakeVisionOptions, noiseFrame } from '../support/fake-vision-endpoint.ts'
import { geminiError, inTurn, limitOf, start, toFrames } from './model-run.ts'

test('one frame that the model refuses is found among eight and kept as refused', async () => {
  const frames = await toFrames(8)
  await using run = await start()
  await run.annotate(frames)
  const bad = run.endpoint.calls[0]!.images[5]!
  await using strict = await start({ describe: (_, image) => (image === bad ? { refusal: 'a private document' } : {}) })
  const { annotations } = await strict.annotate(frames)
  expect(annotations.map(({ status }) => status)).toEqual([
    ...Array(5).fill('annotated'),
    'refused',
    'annotated',
    'annotated',
  ])
  expect(annotations[5]).toMatchObject({ reason: 'a private document', values: {} })
  expect(strict.endpoint.calls).toHaveLength(1)
})

test('a call refused as a whole is halved until the cause stands alone, and is not asked again', async () => {
  await using run = await start({ plan: inTurn('content-filter', 'refusal', 'content-filter', 'well', 'well') })
  const { annotations } = await run.annotate(await toFrames(4))
  expect(run.endpoint.calls.map(({ names }) => names.length)).toEqual([4, 2, 1, 1, 2])
  expect(annotations.map(({ status }) => status)).toEqual(['refused', 'annotated', 'annotated', 'annotated'])
})

test('Retry-After stops everything after what is paid for was handed over, and the delay is told', async () => {
  const options = { batchSize: 4, limiter: limitOf(1) }
  await using run = await start({ plan: inTurn('well', 'rate-limited'), retryAfterMs: 61_234 }, options)
  const handed: string[] = []
  const frames = await toFrames(12)
  const running = run.annotate(frames, { onAnnotated: async ({ frameId }) => void handed.push(frameId) })
  await expect(running).rejects.toMatchObject({ name: 'AnnotatorUnavailable', code: 'rate_limited' })
  // Batches are prepared in parallel, and any of them may ask first.
  const first = Number(handed[0]!.slice('frame-'.length))
  expect(first % 4).toBe(0)
  expect(handed).toEqual([0, 1, 2, 3].map((n) => `frame-${first + n}`))
  expect(run.endpoint.calls).toHaveLength(2)
  await expect(run.annotate(frames)).rejects.toMatchObject({ code: 'rate_limited' })
  expect(run.endpoint.calls).toHaveLength(2)

  await using alone = await start({ plan: () => 'rate-limited', retryAfterMs: 61_234 })
  await expect(alone.annotate(frames.slice(0, 1))).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 61_234 })
})

test.each<[told: string, by: string, fake: FakeVisionOptions]>([
  ['misconfigured', 'a refused key', { plan: () => 'wrong-key' }],
  ['misconfigured', 'a model that is not there', { plan: () => 'no-model' }],
  ['misconfigured', 'Gemini', { replace: async () => geminiError('API key not valid. Please pass a valid API key.') }],
  ['budget_spent', 'Anthropic', { replace: async () => geminiError('Your credit balance is too low') }],
  ['budget_spent', '402', { replace: async () => ({ status: 402, body: { error: { message: 'No credits' } } }) }],
])('%s is told once and nobody asks again: %s', async (code, _, { plan, replace }) => {
  let asked = 0
  const counted: FakeVisionOptions['replace'] = async (body) => {
    asked++
    return replace?.(body)
  }
  await using run = await start({ plan, replace: counted }, { batchSize: 1, limiter: limitOf(1) })
  for (let i = 0; i < 5; i++) await expect(run.annotate(await toFrames(20))).rejects.toMatchObject({ code })
  expect(asked).toBe(1)
})

test(
  'an endpoint that takes no question at all, such as a model without eyes, ' + 'stops the rest after a few',
  async () => {
    await using run = await start({ plan: () => 'rejected' }, { limiter: limitOf(1) })
    const failed: string[] = []
    const running = run.annotate(await toFrames(80), { onAnnotated: async ({ frameId }) => void failed.push(frameId) })
    await expect(running).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('invalid image'),
    })
    expect(failed.length).toBeLessThan(32)
    expect(run.endpoint.calls.length).toBeLessThan(80)
  },
)

test(
  'an endpoint that takes only a few frames at once is asked about fewer, ' + 'by however many calls side by side',
  async () => {
    const fewOnly: FakeVisionOptions['replace'] = async ({ messages }) =>
      messages.at(-1).content.filter(({ type }: { type: string }) => type === 'image_url').length <= 2
        ? undefined
        : { status: 400, body: { error: { message: 'the request exceeds the context size' } } }
    await using run = await start({ replace: fewOnly }, { limiter: limitOf(64) })
    const { annotations } = await run.annotate(await toFrames(400))
    expect(annotations.every(({ status }) => status === 'annotated')).toBe(true)
  },
)

test('a few frames that are rejected fail alone, however many they are over time', async () => {
  const frames = await toFrames(40)
  await using probe = await start({}, { batchSize: 1, limiter: limitOf(1) })
  await probe.annotate(frames)
  const bad = new Set(probe.endpoint.calls.filter((_, n) => n % 4 !== 0).map(({ images }) => images[0]))
  await using run = await start(
    {
      replace: async ({ messages }) => {
        const images = messages
          .at(-1)
          .content.flatMap((part: { image_url?: { url: string } }) => part.image_url?.url ?? [])
        return images.some((image: string) => bad.has(image))
          ? { status: 400, body: { error: { message: 'invalid image' } } }
          : undefined
      },
    },
    { limiter: limitOf(1) },
  )
  const { annotations } = await run.annotate(frames)
  expect(annotations.filter(({ status }) => status === 'annotated')).toHaveLength(10)
})

test('the breaker opens after failures in a row and lets one call of several through after its time', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  let isBroken = true
  try {
    await using run = await start(
      { plan: () => (isBroken ? 'server-error' : 'well') },
      { batchSize: 1, breakerThreshold: 3, breakerCoolDownMs: 60_000, maxAttempts: 10 },
    )
    const frames = await toFrames(3)
    const refused = () =>
      expect(run.annotate(frames)).rejects.toMatchObject({ code: 'breaker_open', retryAfterMs: 60_000 })
    await refused()
    const { length } = run.endpoint.calls
    await refused()
    expect(run.endpoint.calls).toHaveLength(length)
    vi.setSystemTime(Date.now() + 60_001)
    await refused()
    expect(run.endpoint.calls).toHaveLength(length + 1)
    vi.setSystemTime(Date.now() + 60_001)
    isBroken = false
    expect(await run.annotate(frames.slice(0, 1))).toMatchObject({ annotations: [{ status: 'annotated' }] })
    expect(run.endpoint.calls).toHaveLength(length + 2)
  } finally {
    vi.useRealTimers()
  }
})

test('a dropped connection, an endless and a huge body end by themselves and the frame is annotated', async () => {
  await using run = await start(
    { plan: inTurn('drop', 'endless-body', 'huge-body') },
    { timeoutMs: 60_000, maxBytes: 200_000, maxAttempts: 6 },
  )
  const { annotations } = await run.annotate([await noiseFrame(1)])
  expect(annotations[0]?.status).toBe('annotated')
  expect(run.endpoint.calls).toHaveLength(4)
})

test('an endpoint that is not there is waited for: no frame fails for it', async () => {
  const run = await start()
  const frames = await toFrames(2)
  expect((await run.annotate(frames.slice(0, 1))).annotations[0]?.status).toBe('annotated')
  await run[Symbol.asyncDispose]()
  const told: FrameAnnotation[] = []
  const running = run.annotate(frames.slice(1), { onAnnotated: async (annotation) => void told.push(annotation) })
  await expect(running).rejects.toMatchObject({
    name: 'AnnotatorUnavailable',
    code: 'unreachable',
    message: expect.stringMatching(/ECONNREFUSED/),
  })
  expect(told).toEqual([])
})

test('a hang ends at the time-out and counts as a fault', async () => {
  await using run = await start({ plan: () => 'hang' }, { timeoutMs: 100, maxAttempts: 2 })
  const { annotations, calls } = await run.annotate([await noiseFrame(1)])
  expect(annotations[0]).toMatchObject({ status: 'failed', reason: 'no answer in time' })
  expect(calls.map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
})

test('a frame that nothing helps fails with its reason', async () => {
  await using run = await start({ plan: () => 'garbage' }, { maxAttempts: 3 })
  const { annotations } = await run.annotate([await noiseFrame(1)])
  expect(annotations[0]).toMatchObject({
    status: 'failed',
    reason: 'the answer was not valid JSON in the requested form',
    values: {},
  })
  expect(run.endpoint.calls).toHaveLength(3)
})

test('a broken picture fails alone and is never sent', async () => {
  await using run = await start()
  const { annotations } = await run.annotate([
    await noiseFrame(1),
    await noiseFrame(2, { image: Buffer.from('<svg') }),
    await noiseFrame(3),
  ])
  expect(annotations.map(({ status }) => status)).toEqual(['annotated', 'failed', 'annotated'])
  expect(run.endpoint.calls[0]?.images).toHaveLength(2)
})
