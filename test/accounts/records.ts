import { expect } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { HALF_LIFE_MS } from '../../src/library/collections/saves.ts'

/** An account's events, oldest first. */
export async function eventsOf(
  db: Db,
  accountId: string,
): Promise<{ type: string; subject: string; data: Record<string, unknown> }[]> {
  const { rows } = await db.$client.query('select type, subject, data from events where account_id = $1 order by seq', [
    accountId,
  ])
  return rows
}

/** The types of an account's events, without those about the account and its keys. */
export async function typesOf(db: Db, accountId: string): Promise<string[]> {
  return (await eventsOf(db, accountId)).map((event) => event.type).filter((type) => !/^(account|key)\./.test(type))
}

export async function countsOf(db: Db, frameId: string) {
  const { rows } = await db.$client.query<{
    save_count: number
    save_strength: number | null
    times: Date[] | null
  }>(
    `select save_count, save_strength, (select array_agg(created_at) from saves where frame_id = $1) as times
       from frames where id = $1`,
    [frameId],
  )
  return rows[0]!
}

export async function expectCountsToAddUp(db: Db, frameId: string, count: number) {
  const { save_count, save_strength, times } = await countsOf(db, frameId)
  expect(save_count).toBe(count)
  expect((times ?? []).length).toBe(count)
  const expected = strengthOf(times ?? [])
  if (expected === null) expect(save_strength).toBeNull()
  else expect(save_strength).toBeCloseTo(expected, 6)
}

/** The sum that the SQL of saves.ts keeps save by save, in any order; null without saves. */
function strengthOf(times: readonly Date[]): number | null {
  if (times.length === 0) return null
  const terms = times.map((time) => time.getTime() / HALF_LIFE_MS)
  const greatest = terms.reduce((a, b) => Math.max(a, b))
  return greatest + Math.log2(terms.reduce((sum, term) => sum + 2 ** (term - greatest), 0))
}
