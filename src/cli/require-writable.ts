import { accessSync, constants } from 'node:fs'
import { makeFolder } from '../backup/place.ts'
import { CliError } from './failure.ts'

/** Fails at the start, instead of with every video. @throws CliError with what to do */
export function requireWritable(folder: string): void {
  try {
    makeFolder(folder)
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    const text = describeAccess(error)
    if (text) throw new CliError(text)
    throw error
  }
}

/** One line for a file or folder that this process may not use; undefined for another failure. */
export function describeAccess(error: unknown): string | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (path === undefined) return undefined
  if (code === 'EROFS') return `${path} is on a read-only file system. Mount a folder for DATA_DIR that can be written.`
  if (syscall === 'mkdir' && ['ENOENT', 'EEXIST', 'ENOTDIR'].includes(String(code)))
    return `No folder can be made at ${path}. Set DATA_DIR to another folder.`
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const user = process.getuid?.() ?? 'unknown'
  return (
    `User ${user} may not write ${path}. Give the folder of DATA_DIR to this user: ` +
    `on the machine that holds it, run chown -R ${user} on it.`
  )
}
