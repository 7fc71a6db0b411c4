import { expect, test } from 'vitest'
import { ConfigError, parseConfig } from './config.ts'

test.each([
  [{ PORT: '70000' }, /^PORT: /],
  [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL: /],
  [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL: must begin with postgres/],
  [{ MEILI_URL: 'http://localhost:7700' }, /^MEILI_URL: set MEILI_KEY too$/],
  [{ VISION_BASE_URL: 'http://localhost:1' }, /VISION_MODEL/],
  [{ VISION_API_KEY: 'x' }, /^VISION_API_KEY: set VISION, or VISION_BASE_URL and VISION_MODEL, too$/],
  [{ VISION: 'olama' }, /^VISION: must be ollama, llamacpp, vllm, .* or openrouter$/],
  [{ VISION: 'openai' }, /^VISION_API_KEY: set it too, because openai needs a key$/],
  [{ VISION: 'lmstudio' }, /^VISION_MODEL: set it too, to the model that lmstudio has loaded$/],
  [{ VISION: 'ollama', VISION_MODEL: 'qwen3 vl' }, /^VISION_MODEL: must be the name of a model, without spaces$/],
  [{ VISION: 'ollama', VISION_WINDOW: '12' }, /^VISION_WINDOW: /],
  [{ S3_BUCKET: 'frames' }, /S3_ACCESS_KEY/],
  [{ SIGNUP: 'maybe' }, /^SIGNUP: /],
  [{ SIGNUP: 'on' }, /^SIGNUP: .*DEFAULT_PLAN=free or DEFAULT_PLAN=pro/],
  [{ DEFAULT_PLAN: 'gold' }, /^DEFAULT_PLAN: .*free.*pro/],
  [{ READS: 'member' }, /^READS: must be open or members$/],
  [{ SECRETS_KEY: 'short' }, /^SECRETS_KEY: must be 64 hexadecimal digits, as `openssl rand -hex 32` prints them/],
  [{ SECRETS_KEY: `${'a'.repeat(64)},` }, /^SECRETS_KEY: must be 64 hexadecimal digits/],
  [{ METRICS_PORT: 'yes' }, /^METRICS_PORT: /],
  [{ METRICS_PORT: '3000' }, /^METRICS_PORT: 3000 is the port of the API \(PORT\)\. .*Set it to another port/],
  [{ PORT: '9464' }, /^METRICS_PORT: 9464 is the port of the API/],
  [{ METRICS_PORT: '2999' }, /^METRICS_PORT: 3000 is the port of the API .* one above it/],
  [{ METRICS_PORT: '65535' }, /^METRICS_PORT: /],
  [{ METRICS_HOST: 'a b' }, /^METRICS_HOST: must be an IP address/],
  [{ VISION_BASE_URL: 'http://x', VISION_MODEL: 'm', VISION_BUDGET_DAY: '5' }, /VISION_PRICE_IN/],
])('%j stops the start with a line that names the variable', (env, message) => {
  expect(() => parseConfig(env)).toThrow(ConfigError)
  expect(() => parseConfig(env)).toThrow(message)
})

test('an empty variable is an absent one, and PUBLIC_URL follows the port', () => {
  const config = parseConfig({ PORT: '4000', DATABASE_URL: '', PUBLIC_URL: '' })
  expect(config).toMatchObject({
    port: 4000,
    publicUrl: 'http://localhost:4000',
    databaseUrl: undefined,
    meili: undefined,
    vision: undefined,
  })
})

test('a profile sets what a model needs, and each setting goes before it', () => {
  expect(parseConfig({ VISION: 'ollama' }).vision).toMatchObject({
    ...{ server: 'ollama', baseUrl: 'http://localhost:11434', model: 'qwen3-vl:8b-instruct' },
    ...{ concurrency: 1, frames: 2, window: undefined },
  })
  const own = { VISION_BASE_URL: 'http://gpu:1/v1', VISION_MODEL: 'm', VISION_CONCURRENCY: '3', VISION_FRAMES: '5' }
  expect(parseConfig({ VISION: 'ollama', ...own, VISION_WINDOW: '16384' }).vision).toMatchObject({
    ...{ baseUrl: 'http://gpu:1', model: 'm', concurrency: 3, frames: 5, window: 16_384 },
  })
  expect(parseConfig(own).vision).toMatchObject({ server: 'compatible', baseUrl: 'http://gpu:1/v1', frames: 5 })
})

test('metrics are served on loopback, the worker one port above the API, and 0 turns both off', () => {
  const loopback = { host: '127.0.0.1', given: false }
  expect(parseConfig({}).metrics).toEqual({ api: { ...loopback, port: 9464 }, worker: { ...loopback, port: 9465 } })
  const moved = parseConfig({ METRICS_PORT: '9100', METRICS_HOST: '0.0.0.0' }).metrics
  expect([moved.api.port, moved.worker.port, moved.worker.host, moved.worker.given]).toEqual([
    9100,
    9101,
    '0.0.0.0',
    true,
  ])
  const off = parseConfig({ METRICS_PORT: '0' }).metrics
  expect([off.api.port, off.worker.port]).toEqual([0, 0])
})

test('strangers get an account where an operator said so, or on a machine of one person', () => {
  expect(parseConfig({}).signup).toBe('pro')
  expect(parseConfig({ NODE_ENV: 'production' })).toMatchObject({ signup: null, defaultPlan: 'pro' })
  expect(parseConfig({ SIGNUP: 'off', DEFAULT_PLAN: 'free' })).toMatchObject({ signup: null, defaultPlan: 'free' })
  const production = { NODE_ENV: 'production', SIGNUP: 'on', DEFAULT_PLAN: 'free' }
  expect(parseConfig(production)).toMatchObject({ signup: 'free', defaultPlan: 'free' })
})
