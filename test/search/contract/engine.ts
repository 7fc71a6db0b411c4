import { afterAll, beforeAll } from 'vitest'
import type { Db } from '../../../src/db/client.ts'
import type { DocumentChanges, LibrarySearch } from '../../../src/search/library-search.ts'
import { writeDocuments } from '../../support/read-model.ts'

export interface Engine {
  search: LibrarySearch
  /** The database of the read model. */
  db: Db
  /** Brings the engine up to the read model, as the workers do. PostgreSQL has nothing to do. */
  follow(): Promise<void>
  /** Ids of the frames in the engine. */
  frameIds(): Promise<string[]>
  [Symbol.asyncDispose](): Promise<void>
}

/** An engine for the tests of one group. */
export function opened(open: () => Promise<Engine>): () => Engine {
  let engine: Engine | undefined
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine?.[Symbol.asyncDispose]())
  return () => engine!
}

/** Resolves when the engine finds the documents. */
export async function put(engine: Engine, changes: DocumentChanges): Promise<void> {
  await writeDocuments(engine.db, changes)
  await engine.follow()
}
