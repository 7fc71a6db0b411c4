import { randomBytes, randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../db/client.ts'
import { settings } from '../db/schema/settings.ts'

/** A fact of the installation; undefined where it was never stored. */
export async function findSetting<T>(db: DbOrTx, name: string): Promise<T | undefined> {
  const [row] = await db.select().from(settings).where(eq(settings.name, name))
  return row?.value as T | undefined
}

/** Stores a fact and replaces the last one of its name. */
export async function putSetting(db: DbOrTx, name: string, value: object): Promise<void> {
  const row = { name, value, updatedAt: new Date() }
  await db.insert(settings).values(row).onConflictDoUpdate({ target: settings.name, set: row })
}

const LIBRARY_ID = 'library'

/** The name of this library, given at the first call. A restored library has the same. */
export async function libraryId(db: Db): Promise<string> {
  await db.insert(settings).values({ name: LIBRARY_ID, value: randomUUID() }).onConflictDoNothing()
  return (await findSetting<string>(db, LIBRARY_ID))!
}

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
