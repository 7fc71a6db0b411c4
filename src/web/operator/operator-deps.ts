import type { Db } from '../../db/client.ts'
import type { LogTail } from '../../events/tail.ts'
import type { EventStreams } from '../../http/event-stream.ts'
import type { RateLimits } from '../../http/rate-limit/rate-limits.ts'
import type { AddressRules } from '../../library/videos/addresses.ts'
import type { Logger } from '../../logger.ts'
import type { MediaStore } from '../../media/media-store.ts'
import type { JobCounts } from '../../queue/job-counts.ts'
import type { CollectionDeps } from '../../views/collections.ts'
import type { Assets } from '../assets.ts'

export interface OperatorDeps extends CollectionDeps {
  db: Db
  assets: Assets
  limits: RateLimits
  logger: Logger
  store: MediaStore
  maxUploadBytes: number
  addresses: AddressRules
  tail: LogTail
  streams: EventStreams
  /** Whether a vision model is set for this process. */
  hasModel: boolean
  /** US dollars a day for the model; undefined without a limit. */
  budgetPerDay: number | undefined
  /** What the queues hold. @throws where Redis does not answer. */
  countJobs: () => Promise<readonly JobCounts[]>
}
