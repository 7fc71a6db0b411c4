import type { Tx } from '../db/client.ts'
import { sql } from '../sql/orm.ts'
import { DATA_VERSION, EVENTS, type EventType, type NewEvent } from './catalogue.ts'

/**
 * Appends events in the transaction of the change they report: the only way to do so. Data that does not match the
 * catalogue throws, which rolls the transaction back.
 */
export async function appendEvents(tx: Tx, list: readonly NewEvent[]): Promise<void> {
  if (list.length === 0) return
  const rows = list.map(({ type, subject, accountId, data }) => ({
    type,
    version: DATA_VERSION,
    subject,
    account_id: accountId,
    data: EVENTS[type].parse(data),
  }))
  // One parameter, however many events: a full board that is deleted has 5,000.
  await tx.execute(sql`
    insert into events (type, version, subject, account_id, data)
    select type, version, subject, account_id, data
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as e(type text, version smallint, subject text, account_id text, data jsonb)`)
}

export async function appendEvent<T extends EventType>(tx: Tx, event: NewEvent<T>): Promise<void> {
  await appendEvents(tx, [event])
}
