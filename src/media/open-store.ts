import { join } from 'node:path'
import type { Config } from '../config.ts'
import { openDiskStore } from './disk-store.ts'
import type { MediaStore } from './media-store.ts'

/** The S3 bucket when one is configured, otherwise a folder under DATA_DIR. */
export function openMediaStore(
  config: Pick<Config, 's3' | 'dataDir'>,
  options?: Parameters<typeof openDiskStore>[1],
): MediaStore {
  const { s3 } = config
  if (!s3) return openDiskStore(join(config.dataDir, 'store'), options)
  // Its client takes 40 MB, which a folder does not need.
  return deferred(async () => (await import('./s3-store.ts')).openS3Store(s3))
}

/** A store that opens at its first use. */
function deferred(open: () => Promise<MediaStore>): MediaStore {
  let opened: Promise<MediaStore> | undefined
  const store = () => {
    opened ??= open()
    return opened
  }
  return {
    put: async (...given) => (await store()).put(...given),
    get: async (key) => (await store()).get(key),
    open: async (...given) => (await store()).open(...given),
    stat: async (key) => (await store()).stat(key),
    delete: async (key) => (await store()).delete(key),
    async *list(prefix) {
      yield* (await store()).list(prefix)
    },
    deletePrefix: async (prefix) => (await store()).deletePrefix(prefix),
    freeUnfinished: async (prefix, before) => (await (await store()).freeUnfinished?.(prefix, before)) ?? 0,
    room: async () => undefined,
  }
}
