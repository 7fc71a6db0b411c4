import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'

/** The key that signs addresses of pictures. It is made once; all processes use the same. */
export async function loadPictureKey(db: Db): Promise<Buffer> {
  const made = JSON.stringify(randomBytes(32).toString('hex'))
  await db.execute(sql`
    insert into settings (name, value) values ('picture-key', ${made}::jsonb) on conflict do nothing`)
  const { rows } = await db.execute<{ key: string }>(
    sql`select value #>> '{}' as key from settings where name = 'picture-key'`,
  )
  return Buffer.from(rows[0]!.key, 'hex')
}
