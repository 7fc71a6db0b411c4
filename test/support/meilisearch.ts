import { execFileSync } from 'node:child_process'
import { GenericContainer } from 'testcontainers'

export interface TestMeili {
  url: string
  key: string | undefined
  [Symbol.asyncDispose](): Promise<void>
}

const IMAGE = 'getmeili/meilisearch:v1.53.0'

/** Why no Meilisearch is available, undefined where one is. */
export function meiliMissing(): string | undefined {
  if (process.env.TEST_MEILI_URL) return undefined
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 5_000 })
    return undefined
  } catch {
    return 'no Meilisearch here: set TEST_MEILI_URL (and TEST_MEILI_KEY), or run where Docker does'
  }
}

/** Opens the server in TEST_MEILI_URL, or one in a container. */
export async function openMeili(): Promise<TestMeili> {
  const url = process.env.TEST_MEILI_URL
  if (url) return { url, key: process.env.TEST_MEILI_KEY || undefined, async [Symbol.asyncDispose]() {} }
  const key = 'only-for-tests-0123456789'
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ MEILI_MASTER_KEY: key, MEILI_NO_ANALYTICS: 'true' })
    .withExposedPorts(7700)
    .start()
  return {
    url: `http://${container.getHost()}:${container.getMappedPort(7700)}`,
    key,
    async [Symbol.asyncDispose]() {
      await container.stop()
    },
  }
}
