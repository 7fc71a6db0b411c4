import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { GenericContainer } from 'testcontainers'

// `npm run test:meilisearch`: all tests on a real Meilisearch, that of TEST_MEILI_URL and TEST_MEILI_KEY or, where
// that is not set, one in a container. Further arguments go to vitest.

const IMAGE = 'getmeili/meilisearch:v1.53.0'
const KEY = 'only-for-tests-0123456789'

async function inContainer() {
  try {
    const container = await new GenericContainer(IMAGE)
      .withEnvironment({ MEILI_MASTER_KEY: KEY, MEILI_NO_ANALYTICS: 'true' })
      .withExposedPorts(7700)
      .start()
    return { container, url: `http://${container.getHost()}:${container.getMappedPort(7700)}` }
  } catch (error) {
    console.error(
      `There is no Meilisearch: Docker started none (${(error as Error).message}). Run this where Docker runs, ` +
        'or set TEST_MEILI_URL, and TEST_MEILI_KEY to its master key.',
    )
    process.exit(1)
  }
}

const own = process.env.TEST_MEILI_URL ? undefined : await inContainer()
const env = own ? { ...process.env, TEST_MEILI_URL: own.url, TEST_MEILI_KEY: KEY } : process.env
const files = globSync('test/**/*.test.ts').filter((file) =>
  /support\/(meilisearch|engines)\.ts'/.test(readFileSync(file, 'utf8')),
)
const args = ['run', '-t', '[Mm]eilisearch', ...files, ...process.argv.slice(2)]
const [status] = await once(spawn('vitest', args, { env, stdio: 'inherit' }), 'close')
await own?.container.stop()
process.exit(status)
