import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { memoryFolder } from './memory-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    redisUrl: string
  }
}

/** One PostgreSQL and one Redis for the whole run. Every test file copies the migrated template database, so files cannot see each other. */
export default async function setup(project: TestProject) {
  const dir = mkdtempSync(join(memoryFolder(), 'frames-test-'))
  chmodSync(dir, 0o755)
  const postgres = await startLocalPostgres({
    dir: join(dir, 'postgres'),
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '300' },
  })
  const redis = await startLocalRedis({ dir: join(dir, 'redis'), persistent: false })
  const admin = openDb({ url: postgres.url, max: 1 })
  await admin.$client.query('create database template_frames')
  await admin.$client.end()
  const template = openDb({ url: postgres.url.replace(/postgres$/, 'template_frames') })
  await migrateDatabase(template)
  await template.$client.end()
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  return async () => {
    await redis.stop()
    await postgres.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}
