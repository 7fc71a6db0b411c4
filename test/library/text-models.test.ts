import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { EmbedderUnavailable, TextRefused } from '../../src/meaning/embedder.ts'
import { openTextEndpoint } from '../../src/meaning/endpoint.ts'
import { openEmbedder } from '../../src/meaning/open-embedder.ts'
import { nearness } from '../../src/search/vectors.ts'

/* Where texts get their vectors from: the embedded model, or an endpoint that may answer anything. */

const signal = AbortSignal.timeout(120_000)
const config = { source: 'endpoint', baseUrl: 'http://text.test/v1', model: 'm', dimensions: 3 } as const

function endpoint(answer: () => Response | Promise<Response>) {
  const asked: { url: string; body: Record<string, unknown>; headers: Headers }[] = []
  const fetch = async (url: unknown, init?: RequestInit) => {
    asked.push({ url: String(url), body: JSON.parse(String(init?.body)), headers: new Headers(init?.headers) })
    return Promise.race([
      answer(),
      new Promise<never>((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal!.reason))),
    ])
  }
  const model = openTextEndpoint(
    { ...config, apiKey: 'secret', price: 2, budgetPerDay: undefined },
    { fetch, timeoutMs: 300 },
  )
  return { model, asked }
}

const vectors = (...list: unknown[]) =>
  Response.json({ data: list.map((embedding, index) => ({ index, embedding })), usage: { prompt_tokens: 7 } })

test('an endpoint is asked for floats, and its vectors come in the order of the texts', async () => {
  const reversed = {
    data: [
      { index: 1, embedding: [0, 1, 0] },
      { index: 0, embedding: [1, 0, 0] },
    ],
  }
  const { model, asked } = endpoint(() => Response.json(reversed))
  const made = await model.embed(['a', 'b'], signal)
  expect(made).toEqual({ vectors: [Float32Array.of(1, 0, 0), Float32Array.of(0, 1, 0)], tokens: null })
  expect(asked[0]).toMatchObject({
    url: 'http://text.test/v1/embeddings',
    body: { model: 'm', input: ['a', 'b'], encoding_format: 'float' },
  })
  expect(asked[0]!.headers.get('authorization')).toBe('Bearer secret')
  expect((await endpoint(() => vectors([1, 2, 3])).model.embed(['a'], signal)).tokens).toBe(7)
})

test.each<[string, () => Response | Promise<Response>, RegExp]>([
  ['wrong length', () => vectors([1, 2]), /2 numbers, not 3\. Set EMBED_DIMENSIONS/],
  ['a text: no number', () => vectors([1, null, Number.NaN]), /without a direction/],
  ['a text: nothing but zeros', () => vectors([0, 0, 0]), /without a direction/],
  ['base64', () => vectors('AACAPwAAAEAAAEBA'), /encoding_format/],
  ['too few', () => vectors(), /another number of vectors/],
  ['no list', () => Response.json({ ok: true }), /another number of vectors/],
  ['too many requests', () => new Response('{"error":{"message":"slow down"}}', { status: 429 }), /429: slow down/],
  ['a refused key', () => new Response('{}', { status: 401 }), /EMBED_API_KEY/],
  ['an unknown model', () => new Response('{"error":"no m"}', { status: 404 }), /EMBED_MODEL/],
  ['a text: refused', () => new Response('{"detail":"too long"}', { status: 422 }), /422: too long/],
  ['a text: a fault', () => new Response('{"error":"too large to process"}', { status: 500 }), /500: too large/],
  ['silence', () => new Promise<Response>(() => undefined), /in time/],
  ['nobody there', () => Promise.reject(new TypeError('fetch failed')), /EMBED_BASE_URL/],
])('%s is no vector, and says what to do', async (what, answer, message) => {
  const failed = await endpoint(answer)
    .model.embed(['a'], signal)
    .catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(what.startsWith('a text') ? TextRefused : EmbedderUnavailable)
  expect((failed as Error).message).toMatch(message)
})

test('settings name a model and its length, or say what is missing', () => {
  expect(parseConfig({}).embed).toMatchObject({ source: 'embedded' })
  expect(parseConfig({ EMBED: 'off' }).embed).toBeUndefined()
  expect(parseConfig({ EMBED: 'ollama' }).embed).toMatchObject({
    ...{ baseUrl: 'http://localhost:11434/v1', model: 'nomic-embed-text', dimensions: 768 },
  })
  expect(() => parseConfig({ EMBED: 'ollama', EMBED_MODEL: 'other' })).toThrow(/EMBED_DIMENSIONS/)
  expect(() => parseConfig({ EMBED: 'openai' })).toThrow(/EMBED_API_KEY/)
  expect(() => parseConfig({ EMBED_BASE_URL: 'http://text.test' })).toThrow(/EMBED_MODEL/)
  expect(() => parseConfig({ EMBED_MODEL: 'other' })).toThrow(/^EMBED_MODEL: the embedded model takes none\. Set/)
  expect(() => parseConfig({ EMBED: 'embedded', EMBED_BASE_URL: 'http://text.test' })).toThrow(/^EMBED_BASE_URL/)
  const secret = { EMBED_BASE_URL: 'http://me:secret@text.test', EMBED_MODEL: 'm', EMBED_DIMENSIONS: '64' }
  expect(() => parseConfig(secret)).toThrow(/^EMBED_BASE_URL: must not hold a name and a password$/)
  const budget = { VISION_PRICE_IN: '1', VISION_PRICE_OUT: '1', VISION_BUDGET_DAY: '1' }
  expect(() => parseConfig({ EMBED: 'ollama', ...budget })).toThrow(/EMBED_PRICE/)
})

test('the embedded model knows what means the same without a word in common', async () => {
  await using model = openEmbedder(parseConfig({}).embed!)
  const texts = [
    'Water boils in a glass kettle',
    'A mechanic tightens a bolt under a car',
    'making tea',
    'repairing a vehicle',
  ]
  const [kettle, garage, tea, repair] = (await model.embed(texts, signal)).vectors
  expect(nearness(kettle!, tea!)).toBeGreaterThan(nearness(garage!, tea!) + 0.1)
  expect(nearness(garage!, repair!)).toBeGreaterThan(nearness(kettle!, repair!) + 0.1)
})
