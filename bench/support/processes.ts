import { readdirSync, readFileSync } from 'node:fs'
import type { Db } from '../../src/db/client.ts'
import { sql } from '../../src/sql/orm.ts'

/** What Linux tells of processes. */

const statOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
const parentOf = (pid: number): number => Number(statOf(pid)[1])

/** What `tell` says of each process that `isWanted`. Those that end meanwhile are left out. */
export function eachProcess<T>(isWanted: (pid: number, parent: number) => boolean, tell: (pid: number) => T): T[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return isWanted(Number(name), parentOf(Number(name))) ? [tell(Number(name))] : []
      } catch {
        return []
      }
    })
}

/** Whether a process is `root` or was started by it or by one that it started. */
export const isUnder = (root: number, pid: number): boolean => pid === root || (pid > 1 && isUnder(root, parentOf(pid)))

export async function postmasterOf(db: Db): Promise<number> {
  const { rows } = await db.execute(sql`select pg_backend_pid() as pid`)
  return parentOf(Number((rows[0] as { pid: number }).pid))
}

/** CPU time of a server and its processes, those that have ended included. */
export function postgresCpuMs(postmaster: number): number {
  const ended = statOf(postmaster)
    .slice(11, 15)
    .reduce((sum, tick) => sum + Number(tick) * 10, 0)
  const running = eachProcess(
    (_, parent) => parent === postmaster,
    (pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
  )
  return running.reduce((sum, ms) => sum + ms, ended)
}
