import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Claim {
  release(): void
}

/**
 * Locks the data folder, which must exist, for this process. Undefined when another process has it. SQLite's lock is a
 * kernel lock, so it ends with the process and leaves no stale file.
 */
export function claimDataDir(dir: string): Claim | undefined {
  const lock = new DatabaseSync(join(dir, 'lock'), { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw error
  }
  return { release: () => lock.close() }
}

/**
 * Closes what earlier versions left open to other users. The folder itself stays as it is: where PostgreSQL runs as
 * another user than root, that user passes through it.
 */
export function closeToOthers(dir: string): void {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name)
    const found = lstatSync(path)
    if ((found.mode & 0o077) !== 0 && !found.isSymbolicLink()) chmodSync(path, found.mode & 0o700)
  }
}

const SQLITE_BUSY = 5
