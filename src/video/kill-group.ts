import type { ChildProcess } from 'node:child_process'

/** Kills a child that was started detached, with every process it has started. Does nothing once they have ended. */
export function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}
