import { expect, test } from 'vitest'
import { VISION_NAMES, type VisionServer } from '../../src/config.ts'
import { TECHNIQUE_SEED } from '../../src/library/techniques/technique-seed.ts'
import { writeSystemPrompt } from '../../src/vision/model/prompt.ts'
import { tokensOfInstructions } from '../../src/vision/model/window.ts'
import { ATTRIBUTES, CHOSEN, isListed } from '../../src/vocabulary.ts'
import type { FakeVisionOptions } from '../support/fake-vision-endpoint.ts'
import { inTurn, limitOf, start, toFrames } from './model-run.ts'

/* The servers of VISION, each in its own way of speaking, and each way in which they are known to fail. */

const open = (server: VisionServer, fake: FakeVisionOptions = {}, options = {}) =>
  start({ server, ...fake }, { server, limiter: limitOf(1), ...options })

const refuseFormat: FakeVisionOptions['replace'] = async ({ response_format }) =>
  response_format && { status: 422, body: { detail: [{ loc: ['body', 'response_format'], msg: 'Extra inputs' }] } }

test.each(VISION_NAMES)('%s is asked in its own way, and every frame is described', async (server) => {
  await using run = await open(server)
  const { annotations, calls } = await run.annotate(await toFrames(8))
  expect(annotations.map(({ status, issues }) => [status, issues])).toEqual(Array(8).fill(['annotated', []]))
  expect(calls.every(({ inputTokens, outputTokens }) => inputTokens! > 0 && outputTokens! > 0)).toBe(true)
  // Local servers take no WebP.
  for (const image of run.endpoint.paid.keys()) expect(image).toMatch(/^(data:image\/jpeg;base64,)?\/9j\//)
})

/** What a call of each holds beside the usual: the schema where it belongs, thinking off, the window. */
test.each<[VisionServer, object]>([
  [
    'ollama',
    { think: false, stream: false, format: { type: 'object' }, options: { num_ctx: 8192, num_predict: 1400 } },
  ],
  ['llamacpp', { chat_template_kwargs: { enable_thinking: false }, response_format: { type: 'json_schema' } }],
  ['vllm', { chat_template_kwargs: { enable_thinking: false }, response_format: { type: 'json_schema' } }],
  ['lmstudio', { response_format: { type: 'json_schema' } }],
  ['openai', { response_format: { type: 'json_schema', json_schema: { strict: true } } }],
  ['gemini', { response_format: { type: 'json_schema' }, reasoning_effort: 'none' }],
  ['anthropic', { output_config: { format: { type: 'json_schema' } } }],
  ['openrouter', { reasoning: { enabled: false } }],
])('%s gets %o', async (server, held) => {
  await using run = await open(server)
  await run.annotate(await toFrames(2))
  expect(run.endpoint.calls[0]?.body).toMatchObject(held)
})

test.each<[what: string, server: VisionServer, fake: FakeVisionOptions, calls: number]>([
  ['a schema that is ignored: a fence and a sentence around the JSON', 'ollama', { plan: () => 'fenced' }, 1],
  ['the JSON among the thoughts, the content empty', 'vllm', { plan: () => 'in-thoughts' }, 1],
  ['the JSON among the thoughts, the content empty', 'ollama', { plan: () => 'in-thoughts' }, 1],
  ['a frame among the thoughts, which are cut off', 'vllm', { plan: inTurn('cut-in-thoughts') }, 2],
  ['a member that is refused in a list of details', 'compatible', { replace: refuseFormat }, 1],
  [
    'spaces without end: what is whole is kept, the rest is asked for alone',
    'vllm',
    { plan: () => 'endless-space' },
    2,
  ],
  ['the model is loaded with the first call', 'ollama', { delayMs: 300 }, 1],
  ['a server that knows no switch for thinking', 'llamacpp', { refuses: ['chat_template_kwargs'] }, 1],
  ['a model that takes no effort of reasoning', 'openai', { refuses: ['reasoning_effort'] }, 1],
  ['a server that takes no schema', 'lmstudio', { takes: ['text'] }, 1],
])('%s (%s): every frame is described', async (_, server, fake, calls) => {
  await using run = await open(server, fake, { maxAttempts: 2 })
  const { annotations } = await run.annotate(await toFrames(2))
  expect(annotations.map(({ status }) => status)).toEqual(['annotated', 'annotated'])
  expect(run.endpoint.calls).toHaveLength(calls)
})

test('one frame that is left out of eight is asked for alone, and the seven are kept', async () => {
  const fewer = (call: number) => (call === 0 ? 'missing-frames' : 'well')
  await using run = await open('vllm', { plan: fewer })
  const { annotations } = await run.annotate(await toFrames(8))
  expect(annotations.every(({ status }) => status === 'annotated')).toBe(true)
  expect([...run.endpoint.paid.values()]).toEqual(Array(8).fill(1))
})

test.each<[what: string, server: VisionServer, fake: FakeVisionOptions, message: RegExp]>([
  ['no model', 'ollama', { state: { isMissing: true } }, /has no model m\. Run ollama pull m\.$/],
  ['no model', 'vllm', { state: { isMissing: true } }, /Run vllm serve m, or/],
  ['no model', 'lmstudio', { state: { isMissing: true } }, /Run lms get m, or/],
  ['no model', 'openai', { state: { isMissing: true } }, /has no model m\. Check VISION_MODEL and VISION_BASE_URL\.$/],
  ['no model', 'gemini', { state: { isMissing: true } }, /Check VISION_MODEL/],
  ['no model', 'anthropic', { state: { isMissing: true } }, /Check VISION_MODEL/],
  ['no model', 'openrouter', { state: { isMissing: true } }, /Check VISION_MODEL/],
  ['a model without eyes', 'ollama', { state: { isBlind: true } }, /takes no pictures\. Set VISION_MODEL/],
  [
    'a model without eyes',
    'llamacpp',
    { state: { isBlind: true } },
    /takes no pictures\. Run llama-server with --mmproj/,
  ],
  ['a model without eyes', 'lmstudio', { state: { isBlind: true } }, /takes no pictures\. Set VISION_MODEL/],
  ['a model without eyes', 'openrouter', { state: { isBlind: true } }, /takes no pictures\. Set VISION_MODEL/],
  [
    'a small window',
    'llamacpp',
    { state: { window: 2_048 } },
    /\(2048 tokens\): one frame needs 38\d\d tokens\. .*--ctx-size 4096/,
  ],
  ['a small window', 'vllm', { state: { window: 2_048 } }, /2048 tokens.*--max-model-len 4096\.$/],
  ['a small window', 'lmstudio', { state: { window: 2_048 } }, /2048 tokens.*lms load m --context-length 4096\.$/],
  [
    'a page',
    'llamacpp',
    { state: { page: '<!doctype html>' } },
    /^http:\S+ answers with a page, not .* VISION_BASE_URL\.$/,
  ],
])('%s of %s is told before the first frame is paid for', async (_, server, fake, message) => {
  await using run = await open(server, fake)
  const frames = await toFrames(2)
  await expect(run.annotate(frames)).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(message),
  })
  expect(run.endpoint.calls).toEqual([])
})

test('a projector that is missing (500, from a llama.cpp that does not tell) is no outage', async () => {
  await using run = await open('llamacpp', { state: { isBlind: true, tellsLittle: true } })
  await expect(run.annotate(await toFrames(1))).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(/takes no pictures \(HTTP 500: .*\)\. Run llama-server with --mmproj/),
  })
})

test('an address that answers with a page is named, for a server without a profile too', async () => {
  await using run = await start({ state: { page: '<html>' } })
  await expect(run.annotate(await toFrames(1))).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(/^http:\S+ answers with a page, not .* VISION_BASE_URL\.$/),
  })
})

test('a window of 4096 tokens that ends answers in silence is noticed, and calls become smaller', async () => {
  await using run = await start({ state: { window: 4_096 } }, { limiter: limitOf(1) })
  const { annotations } = await run.annotate(await toFrames(8))
  expect(annotations.every(({ status }) => status === 'annotated')).toBe(true)
  const sizes = run.endpoint.calls.map(({ names }) => names.length)
  expect(sizes[0]).toBe(8)
  expect(Math.max(...sizes.slice(1))).toBeLessThan(4)
})

test('a window that was set and cannot hold a frame is refused, for a server without a profile too', async () => {
  await using run = await start({}, { window: 2_048 })
  await expect(run.annotate(await toFrames(1))).rejects.toMatchObject({
    message: expect.stringMatching(/\(2048 tokens\): one frame needs \d+ tokens\./),
  })
  expect(run.endpoint.calls).toEqual([])
})

test('a window that ends the answer about a single frame is told with the numbers and the setting', async () => {
  await using run = await start({ state: { window: 2_560 } }, { limiter: limitOf(1) })
  await expect(run.annotate(await toFrames(1))).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(/ends at 2560 tokens in all.*needs \d+ tokens\. .*OLLAMA_CONTEXT_LENGTH=3072/),
  })
})

test('frames a call follow from the window, and a window that was set goes before the one that is told', async () => {
  const frames = await toFrames(8)
  const sizesOf = async (fake: FakeVisionOptions, options = {}) => {
    await using run = await open('vllm', fake, options)
    await run.annotate(frames)
    return run.endpoint.calls.map(({ names }) => names.length)
  }
  expect(await sizesOf({})).toEqual([8])
  expect(await sizesOf({ state: { window: 4_096 } })).toEqual([3, 3, 2])
  expect(await sizesOf({ state: { window: 5_000 } })).toEqual([4, 4])
  expect(await sizesOf({}, { window: 4_096 })).toEqual([3, 3, 2])
  expect(await sizesOf({}, { batchSize: 2 })).toEqual([2, 2, 2, 2])
})

test('the instructions name every value, are short, and have half a line for a technique', () => {
  const prompt = writeSystemPrompt(TECHNIQUE_SEED)
  for (const attribute of CHOSEN.filter(isListed))
    for (const value of ATTRIBUTES[attribute].values) expect(prompt).toMatch(new RegExp(`[ :]${value}[:.,]`))
  expect(tokensOfInstructions(TECHNIQUE_SEED)).toBeLessThan(1_900)
  for (const { slug } of TECHNIQUE_SEED) expect(prompt).toMatch(new RegExp(`^- ${slug}: .{10,72}$`, 'm'))
})
