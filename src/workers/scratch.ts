import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

/** Longer than any job may take. */
const ABANDONED_MS = 24 * 60 * 60_000

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, '') || 'host'

/** Creates a folder for one job, named after the process that will remove it. */
export async function makeScratch(root: string, label: string): Promise<string> {
  await mkdir(root, { recursive: true })
  return mkdtemp(join(root, `${HOST}.${process.pid}.${label}-`))
}

/** Removes the folders of killed processes of this machine, and every folder older than a day. Returns their number. */
export async function sweepScratch(root: string, now = Date.now()): Promise<number> {
  const names = await readdir(root).catch(() => [])
  const startedAt = now - process.uptime() * 1_000
  let removed = 0
  for (const name of names) {
    const path = join(root, name)
    const made = await stat(path).then(
      (found) => found.birthtimeMs || found.ctimeMs,
      () => now,
    )
    const [host, pid] = name.split('.')
    // Process ids are reused: a folder older than this process belonged to another one.
    const orphaned = host === HOST && (Number(pid) === process.pid ? made < startedAt - 1_000 : !isAlive(Number(pid)))
    if (!orphaned && now - made < ABANDONED_MS) continue
    await rm(path, { recursive: true, force: true })
    removed++
  }
  return removed
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
