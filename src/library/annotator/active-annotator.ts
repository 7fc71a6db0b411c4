import { eq } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { settings } from '../../db/schema/settings.ts'
import { AppError } from '../../errors.ts'

/** The annotator of this installation's workers. They publish it when they start. */
export interface ActiveAnnotator {
  version: string
  model: string
  batchSize: number
}

const ACTIVE_ANNOTATOR = 'annotator'

export async function publishAnnotator(db: Db, annotator: ActiveAnnotator): Promise<void> {
  await db
    .insert(settings)
    .values({ name: ACTIVE_ANNOTATOR, value: annotator })
    .onConflictDoUpdate({ target: settings.name, set: { value: annotator, updatedAt: new Date() } })
}

export async function findAnnotator(db: DbOrTx): Promise<ActiveAnnotator | undefined> {
  const [row] = await db.select().from(settings).where(eq(settings.name, ACTIVE_ANNOTATOR))
  return row?.value as ActiveAnnotator | undefined
}

/** @throws AppError conflict while no worker has published its annotator. */
export async function requireAnnotator(db: Db): Promise<ActiveAnnotator> {
  const active = await findAnnotator(db)
  if (!active)
    throw new AppError(
      'conflict',
      'No worker has run here yet. Start one (npm start or frames worker), then try again.',
    )
  return active
}
