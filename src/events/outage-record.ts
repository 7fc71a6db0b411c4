import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { OutageFields } from './outage.ts'

/** What a consumer waits for, where other processes can read it. */
interface OutageRecord {
  /** What does not answer: `Meilisearch`. */
  of: string
  /** ISO dates. */
  since: string
  lastAttempt: string
  attempts: number
}

/** `fields`: what is logged of the outage now. */
export function toOutageRecord(of: string, { attempts, outageSec }: OutageFields, now = Date.now()): OutageRecord {
  const since = new Date(now - outageSec * 1_000).toISOString()
  return { of, since, lastAttempt: new Date(now).toISOString(), attempts }
}

/** Keeps an outage beside the consumer's checkpoint, or forgets it. It is no fact: a failure is no matter. */
export async function recordOutage(db: Db, consumer: string, outage: OutageRecord | null): Promise<void> {
  const value = outage === null ? null : JSON.stringify(outage)
  await db
    .execute(sql`update checkpoints set outage = ${value}::jsonb where consumer = ${consumer}`)
    .catch(() => undefined)
}

export async function listOutages(db: Db): Promise<(OutageRecord & { consumer: string })[]> {
  const { rows } = await db.execute<{ consumer: string; outage: OutageRecord }>(
    sql`select consumer, outage from checkpoints where outage is not null order by consumer`,
  )
  return rows.map(({ consumer, outage }) => ({ consumer, ...outage }))
}
