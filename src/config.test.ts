import { expect, test } from 'vitest'
import { ConfigError, parseConfig } from './config.ts'

test.each([
  [{ PORT: '70000' }, /^PORT: /],
  [{ PORT: 'abc' }, /^PORT: /],
  [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL: must begin with postgres/],
  [{ MEILI_URL: 'http://localhost:7700' }, /^MEILI_URL: set MEILI_KEY too$/],
  [{ VISION_BASE_URL: 'http://localhost:1' }, /VISION_MODEL/],
  [{ VISION_API_KEY: 'x' }, /^VISION_API_KEY: set VISION_BASE_URL and VISION_MODEL too$/],
  [{ S3_BUCKET: 'frames' }, /S3_ACCESS_KEY/],
  [{ SIGNUP: 'maybe' }, /^SIGNUP: /],
  [{ METRICS_PORT: '9464' }, /^METRICS_PORT: metrics are not served yet/],
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
