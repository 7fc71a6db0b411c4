import { join } from 'node:path'
import type { Config } from '../config.ts'
import { openDiskStore } from './disk-store.ts'
import type { MediaStore } from './media-store.ts'
import { openS3Store } from './s3-store.ts'

/** The S3 bucket when one is configured, otherwise a folder under DATA_DIR. */
export function openMediaStore(config: Pick<Config, 's3' | 'dataDir'>): MediaStore {
  return config.s3 ? openS3Store(config.s3) : openDiskStore(join(config.dataDir, 'store'))
}
