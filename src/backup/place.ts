import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { openDiskStore } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'
import { makeFolder } from './make-folder.ts'

/** Where backups are: a folder, or a prefix in an S3 bucket. */
export interface Place {
  /** As the operator wrote it. */
  at: string
  store: MediaStore
  close(): void
}

/**
 * Opens `<folder>` or `s3://<bucket>/<prefix>`. A folder is created for its owner alone if `create` is set.
 * @throws BackupFailure
 */
export async function openPlace(
  at: string,
  { backupS3 }: Pick<Config, 'backupS3'>,
  { create = false }: { create?: boolean } = {},
): Promise<Place> {
  const bucket = /^s3:\/\/([^/]+)(?:\/(.*?))?\/*$/.exec(at)
  if (bucket) {
    if (!backupS3)
      throw new BackupFailure(
        'A backup in a bucket needs BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY, or S3_ACCESS_KEY and S3_SECRET_KEY.',
      )
    const prefix = bucket[2] ? `${bucket[2]}/` : ''
    const { openS3Store } = await import('../media/s3-store.ts')
    const store = openS3Store({ ...backupS3, bucket: bucket[1]!, prefix })
    return { at, store, close: () => store.close() }
  }
  if (/^[a-z0-9]+:\/\//i.test(at))
    throw new BackupFailure(`${at} is neither a folder nor an address such as s3://bucket/prefix.`)
  const folder = resolve(at)
  if (create) makeFolder(folder)
  else if (!(await stat(folder).catch(() => undefined))?.isDirectory())
    throw new BackupFailure(`There is no folder ${at}. Check the name of the place.`)
  return { at, store: openDiskStore(folder, { syncLater: true }), close: () => undefined }
}
