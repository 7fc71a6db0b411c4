import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { settings } from '../db/schema/settings.ts'

const LIBRARY_ID = 'library'

/** The name of this library, given at the first call. A restored library has the same. */
export async function libraryId(db: Db): Promise<string> {
  await db.insert(settings).values({ name: LIBRARY_ID, value: randomUUID() }).onConflictDoNothing()
  const [row] = await db.select().from(settings).where(eq(settings.name, LIBRARY_ID))
  return row!.value as string
}
