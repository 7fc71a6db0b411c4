import { type ChildProcess, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { platform } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The arguments of a running process, joined by spaces. Undefined when there is no such process. */
export function commandLine(pid: number): string | undefined {
  try {
    if (platform() === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() || undefined
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined
  }
}

/** Waits until a process that is not our child has ended. False when it still runs after `ms`. */
export async function untilGone(pid: number, ms: number): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; ) {
    if (!alive(pid)) return true
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return !alive(pid)
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie has ended; its parent has not collected it yet.
    return platform() !== 'linux' || !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Sends `ask` to a child, and `insist` when it still runs after `ms`. */
export async function stopChild(
  child: ChildProcess,
  ask: NodeJS.Signals,
  insist: NodeJS.Signals,
  ms: number,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill(ask)
  const timer = setTimeout(() => child.kill(insist), ms)
  await exit
  clearTimeout(timer)
}

/** A loopback port that is free now, outside the range from which systems take ports by themselves. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(20_000, 32_000)
    if ((await portTrouble(port, '127.0.0.1')) === undefined) return port
  }
  throw new Error('no port')
}

/**
 * The error code with which listening there fails now (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`). Undefined when it
 * succeeds.
 */
export async function portTrouble(port: number, host: string | undefined): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}

/** PostgreSQL or Redis cannot run on this machine. The message is one line and says what to do. */
export class LocalFailure extends Error {}

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

const SQLITE_BUSY = 5
