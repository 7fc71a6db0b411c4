import { StorageFull } from '../media/disk-store.ts'

/** A backup or restore cannot go on. The message is one line and says what to do. */
export class BackupFailure extends Error {}

export function damaged(what: string): BackupFailure {
  return new BackupFailure(`The backup is damaged: ${what}. Choose an earlier one with --backup, or make a new one.`)
}

/** What an error of the folder or of the database's rights means for the user. Undefined for another error. */
export function explain(error: unknown, { folder }: { folder: string }): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' && syscall === 'mkdir')
      return `No folder can be made there: ${folder}. Choose another folder.`
    const found = byCode(String(code), folder)
    if (found !== undefined) return found
  }
  return error instanceof StorageFull && error.place === 'disk' ? noRoom(folder) : undefined
}

function noRoom(folder: string): string {
  return `No space is left on the device. Free space for ${folder} and DATA_DIR, then run this again.`
}

function byCode(code: string, folder: string): string | undefined {
  switch (code) {
    case '42501':
      return 'This database user may not do that. Use the owner of the database in DATABASE_URL.'
    case 'ENOSPC':
    case 'EDQUOT':
      return noRoom(folder)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `This user may not write there: ${folder}. Give it the rights, or choose another destination.`
    case 'ENOTDIR':
    case 'EEXIST':
      return `${folder} is not a folder. Choose another folder.`
    default:
      return undefined
  }
}
