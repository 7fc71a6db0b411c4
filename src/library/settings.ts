import { randomBytes, randomUUID } from 'node:crypto'
import type { Db, DbOrTx } from '../db/client.ts'
import { settings } from '../db/schema/settings.ts'
import { eq } from '../sql/orm.ts'

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

/** The fact of this name. It is made and stored where there is none; all processes use the same. */
async function settled(db: DbOrTx, name: string, make: () => string): Promise<string> {
  const known = await findSetting<string>(db, name)
  if (known !== undefined) return known
  await db.insert(settings).values({ name, value: make() }).onConflictDoNothing()
  return (await findSetting<string>(db, name))!
}

/** The name of this library, given at the first call. A restored library has the same. */
export const libraryId = (db: Db): Promise<string> => settled(db, 'library', randomUUID)

/** The key that signs addresses of pictures. */
export const loadPictureKey = (db: DbOrTx): Promise<Buffer> => loadKey(db, 'picture-key')

/** A key among the settings. */
export async function loadKey(db: DbOrTx, name: 'picture-key' | 'share-links'): Promise<Buffer> {
  return Buffer.from(await settled(db, name, () => randomBytes(32).toString('hex')), 'hex')
}
