import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, inject, vi } from 'vitest'
import { type Db, openDb } from '../../src/db/client.ts'
import { useOpened } from './closing.ts'

export interface Stores {
  db: Db
  databaseUrl: string
  redisUrl: string
  /** Separates the keys and queues of this file from all others. */
  prefix: string
  redis: Redis
  [Symbol.asyncDispose](): Promise<void>
}

/** The PostgreSQL of this worker. */
export function ownPostgresUrl(): string {
  const urls = inject('postgresUrls')
  return urls[(Number(process.env.VITEST_POOL_ID) - 1) % urls.length]!
}

/** Opens a new migrated database and a new Redis prefix. Disposing drops both. It fails if a connection is open. */
export async function openStores(): Promise<Stores> {
  const name = `t_${randomBytes(6).toString('hex')}`
  const adminUrl = ownPostgresUrl()
  await asAdmin(adminUrl, (admin) => createFromTemplate(admin, name))
  const databaseUrl = adminUrl.replace(/postgres$/, name)
  const redisUrl = inject('redisUrl')
  const db = openDb({ url: databaseUrl, max: 20, statementTimeoutMs: 300_000 })
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  return {
    db,
    databaseUrl,
    redisUrl,
    prefix: name,
    redis,
    async [Symbol.asyncDispose]() {
      await db.$client.end()
      const keys = await redis.keys(`*${name}*`)
      if (keys.length > 0) await redis.del(keys)
      redis.disconnect()
      // Without FORCE, so that a test that left a connection open fails here.
      await asAdmin(adminUrl, (admin) => dropWhenFree(admin, name))
    },
  }
}

/** One for all tests of a file. */
export const useStores = () => useOpened(openStores)

/** Waits until every event can be read. An older transaction in any database of the server may still hide some. */
export async function untilReadable(db: Db): Promise<void> {
  const hidden = 'select 1 from events where xid >= event_log_horizon() limit 1'
  await vi.waitFor(async () => expect((await db.$client.query(hidden)).rows).toEqual([]), {
    timeout: 240_000,
    interval: 20,
  })
}

/** A transaction that stays open until it is disposed of: readers of the event log stop below it. */
export async function holdTransaction({ databaseUrl }: Pick<Stores, 'databaseUrl'>): Promise<AsyncDisposable> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query('select pg_current_xact_id()')
  return { [Symbol.asyncDispose]: () => client.end() }
}

async function createFromTemplate(admin: pg.Client, name: string): Promise<void> {
  // CREATE DATABASE needs the template to itself, and several files may ask at once.
  await admin.query('select pg_advisory_lock(42)')
  // Files of the template are copied: written through the log as by default, a copy costs three times the work.
  await admin.query(`create database ${name} template template_frames strategy file_copy`)
  await admin.query('select pg_advisory_unlock(42)')
}

/** Retries, because the backend of a closed connection ends a moment later. */
async function dropWhenFree(admin: pg.Client, name: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await admin.query(`drop database ${name}`)
      return
    } catch (error) {
      if (attempt > 40) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

async function asAdmin(url: string, act: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  try {
    await act(admin)
  } finally {
    await admin.end()
  }
}
