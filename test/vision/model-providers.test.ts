import { expect, test } from 'vitest'
import type { AnnotatorCall } from '../../src/vision/annotator.ts'
import { noiseFrame } from '../support/fake-vision-endpoint.ts'
import { limitOf, start, toFrames } from './model-run.ts'

/*
 * Answers in the forms that providers publish, where they differ from OpenAI's chat completions.
 */

// biome-ignore lint/suspicious/noExplicitAny: requests are read field by field
type Body = Record<string, any>

/** The names of the frames that a request asks about. */
const namesOf = ({ messages }: Body): string[] =>
  messages.at(-1).content.flatMap(({ text }: { text?: string }) => /^(f\d+):$/.exec(text ?? '')?.[1] ?? [])

const answerTo = (body: Body, subject = 'ui') =>
  JSON.stringify({ frames: namesOf(body).map((frame) => ({ frame, subject })) })

const completion = (content: unknown, over: object = {}) => ({
  status: 200,
  body: {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    ...over,
  },
})

test('a schema that is taken and ignored (Anthropic’s layer) costs nothing: the form stands in words too', async () => {
  const replace = async (body: Body) =>
    completion(
      body.messages[0].content.includes('Answer with one JSON object')
        ? `Sure.\n${answerTo(body)}`
        : 'A settings page.',
    )
  await using run = await start({ replace }, { batchSize: 1, limiter: limitOf(1) })
  const { annotations, calls } = await run.annotate(await toFrames(5))
  expect(annotations.map(({ values }) => values.subject?.value)).toEqual(Array(5).fill('ui'))
  expect(calls).toHaveLength(5)
})

test('one useless answer among good ones does not loosen the form', async () => {
  let asked = 0
  const modes = new Set<string>()
  const replace = async (body: Body) => {
    modes.add(body.response_format?.type)
    return completion(++asked % 3 === 0 ? 'No.' : answerTo(body))
  }
  await using run = await start({ replace }, { batchSize: 1, limiter: limitOf(1) })
  await run.annotate(await toFrames(9))
  expect(asked).toBeGreaterThan(9)
  expect([...modes]).toEqual(['json_schema'])
})

test.each([
  [429, 'rate_limited'],
  [402, 'budget_spent'],
  [401, 'misconfigured'],
])('an error of status %i inside an answer of status 200 (OpenRouter) is %s', async (code, expected) => {
  const replace = async () => ({ status: 200, body: { error: { code, message: 'Provider returned error' } } })
  await using run = await start({ replace })
  await expect(run.annotate([await noiseFrame(1)])).rejects.toMatchObject({ code: expected })
})

test('a provider that breaks off behind OpenRouter (an error in the choice) is asked again', async () => {
  let asked = 0
  const replace = async (body: Body) =>
    asked++ === 0
      ? completion('', { choices: [{ error: { code: 502, message: 'overloaded' }, message: { content: '' } }] })
      : completion(answerTo(body))
  await using run = await start({ replace })
  const { annotations } = await run.annotate([await noiseFrame(1)])
  expect(annotations[0]?.status).toBe('annotated')
  expect(asked).toBe(2)
})

test('a picture that moderation flags (403 with reasons) is refused alone; the key is not blamed', async () => {
  const error = { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'] } }
  const replace = async (body: Body) =>
    namesOf(body).length > 1 ? { status: 403, body: { error } } : completion(answerTo(body))
  await using run = await start({ replace }, { limiter: limitOf(1) })
  const { annotations } = await run.annotate(await toFrames(2))
  // As a whole it is flagged, and each frame alone is not.
  expect(annotations.map(({ status }) => status)).toEqual(['annotated', 'annotated'])
  await using strict = await start({ replace: async () => ({ status: 403, body: { error } }) })
  expect((await strict.annotate([await noiseFrame(1)])).annotations[0]?.status).toBe('refused')
})

test('an answer in parts (Mistral), and one after its reasoning (vLLM, Ollama), are read', async () => {
  const thought = '<think>Maybe {"frames":[{"frame":"f1","subject":"logo"}]} fits.</think>\n'
  const forms = [
    (text: string) => [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text },
    ],
    (text: string) => thought + text,
  ]
  for (const form of forms) {
    await using run = await start({ replace: async (body) => completion(form(answerTo(body))) })
    const { annotations } = await run.annotate([await noiseFrame(1)])
    expect(annotations[0]).toMatchObject({ status: 'annotated', values: { subject: { value: 'ui' } }, issues: [] })
  }
})

test('thinking that only the total counts (Gemini) is paid as output', async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1600 }
  const told: AnnotatorCall[] = []
  await using run = await start(
    { replace: async (body) => completion(answerTo(body), { usage }) },
    { price: { input: 1, output: 10 } },
  )
  await run.annotate([await noiseFrame(1)], { onCall: async (call) => void told.push(call) })
  expect(told[0]).toMatchObject({ inputTokens: 1000, outputTokens: 600 })
  expect(told[0]?.costUsd).toBeCloseTo((1000 + 600 * 10) / 1e6, 9)
})
