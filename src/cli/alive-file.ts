import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ALIVE_EVERY_MS = 10_000

/**
 * Touches a file every ten seconds while the event loop runs, for a health check: a worker has no port. The file is in
 * a new folder that only this user can open. So the worker follows no prepared link and shares the file with no other
 * worker.
 */
export function keepAliveFile(): Disposable {
  let folder: string | undefined
  const touch = () => {
    try {
      folder ??= mkdtempSync(join(tmpdir(), 'frames-worker-'))
      writeFileSync(join(folder, 'alive'), String(Date.now()), { mode: 0o600 })
    } catch {
      // The health check fails; the work goes on.
    }
  }
  touch()
  const timer = setInterval(touch, ALIVE_EVERY_MS)
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      if (folder) rmSync(folder, { recursive: true, force: true })
    },
  }
}
