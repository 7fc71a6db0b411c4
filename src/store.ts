import { join } from 'node:path'
import type { Config } from './config.ts'
import { openDiskStore } from './video/disk-store.ts'
import type { FrameStore } from './video/frame-store.ts'
import { openS3Store } from './video/s3-store.ts'

/** Images and uploads: the S3 bucket when one is set, else a folder under DATA_DIR. */
export function openStore(config: Pick<Config, 's3' | 'dataDir'>): FrameStore {
  return config.s3 ? openS3Store(config.s3) : openDiskStore(join(config.dataDir, 'store'))
}
