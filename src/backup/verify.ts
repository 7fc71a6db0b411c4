import { forEachAtOnce } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { COPIES_AT_ONCE, copyOf, forEachFolder, type ListedFile, listFiles, measureFile } from './copy-files.ts'
import { damaged } from './failure.ts'
import { chooseBackup, type Manifest, readManifest } from './manifest.ts'
import type { Progress } from './streams.ts'

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
  if (images.mode === 'copy')
    await forEachFolder<ListedFile>(listFiles(place, manifest), { store: place, toKey: copyOf }, async (folder) => {
      await forEachAtOnce(COPIES_AT_ONCE, folder, ({ key, bytes, sha256 }) =>
        requireWhole(place, { file: copyOf(key), bytes, sha256: sha256! }),
      )
      done += folder.length
      onProgress?.({ step: 'images', done, total: images.files })
    })
  else for await (const _file of listFiles(place, manifest)) done++
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

/**
 * Looks before a restore whether tables, lists and files are there, with their sizes. Contents are checked as they are
 * read.
 */
export async function requireFiles(place: MediaStore, manifest: Manifest): Promise<void> {
  const { tables, images, operator_key } = manifest
  for (const { file, bytes } of [...tables, ...images.lists, ...(operator_key ? [operator_key] : [])]) {
    const found = await place.stat(file)
    if (!found) throw damaged(`${file} is missing`)
    if (found.bytes !== bytes) throw damaged(`${file} has ${found.bytes} bytes instead of ${bytes}`)
  }
  if (images.mode !== 'copy') return
  await forEachFolder(listFiles(place, manifest), { store: place, toKey: copyOf }, async (folder, sizes) => {
    for (const { key, bytes } of folder) {
      const found = sizes.get(copyOf(key))
      if (found === undefined) throw damaged(`${copyOf(key)} is missing`)
      if (found !== bytes) throw damaged(`${copyOf(key)} has ${found} bytes instead of ${bytes}`)
    }
  })
}

async function requireWhole(place: MediaStore, stored: { file: string; bytes: number; sha256: string }): Promise<void> {
  const found = await measureFile({ store: place, key: stored.file })
  if (!found) throw damaged(`${stored.file} is missing`)
  if (found.bytes !== stored.bytes || found.sha256 !== stored.sha256)
    throw damaged(`${stored.file} has another checksum`)
}
