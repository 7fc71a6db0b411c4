import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const SHARED_MEMORY = '/dev/shm'
const NEEDED_BYTES = 2 * 1024 ** 3

/**
 * Where the tests keep their databases: in memory on Linux, where there is room. A database is then copied in 40 ms
 * instead of 300 to 900, and PostgreSQL starts in one second instead of four.
 */
export function memoryFolder(): string {
  try {
    accessSync(SHARED_MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(SHARED_MEMORY)
    return bavail * bsize >= NEEDED_BYTES ? SHARED_MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
