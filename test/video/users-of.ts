import { readdirSync, readFileSync } from 'node:fs'

/** Other processes whose command line names the file (Linux). */
export function usersOf(file: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(file)
      } catch {
        return false
      }
    })
}
