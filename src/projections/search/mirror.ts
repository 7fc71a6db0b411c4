import { WORDS_VERSION } from '../../search/text/tokens.ts'
import { nothingFound, type Reconciliation } from './affected.ts'
import {
  type CopiedState,
  copySince,
  type MirrorDeps,
  type ModelState,
  readCopiedState,
  readModelState,
  recordCopied,
  recordNotReady,
  withMirrorLock,
} from './mirror-progress.ts'
import { raiseVersionIfWrong, repairCounts, repairFrames, wasEmptied } from './mirror-repair.ts'

/**
 * Meilisearch as a mirror of the read model.
 * Every document of the read model carries the version that last changed it, and the mirror copies newer ones.
 * Projecting once, in PostgreSQL, and copying keeps both engines on the same documents.
 */

/**
 * Copies what changed since the last time.
 * Rebuilds beside the live indexes and swaps them when an index is missing, was emptied, or has old settings or words.
 * Resolves when the engine's tasks have succeeded.
 */
export async function syncMirror(deps: MirrorDeps): Promise<{ rebuilt: boolean }> {
  return withMirrorLock(deps.db, () => sync(deps))
}

/** Rebuilds everything, for `frames reindex`. */
export async function rebuildMirror(deps: MirrorDeps): Promise<void> {
  await withMirrorLock(deps.db, () => rebuild(deps))
}

/** Compares ids and revisions with the read model's and repairs what differs. */
export async function reconcileMirror(deps: MirrorDeps): Promise<Reconciliation> {
  return withMirrorLock(deps.db, async () => {
    const { rebuilt } = await sync(deps)
    const found = nothingFound()
    const copied = await readCopiedState(deps.db)
    if (!rebuilt && copied) await repairFrames(deps, found, copied.version)
    await raiseVersionIfWrong(deps.db, found)
    return found
  })
}

/** Frames that were copied before the mirror's version includes them. */
export interface EarlyCopy extends ModelState {
  /** Resolves when the engine has the last of them. */
  written: Promise<void>
}

/** The caller holds the mirror's lock. */
export async function sync(deps: MirrorDeps, early?: EarlyCopy): Promise<{ rebuilt: boolean }> {
  const { db, sink, signal } = deps
  const live = await readModelState(db)
  const copied = await readCopiedState(db)
  const sameGeneration = copied !== undefined && copied.generation === live.generation
  if (!sameGeneration) await early?.written
  if (!copied || !(await isWhole(deps, copied))) {
    await early?.written
    await rebuild(deps)
    return { rebuilt: true }
  }
  if (!sameGeneration) {
    // The read model was rebuilt and its versions start over, so revisions are compared.
    await repairFrames(deps, nothingFound(), live.version)
  } else if (copied.version !== live.version) {
    const frames = early?.generation === live.generation ? early.version : copied.version
    await copySince(db, { version: copied.version, frames }, sink.apply, signal)
    await early?.written
  } else await repairCounts(deps, live)
  await recordCopied(db, live)
  return { rebuilt: false }
}

/** Whether the indexes have the settings, words and documents that this version gave them. */
export async function isWhole(deps: MirrorDeps, copied: CopiedState): Promise<boolean> {
  return copied.words === WORDS_VERSION && (await deps.sink.intact()) && !(await wasEmptied(deps, copied))
}

async function rebuild({ db, sink, signal }: MirrorDeps): Promise<void> {
  // Empty indexes are not searched until they are filled. Indexes that only have old settings still serve.
  if ((await sink.count()) === 0) await recordNotReady(db)
  const live = await readModelState(db)
  const target = await sink.beginRebuild()
  try {
    await copySince(
      db,
      { version: '-1', frames: '-1' },
      (changes) => target.apply({ put: changes.put, remove: {} }),
      signal,
    )
    await target.swap()
  } catch (error) {
    await target.abandon().catch(() => undefined)
    throw error
  }
  // The version was read before the first document, so the next sync copies what has changed since.
  await recordCopied(db, live)
}
