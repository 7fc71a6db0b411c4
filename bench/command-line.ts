import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { About } from './support/bench.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
const ROUNDS = 9

export const about: About = {
  measures: 'CPU seconds of a command from its start to its end, with the compiled code that the first start has kept.',
  against: 'a bare Node process that does nothing, in turns. Medians.',
  figures: [
    { what: '`frames --version`', at: ['cpu_sec', 'version'], atMost: 0.15, unit: 's' },
    { what: '`frames --help`', at: ['cpu_sec', 'help'], atMost: 0.15, unit: 's' },
    { what: '`frames add --help`', at: ['cpu_sec', 'add_help'], unit: 's' },
    { what: '`frames status`', at: ['cpu_sec', 'status'], atMost: 0.6, unit: 's' },
    { what: 'bare Node', at: ['cpu_sec', 'bare'], unit: 's' },
    { what: '`frames --version` ÷ bare Node', at: ['ratio'] },
    { what: '`frames status` ÷ bare Node', at: ['ratios', 'status'] },
  ],
}

export async function run(args: string[]): Promise<object> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-command-'))
  await using database = await openTemporaryDatabase()
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    REDIS_URL: 'redis://127.0.0.1:1',
  }
  const calls = {
    bare: ['-e', '0'],
    version: [CLI, '--version'],
    help: [CLI, '--help'],
    add_help: [CLI, 'add', '--help'],
    status: [CLI, 'status'],
  }
  const measured = Object.fromEntries(Object.keys(calls).map((name) => [name, [] as number[]]))
  try {
    for (let n = 0; n <= ROUNDS; n++)
      for (const [name, call] of Object.entries(calls)) {
        const seconds = cpuSeconds(call, env)
        // The first round fills the caches.
        if (n > 0) measured[name]!.push(seconds)
      }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
  const cpu = Object.fromEntries(Object.entries(measured).map(([name, list]) => [name, round(median(list))]))
  const ratios = Object.fromEntries(Object.entries(cpu).map(([name, seconds]) => [name, round(seconds / cpu.bare!)]))
  if (!args.includes('--json')) console.table({ 'CPU s': cpu, '÷ bare Node': ratios })
  return {
    bench: 'command-line',
    ratio: ratios.version,
    ratio_of: 'frames --version to bare Node, CPU',
    cpu_sec: cpu,
    ratios,
  }
}

function cpuSeconds(args: readonly string[], env: NodeJS.ProcessEnv): number {
  const timed = ['-c', 'TIMEFORMAT="%U %S"; time "$0" "$@" > /dev/null', process.execPath, ...args]
  const { status, stderr } = spawnSync('bash', timed, { encoding: 'utf8', env })
  const times = /([\d.]+) ([\d.]+)\s*$/.exec(stderr)
  if (status !== 0 || !times) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return Number(times[1]) + Number(times[2])
}
