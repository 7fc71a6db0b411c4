import type pg from 'pg'
import type { Cursor } from './catalogue.ts'

/**
 * Readies the log of a restored database, in the transaction that restored it: new events come behind all that were
 * ever written. The consumers in `rebuilt` begin at the start, because what they made was not restored. Returns where
 * they were.
 */
export async function continueRestoredLog(
  client: pg.ClientBase,
  { rebuilt }: { rebuilt: readonly string[] },
): Promise<Map<string, Cursor>> {
  const { rows } = await client.query<{ consumer: string; xid: string; seq: string }>(
    'select consumer, xid::text as xid, seq from checkpoints where consumer = any($1)',
    [rebuilt],
  )
  await client.query(`update event_log set cluster = 'restored'`)
  await client.query(`select set_config('frames.event_log_shift', '', true)`)
  await client.query('select event_log_shift()')
  await client.query(`update checkpoints set xid = '0', seq = 0 where consumer = any($1)`, [rebuilt])
  return new Map(rows.map(({ consumer, xid, seq }) => [consumer, { xid, seq: Number(seq) }]))
}

/** Puts consumers where they were, once what they make is built again. No consumer may run. */
export async function returnCheckpoints(client: pg.ClientBase, cursors: ReadonlyMap<string, Cursor>): Promise<void> {
  for (const [consumer, { xid, seq }] of cursors)
    await client.query('update checkpoints set xid = $2::xid8, seq = $3 where consumer = $1', [consumer, xid, seq])
}
