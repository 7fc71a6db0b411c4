import type { MediaStore } from '../media/media-store.ts'
import { copyOf, findIn, type KnownFiles } from './file-lists.ts'
import { folderOf, listBackups, manifestKey, readManifest } from './manifest.ts'
import { listFiles } from './verify.ts'

/**
 * Removes all but the newest `keep` whole backups of a place, then the files that none of these names. No other backup
 * may write there meanwhile. A list that cannot be read ends it before any file is removed.
 */
export async function pruneBackups(place: MediaStore, keep: number): Promise<number> {
  const whole = (await listBackups(place)).filter((backup) => backup.whole)
  const old = whole.slice(0, -keep)
  if (old.length === 0) return 0
  const kept = await Promise.all(whole.slice(-keep).map(({ name }) => readManifest(place, name)))
  for (const manifest of kept) for await (const _file of listFiles(place, manifest));
  for (const { name } of old) {
    // The manifest goes first, so that a backup half removed does not look whole.
    await place.delete(manifestKey(name))
    await place.deletePrefix(`${folderOf(name)}/`)
  }
  const copied = kept.filter(({ images }) => images.mode === 'copy')
  await removeUnnamed(place, await findIn(copied.map((manifest) => listFiles(place, manifest))))
  return old.length
}

async function removeUnnamed(place: MediaStore, kept: KnownFiles): Promise<void> {
  let last = ''
  for await (const { key } of place.list(copyOf(''))) {
    // The lists are read along with the listing, so both must be sorted.
    if (key <= last) throw new Error('the place does not list its files in order')
    last = key
    if (!(await kept.find(key.slice(copyOf('').length)))) await place.delete(key)
  }
}
