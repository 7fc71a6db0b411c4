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

const msOf = (ticks: readonly string[]): number => ticks.reduce((sum, tick) => sum + Number(tick) * 10, 0)

/** CPU time of a server and its processes, those that have ended included. */
export const postgresCpuMs = (postmaster: number): number =>
  msOf(statOf(postmaster).slice(11, 13)) + childrenCpuMs(postmaster)

/** CPU time of the processes that one has started, those that have ended included. */
export function childrenCpuMs(root: number): number {
  const running = eachProcess(
    (_, parent) => parent === root,
    (pid) =>
      readdirSync(`/proc/${pid}/task`)
        .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
        .reduce((sum, ms) => sum + ms, 0),
  )
  return running.reduce((sum, ms) => sum + ms, msOf(statOf(root).slice(13, 15)))
}
