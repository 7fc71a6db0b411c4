import { z } from 'zod'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'

const OWNER = 'library.json'

const Owner = z.object({ library: z.string() })

/**
 * Reserves a place for one library by the file `library.json`: two libraries in one place would remove each other's
 * files. The first library that backs up there takes it.
 * @throws BackupFailure when the place belongs to another library
 */
export async function takePlace(place: MediaStore, library: string): Promise<void> {
  const bytes = await place.get(OWNER)
  if (!bytes) {
    await place.put(OWNER, Buffer.from(`${JSON.stringify({ library })}\n`), 'application/json')
    return
  }
  if (ownerIn(bytes.toString()) !== library)
    throw new BackupFailure(
      'This place holds backups of another library. Choose another folder or prefix: ' +
        'each library needs one of its own.',
    )
}

/** Undefined for a text that names no library. */
function ownerIn(text: string): string | undefined {
  try {
    return Owner.parse(JSON.parse(text)).library
  } catch {
    return undefined
  }
}
