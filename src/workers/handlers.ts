import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Handlers } from '../queue/work.ts'
import type { extractInChild } from '../video/extract/run-extraction.ts'
import type { HouseStyle } from '../vision/model/house-style.ts'
import { annotateFrames } from './annotate-frames.ts'
import type { ConfiguredAnnotator } from './annotator.ts'
import type { AnnotatorTarget } from './dispatch.ts'
import type { FaultPoint } from './fault-point.ts'
import { fetchVideo } from './fetch-video.ts'
import { ingestVideo } from './ingest-video.ts'
import type { PaidJournal } from './paid-journal.ts'
import { removeMedia } from './remove-media.ts'

export interface HandlerDeps {
  config: Config
  db: Db
  store: MediaStore
  extract: typeof extractInChild
  annotator: ConfiguredAnnotator
  journal: PaidJournal
  style: HouseStyle | undefined
  activeAnnotator: () => Promise<AnnotatorTarget>
  logger: Logger
  faultPoint: FaultPoint
}

export function scratchRootOf({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'scratch')
}

/** Paid answers that PostgreSQL could not take yet. Not in the scratch folder, which is swept. */
export function paidFolderOf({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'paid-answers')
}

/** The handler of each job in the catalogue. */
export function createHandlers(deps: HandlerDeps): Handlers {
  const { config, db, store, extract, logger, faultPoint } = deps
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
      annotatorVersion: async () => (await deps.activeAnnotator()).version,
      maxDurationSec: config.maxVideoSec,
      scratchRoot: scratchRootOf(config),
      logger,
      faultPoint,
    }),
    'annotate-frames': annotateFrames({
      db,
      store,
      ...deps.annotator,
      logger,
      faultPoint,
      spending: config.vision && { rules: config.vision, journal: deps.journal, style: deps.style },
    }),
    'remove-media': removeMedia({ db, store }),
  }
}
