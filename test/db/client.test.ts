import type { Socket } from 'node:net'
import { sql } from 'drizzle-orm'
import { expect, inject, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { isConnectionLoss } from '../../src/events/consume.ts'

test('a connection that dies before or within a transaction is an outage, and its place in the pool is free again', async () => {
  const db = openDb({ url: inject('postgresUrl'), max: 1 })
  const cut = (client: unknown) => (client as { connection: { stream: Socket } }).connection.stream.destroy()
  try {
    const client = await db.$client.connect()
    client.release()
    cut(client)
    const begun = db.transaction((tx) => tx.execute(sql`select 1`)).catch((error: unknown) => error)
    expect(isConnectionLoss(await begun)).toBe(true)

    let lent: unknown
    db.$client.once('acquire', (acquired) => {
      lent = acquired
    })
    const within = db
      .transaction(async (tx) => {
        await tx.execute(sql`select 1`)
        cut(lent)
        // Nobody asks anything of it when it dies.
        await new Promise((resolve) => setImmediate(resolve))
        await tx.execute(sql`select 2`)
      })
      .catch((error: unknown) => error)
    expect(isConnectionLoss(await within)).toBe(true)

    const { rows } = await db.transaction((tx) => tx.execute<{ n: number }>(sql`select 3 as n`))
    expect(rows).toEqual([{ n: 3 }])
  } finally {
    await db.$client.end()
  }
})
