import type { Db } from '../../db/client.ts'
import type { RateLimits } from '../../http/rate-limit/rate-limits.ts'
import type { LongAnswers } from '../../http/response-body.ts'
import type { Logger } from '../../logger.ts'
import type { CollectionDeps } from '../../views/collections.ts'
import type { Assets } from '../assets.ts'

export interface CollectionPagesDeps extends CollectionDeps {
  db: Db
  assets: Assets
  limits: RateLimits
  logger: Logger
  longAnswers: LongAnswers
  /** An image by its public path, for exports. */
  readImage: (path: string) => Promise<Buffer | undefined>
}
