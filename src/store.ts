import { join } from 'node:path'
import type { Config } from './config.ts'
import { openDiskStore } from './video/disk-store.ts'
import type { FrameStore } from './video/frame-store.ts'

/** Images and uploads: a folder under DATA_DIR. */
export function openStore(config: Pick<Config, 's3' | 'dataDir'>): FrameStore {
  return openDiskStore(join(config.dataDir, 'store'))
}
