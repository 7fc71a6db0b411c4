import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { About } from './support/bench.ts'
import { eachProcess, isUnder } from './support/processes.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** A minute without work, the look after it, and the minute after which the models' process ends. */
const IDLE_SEC = 85

export const about: About = {
  measures:
    'Memory of each process of `npm start`, idle for over a minute after it has described the samples. Proportional ' +
    'shares common pages among the processes. Also how long a first start takes.',
  against: 'nothing: the limits are for the whole service.',
  figures: [
    { what: 'all processes with npm, PostgreSQL and Redis', at: ['all_mb'], atMost: 450, unit: 'MB' },
    ...['npm', 'api', 'worker', 'postgres', 'redis-server'].map((name) => ({
      what: `of these ${name}`,
      at: ['proportional_mb', name],
      unit: 'MB',
    })),
    { what: 'most of all while it described the samples', at: ['peak_mb'], unit: 'MB' },
    { what: 'until it listens', at: ['listening_sec'], unit: 's' },
    { what: 'until the first picture can be seen', at: ['first_picture_sec'], atMost: 60, unit: 's' },
    { what: 'until all samples are ready', at: ['samples_ready_sec'], unit: 's' },
  ],
}

interface Use {
  pid: number
  what: string
  mb: number
}

/** Linux only: it reads /proc. */
export async function run(): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-idle-'))
  const service = startService(folder)
  try {
    const times = await untilReady(service)
    await sleep(IDLE_SEC * 1_000)
    const uses = usesOf(service.child.pid!)
    console.table(uses)
    const byName = Map.groupBy(uses, ({ what }) => what)
    const proportional_mb = Object.fromEntries([...byName].map(([what, those]) => [what, sum(those)]))
    return { bench: 'idle', all_mb: sum(uses), proportional_mb, ...times }
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Service {
  child: ChildProcess
  output(): string
  stop(): Promise<void>
}

function startService(dataDir: string): Service {
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    child,
    output: () => output,
    async stop() {
      process.kill(-child.pid!, 'SIGINT')
      await ended
    },
  }
}

/** Follows the first start: when it listens, when a picture can be seen, when all are described. */
async function untilReady({ child, output }: Service) {
  const started = performance.now()
  const seconds = () => Math.round((performance.now() - started) / 100) / 10
  const times = { listening_sec: Number.NaN, first_picture_sec: Number.NaN, samples_ready_sec: Number.NaN, peak_mb: 0 }
  while (!/^The wall: /m.test(output())) {
    if (child.exitCode !== null) throw new Error(`npm start ended: ${output()}`)
    const url = urlOf(output())
    if (url && Number.isNaN(times.listening_sec)) times.listening_sec = seconds()
    if (url && Number.isNaN(times.first_picture_sec) && (await hasPicture(url))) times.first_picture_sec = seconds()
    times.peak_mb = Math.max(times.peak_mb, sum(usesOf(child.pid!)))
    await sleep(250)
  }
  times.samples_ready_sec = seconds()
  return times
}

const urlOf = (output: string) => /The service runs at (\S+)/.exec(output)?.[1]

async function hasPicture(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/frames`)
  return ((await answer.json()) as { frames: unknown[] }).frames.length > 0
}

/** The memory of a process and all that it started. */
function usesOf(root: number): Use[] {
  return eachProcess(
    (pid) => isUnder(root, pid),
    (pid) => {
      const [command, rollup] = ['cmdline', 'smaps_rollup'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
      return { pid, what: nameOf(command!), mb: Number(/^Pss: +(\d+)/m.exec(rollup!)?.[1] ?? 0) / 1024 }
    },
  )
}

function nameOf(command: string): string {
  const line = command.replaceAll('\0', ' ').trim()
  if (/cli\.ts start$/.test(line)) return 'api'
  if (/cli\.ts worker$/.test(line)) return 'worker'
  if (/measuring-process/.test(line)) return 'measuring'
  if (/extraction-process/.test(line)) return 'extraction'
  if (/^\S*postgres/.test(line)) return 'postgres'
  return line.split(' ')[0]!.split('/').at(-1)!
}

function sum(uses: readonly Use[]): number {
  return Math.round(uses.reduce((total, { mb }) => total + mb, 0))
}
