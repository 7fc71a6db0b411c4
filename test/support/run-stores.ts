import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { type LocalServer, startLocalPostgres } from '../../src/local/postgres.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { memoryFolder } from './memory-folder.ts'

export interface StoreUrls {
  /** One for each worker of a run, or one for all. */
  postgresUrls: string[]
  redisUrl: string
}

export interface RunStores extends StoreUrls {
  stop(): Promise<void>
}

/** Where `npm run test:stores` says how to reach the PostgreSQL and Redis that it keeps running. */
export const WARM_STORES_FILE = fileURLToPath(
  new URL('../../node_modules/.cache/frames-tests/stores.json', import.meta.url),
)
const MIGRATIONS = fileURLToPath(new URL('../../drizzle/', import.meta.url))
export const TEMPLATE = 'template_frames'

/** Starts a PostgreSQL with the migrated template database for each worker, and one Redis. */
export async function bootStores(workers: number): Promise<RunStores> {
  const dir = mkdtempSync(join(memoryFolder(), 'frames-test-'))
  chmodSync(dir, 0o755)
  const redis = await startLocalRedis({ dir: join(dir, 'redis'), persistent: false })
  const servers = await bootPostgres(dir, workers)
  return {
    postgresUrls: servers.map(({ url }) => url),
    redisUrl: redis.url,
    async stop() {
      await redis.stop()
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/**
 * Readers of the event log wait for the transactions of every database of their server. With a server each, no worker
 * waits for another. All are copies of the first.
 */
async function bootPostgres(dir: string, count: number): Promise<LocalServer[]> {
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '300' }
  const start = (n: number) => startLocalPostgres({ dir: join(dir, `server-${n}`, 'postgres'), settings })
  const first = await start(0)
  await makeTemplate(first.url)
  await first.stop()
  for (let n = 1; n < count; n++) execFileSync('cp', ['-a', join(dir, 'server-0'), join(dir, `server-${n}`)])
  return Promise.all(Array.from({ length: count }, (_, n) => start(n)))
}

/** The servers in TEST_POSTGRES_URL and TEST_REDIS_URL, such as the service containers of CI. */
export async function openGivenStores(): Promise<RunStores | undefined> {
  const { TEST_POSTGRES_URL: postgresUrl, TEST_REDIS_URL: redisUrl } = process.env
  if (!postgresUrl && !redisUrl) return undefined
  if (!postgresUrl || !redisUrl) throw new Error('Set both TEST_POSTGRES_URL and TEST_REDIS_URL, or neither.')
  await makeTemplate(postgresUrl)
  return { postgresUrls: [postgresUrl], redisUrl, stop: async () => undefined }
}

/** Every test file copies this migrated database. */
async function makeTemplate(postgresUrl: string): Promise<void> {
  const admin = openDb({ url: postgresUrl, max: 1 })
  await admin.$client.query(`drop database if exists ${TEMPLATE}`)
  await admin.$client.query(`create database ${TEMPLATE}`)
  await admin.$client.end()
  const template = openDb({ url: postgresUrl.replace(/postgres$/, TEMPLATE) })
  await migrateDatabase(template)
  await template.$client.end()
}

/** Names the state of all migrations: a template that was made with others is of no use. */
export function migrationsHash(): string {
  const hash = createHash('sha256')
  for (const entry of readdirSync(MIGRATIONS, { recursive: true, withFileTypes: true }).sort(byPath))
    if (entry.isFile()) hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)))
  return hash.digest('hex')
}

const byPath = (a: { parentPath: string; name: string }, b: { parentPath: string; name: string }) =>
  join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1

/** The stores that `npm run test:stores` keeps, if they answer and their template has today's migrations. */
export async function findWarmStores(): Promise<StoreUrls | undefined> {
  let warm: StoreUrls & { migrations: string }
  try {
    warm = JSON.parse(readFileSync(WARM_STORES_FILE, 'utf8'))
  } catch {
    return undefined
  }
  if (warm.migrations !== migrationsHash()) return undefined
  const answer = await Promise.all([...warm.postgresUrls.map(postgresAnswers), redisAnswers(warm.redisUrl)])
  return answer.includes(false) ? undefined : { postgresUrls: warm.postgresUrls, redisUrl: warm.redisUrl }
}

async function postgresAnswers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function redisAnswers(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    client.disconnect()
  }
}
