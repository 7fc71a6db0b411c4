import { StorageFull } from '../media/disk-store.ts'

/** A backup or restore cannot go on. The message is one line and says what to do. */
export class BackupFailure extends Error {}

export function damaged(what: string): BackupFailure {
  return new BackupFailure(`The backup is damaged: ${what}. Choose an earlier one with --backup, or make a new one.`)
}

/** What an error of the database, a disk or a bucket means for the user. Undefined for a fault of ours. */
export function explain(error: unknown, { place }: { place: string }): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code, name, syscall } = cause as { code?: unknown; name: string; syscall?: unknown }
    if (code === 'ENOENT' && syscall === 'mkdir')
      return `No folder can be made there: ${place}. Choose another destination.`
    const status = (cause as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
    const found = byCode(String(code), place) ?? byBucket(name, status, place)
    if (found !== undefined) return found
  }
  return error instanceof StorageFull ? noRoom(place) : undefined
}

function noRoom(place: string): string {
  return `No space is left on the device. Free space for ${place} and DATA_DIR, then run this again: it continues.`
}

function byCode(code: string, place: string): string | undefined {
  switch (code) {
    case '28P01':
    case '28000':
      return 'The database refuses this user or password. Correct them in DATABASE_URL, then run this again.'
    case '3D000':
      return 'The database that DATABASE_URL names does not exist. Create it, then run this again.'
    case '42501':
      return 'This database user may not do that. Use the owner of the database in DATABASE_URL.'
    case '53100':
      return "The database's disk is full. Free space there, then run this again."
    case 'ENOSPC':
    case 'EDQUOT':
      return noRoom(place)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `This user may not write there: ${place}. Give it the rights, or choose another destination.`
    case 'ENOTDIR':
    case 'EEXIST':
      return `${place} is not a folder. Choose another destination.`
    default:
      return undefined
  }
}

function byBucket(name: string, status: number | undefined, place: string): string | undefined {
  if (status === undefined) return undefined
  if (/NoSuchBucket/.test(name)) return `The bucket of ${place} does not exist. Create it, or correct the name.`
  if (status === 507 || /Quota|StorageFull|InsufficientStorage|EntityTooLarge/i.test(name))
    return `The bucket of ${place} takes no more data (${name}). Make room in it, then run this again: it continues.`
  if (status === 401 || status === 403)
    return (
      `The bucket of ${place} refuses this key (${name}). ` +
      'Check BACKUP_S3_ACCESS_KEY or S3_ACCESS_KEY, its secret and its rights.'
    )
  return undefined
}
