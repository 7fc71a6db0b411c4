import type { Db } from '../../src/db/client.ts'
import type { DocumentChanges } from '../../src/search/library-search.ts'
import { applyToReadModel, lockReadModel } from '../../src/search/postgres/write.ts'

/** Writes ready documents into the read model, in one transaction under the writer's lock, as the projection does. */
export async function writeDocuments(db: Db, changes: DocumentChanges): Promise<void> {
  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    await applyToReadModel(tx, changes)
  })
}
