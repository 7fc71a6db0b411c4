import type { VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import type { SendPieces } from '../http/response-body.ts'
import type { TakeTurn, VersionedCache } from '../http/versioned-cache.ts'
import type { FilmReads } from '../library/films/films.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { AuthorizationServer } from '../oauth/server.ts'
import type { Mailer } from '../outbound/mailer.ts'
import type { JobCounts } from '../queue/job-counts.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import type { Plan } from '../vocabulary.ts'
import type { Assets } from './assets.ts'
import type { SharedPages, ViewerOf } from './layout.ts'

/** What the pages share. Each takes the few that it needs. */
export interface PageDeps {
  publicUrl: string
  search: LibrarySearch
  films: FilmReads
  db: Db
  assets: Assets
  pages: SharedPages
  viewerOf: ViewerOf
  limits: RateLimits
  logger: Logger
  takeTurn: TakeTurn
  /** Finished pages, and what they are made of. */
  kept: VersionedCache<object>
  sendPieces: SendPieces
  /** An image by its public path, for exports. */
  readImage: (path: string) => Promise<Buffer | undefined>
  /** The plan of accounts that a sign-in creates; null where sign-up is off. */
  signup: Plan | null
  /** The plan of an invited member. */
  defaultPlan: Plan
  mailer: Mailer | undefined
  /** Prints the link in development without a mail server. Never set in production. */
  printLink: ((line: string) => void) | undefined
  /** Absent: apps sign nobody in. */
  oauth: AuthorizationServer | undefined
  store: MediaStore
  maxUploadBytes: number
  /** Whether this installation has it. */
  ytdlp: boolean
  /** Who may read: everyone, or those with a key or a session. */
  reads: 'open' | 'members'
  /** The vision model of this process, with its US dollars a day. */
  vision: Pick<VisionConfig, 'budgetPerDay'> | undefined
  /** What the queues hold. @throws where Redis does not answer. */
  countJobs: () => Promise<readonly JobCounts[]>
}
