import { type ChildProcess, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { platform } from 'node:os'

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
