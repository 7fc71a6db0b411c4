import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import { findVideo, lockMedia, mayRemoveMedia } from '../library/videos/videos.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { type Handlers, RetryAfter } from '../queue/work.ts'
import { sql } from '../sql/orm.ts'
import type { extractInChild } from '../video/extract/run-extraction.ts'
import type { Annotator } from '../vision/annotator.ts'
import { annotateFrames } from './annotate-frames.ts'
import { fetchVideo } from './attempt.ts'
import type { AnnotatorTarget } from './dispatch.ts'
import type { FaultPoint } from './fault-point.ts'
import { ingestVideo } from './ingest-video.ts'

export interface HandlerDeps {
  config: Config
  db: Db
  store: MediaStore
  extract: typeof extractInChild
  annotator: Annotator
  activeAnnotator: () => Promise<AnnotatorTarget>
  logger: Logger
  faultPoint: FaultPoint
}

export function scratchRootOf({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'scratch')
}

/** The handler of each job in the catalogue. */
export function createHandlers(deps: HandlerDeps): Handlers {
  const { config, db, store, extract, annotator, logger, faultPoint } = deps
  return {
    'ingest-video': ingestVideo({
      db,
      store,
      extract,
      fetchSource: fetchVideo({
        store,
        ytdlpPath: config.ytdlpPath,
        maxBytes: config.maxUploadBytes,
        maxDurationSec: config.maxVideoSec,
      }),
      keepVideos: config.keepVideos,
      maxDurationSec: config.maxVideoSec,
      scratchRoot: scratchRootOf(config),
      logger,
      faultPoint,
      annotatorVersion: async () => (await deps.activeAnnotator()).version,
    }),
    'annotate-frames': annotateFrames({
      db,
      store,
      annotator,
      logger,
      faultPoint,
      spending: config.vision,
    }),
    'remove-media': removeMedia({ db, store }),
  }
}

const BACKUP_PAUSE_MS = 30_000

/** Removes a deleted video's images and upload, unless the same source was added again and owns them now. */
export function removeMedia({ db, store }: { db: Db; store: MediaStore }): Handlers['remove-media'] {
  return async ({ videoId, uploadKey }) => {
    await db.transaction(async (tx) => {
      // No limit, however long the media store takes: this transaction writes nothing, so it delays no event reader.
      await tx.execute(sql`set local idle_in_transaction_session_timeout = 0`)
      if (!(await mayRemoveMedia(tx))) throw new RetryAfter('A backup is being made.', BACKUP_PAUSE_MS)
      await lockMedia(tx, videoId)
      const current = await findVideo(tx, videoId)
      if (!current) await store.deletePrefix(`frames/${videoId}/`)
      if (uploadKey && current?.uploadKey !== uploadKey) await store.delete(uploadKey)
    })
  }
}
