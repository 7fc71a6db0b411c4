import { type ChildProcess, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { platform } from 'node:os'

/** The arguments of a running process joined by spaces; undefined when there is no such process. */
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

/** Resolves when the process is gone, or after `ms` with false. For processes that are not our children. */
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
    // A zombie has ended; only its parent has not yet looked.
    return platform() !== 'linux' || !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Asks a child to end, and after `ms` insists. */
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
