import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { memoryFolder } from '../support/memory-folder.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { until } from '../support/until.ts'

// A terminal sends Ctrl-C to all processes of a start, and so to initdb too.

function initdbOf(dataDir: string): boolean {
  return readdirSync('/proc').some((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`--pgdata=${dataDir}/`)
    } catch {
      return false
    }
  })
}

test.skipIf(process.platform !== 'linux')('Ctrl-C while the cluster is made is no failure', async () => {
  const dataDir = mkdtempSync(join(memoryFolder(), 'frames-broken-off-'))
  try {
    // With a Redis from elsewhere nothing else is waited for: a failure of initdb would end the start at once.
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...NODE_SETTINGS, PORT: '0', DATA_DIR: dataDir }
    const child = spawn(process.execPath, ['src/cli/main.ts', 'start'], {
      env: { ...env, REDIS_URL: inject('redisUrl') },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    const closed = once(child, 'close')
    await until(() => initdbOf(dataDir))
    process.kill(-child.pid!, 'SIGINT')
    expect([await closed, output]).toEqual([[0, null], 'Stopping …\n'])
    expect(initdbOf(dataDir)).toBe(false)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
