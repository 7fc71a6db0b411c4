import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openEnding } from './ending.ts'
import { eachProcess, isUnder } from './processes.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The memory of all processes of `npm start`, in megabytes, when it has described the samples and then had nothing to
 * do for some seconds. Proportional shares common pages among the processes. Linux only: it reads /proc.
 */
export async function memoryAtRest(seconds: number): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-rest-'))
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = once(child, 'exit')
  const ending = openEnding()
  ending.defer(() => rm(dataDir, { recursive: true, force: true }))
  ending.defer(async () => {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGINT')
    await ended
  })
  try {
    let output = ''
    const keep = (chunk: Buffer) => {
      output += chunk
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    while (!/^The wall: /m.test(output)) {
      if (child.exitCode !== null) throw new Error(`npm start ended: ${output}`)
      await sleep(250)
    }
    await sleep(seconds * 1_000)
    const shares = eachProcess(
      (pid) => isUnder(child.pid!, pid),
      (pid) => Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024,
    )
    return Math.round(shares.reduce((total, mb) => total + mb, 0))
  } finally {
    await ending.leave()
  }
}
