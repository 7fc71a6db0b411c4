import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../db/client.ts'

/** The key that signs addresses of pictures. */
export const loadPictureKey = (db: DbOrTx): Promise<Buffer> => loadKey(db, 'picture-key')

/** A key among the settings. It is made once; all processes use the same. */
export async function loadKey(db: DbOrTx, name: 'picture-key' | 'share-links' | 'questions'): Promise<Buffer> {
  const find = async () => {
    const { rows } = await db.execute<{ key: string }>(
      sql`select value #>> '{}' as key from settings where name = ${name}`,
    )
    return rows[0]
  }
  const known = await find()
  if (known) return Buffer.from(known.key, 'hex')
  const made = JSON.stringify(randomBytes(32).toString('hex'))
  await db.execute(sql`insert into settings (name, value) values (${name}, ${made}::jsonb) on conflict do nothing`)
  return Buffer.from((await find())!.key, 'hex')
}
