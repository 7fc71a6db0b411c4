import type { Db } from '../../db/client.ts'
import type { RateLimits } from '../../http/rate-limit/rate-limits.ts'
import type { AddressRules } from '../../library/videos/addresses.ts'
import type { Logger } from '../../logger.ts'
import type { MediaStore } from '../../media/media-store.ts'
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
}
