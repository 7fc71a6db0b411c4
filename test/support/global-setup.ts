import type { TestProject } from 'vitest/node'
import { bootStores, findWarmStores, openGivenStores, type RunStores } from './run-stores.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrls: string[]
    redisUrl: string
  }
}

/** Every project loads this file for itself, in one process: what they share stands on the global object. */
const shared = globalThis as { frameTestStores?: { opened: Promise<RunStores>; users: number } | undefined }

/**
 * A PostgreSQL for each worker and one Redis for the whole run: those of the environment, of `npm run test:stores`, or
 * new ones.
 * Every test file copies the migrated template database, so files cannot see each other.
 */
export default async function setup(project: TestProject) {
  shared.frameTestStores ??= { opened: open(project.vitest.config.maxWorkers), users: 0 }
  const run = shared.frameTestStores
  run.users++
  const { postgresUrls, redisUrl, stop } = await run.opened
  project.provide('postgresUrls', postgresUrls)
  project.provide('redisUrl', redisUrl)
  return async () => {
    run.users--
    if (run.users > 0) return
    shared.frameTestStores = undefined
    await stop()
  }
}

async function open(workers: number): Promise<RunStores> {
  const given = await openGivenStores()
  if (given) return given
  const warm = await findWarmStores()
  return warm ? { ...warm, stop: async () => undefined } : bootStores(workers)
}
