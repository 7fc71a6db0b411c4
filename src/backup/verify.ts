import { forEachAtOnce } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { damaged } from './failure.ts'
import { COPIES_AT_ONCE, copyOf, listFiles, measureFile } from './files.ts'
import { chooseBackup, readManifest } from './manifest.ts'
import type { Progress, StoredFile } from './streams.ts'

export type VerifyReport = Awaited<ReturnType<typeof verifyBackup>>

/**
 * Reads a whole backup and compares every file with its checksum.
 * @throws BackupFailure for the first that differs
 */
export async function verifyBackup({
  place,
  at,
  backup,
  onProgress,
}: {
  place: MediaStore
  at: string
  backup?: string | undefined
  onProgress?: (progress: Progress) => void
}) {
  const name = await chooseBackup(place, at, backup)
  const manifest = await readManifest(place, name)
  const { tables, images, operator_key } = manifest
  for (const [n, stored] of [...tables, ...(operator_key ? [operator_key] : [])].entries()) {
    onProgress?.({ step: 'tables', done: n, total: tables.length })
    await requireWhole(place, stored)
  }
  let done = 0
  await forEachAtOnce(COPIES_AT_ONCE, listFiles(place, manifest), async ({ key, ...content }) => {
    await requireWhole(place, { file: copyOf(key), ...content })
    done++
    onProgress?.({ step: 'images', done, total: images.files })
  })
  return {
    backup: name,
    created_at: manifest.created_at,
    version: manifest.version,
    tables: tables.length,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    images: done,
    image_bytes: images.bytes,
    images_missing: images.missing,
  }
}

async function requireWhole(place: MediaStore, { file, bytes, sha256 }: StoredFile): Promise<void> {
  const found = await measureFile({ store: place, key: file })
  if (!found) throw damaged(`${file} is missing`)
  if (found.bytes !== bytes || found.sha256 !== sha256) throw damaged(`${file} has another checksum`)
}
