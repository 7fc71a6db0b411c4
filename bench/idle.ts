import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { About } from './support/bench.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** A minute without work, the look after it, and the minute after which the models' process ends. */
const IDLE_SEC = 85

export const about: About = {
  measures:
    'Memory of each process of `npm start`, idle for over a minute after it has described the samples. Resident is ' +
    'what the system counts for a process alone, proportional shares common pages among the processes.',
  against: 'a bare Node process of the same run.',
  figures: [
    { what: 'worker, resident', at: ['resident_mb', 'worker'], unit: 'MB' },
    { what: 'API with supervision, resident', at: ['resident_mb', 'api'], unit: 'MB' },
    { what: 'all processes with npm, PostgreSQL and Redis, proportional', at: ['all_mb'], atMost: 450, unit: 'MB' },
    ...['npm', 'api', 'worker', 'postgres', 'redis-server'].map((name) => ({
      what: `of these ${name}`,
      at: ['proportional_mb', name],
      unit: 'MB',
    })),
    { what: 'the first `/livez` after the rest', at: ['after_rest_ms', 'livez'], unit: 'ms' },
    { what: 'a search after it', at: ['after_rest_ms', 'search'], unit: 'ms' },
    { what: 'another search at once', at: ['after_rest_ms', 'next_search'], unit: 'ms' },
    { what: 'a bare Node process, resident', at: ['resident_mb', 'bare'], unit: 'MB' },
    { what: 'worker ÷ bare Node', at: ['ratio'] },
    { what: 'most of all while it described the samples', at: ['peak_mb'], unit: 'MB' },
    { what: 'until it listens', at: ['listening_sec'], unit: 's' },
    { what: 'until the first picture can be seen', at: ['first_picture_sec'], atMost: 60, unit: 's' },
    { what: 'until all samples are ready', at: ['samples_ready_sec'], unit: 's' },
  ],
}

interface Use {
  pid: number
  what: string
  residentMb: number
  proportionalMb: number
}

/** Linux only: it reads /proc. */
export async function run(): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-idle-'))
  const bare = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1e6)'], { stdio: 'ignore' })
  const service = startService(folder)
  try {
    const times = await untilReady(service)
    await sleep(IDLE_SEC * 1_000)
    const uses = await usesOf(service.child.pid!)
    const [bareUse] = await usesOf(bare.pid!)
    const resident = (what: string) => Math.round(uses.find((use) => use.what === what)?.residentMb ?? Number.NaN)
    const result = {
      bench: 'idle',
      ratio: Math.round((100 * resident('worker')) / bareUse!.residentMb) / 100,
      ratio_of: 'memory of an idle worker to a bare Node process',
      resident_mb: { worker: resident('worker'), api: resident('api'), bare: Math.round(bareUse!.residentMb) },
      all_mb: Math.round(sum(uses)),
      proportional_mb: Object.fromEntries(
        [...Map.groupBy(uses, ({ what }) => what)].map(([what, those]) => [what, Math.round(sum(those))]),
      ),
      after_rest_ms: await askAfterRest(urlOf(service.output())!),
      ...times,
      processes: uses,
    }
    console.table(uses)
    return result
  } finally {
    bare.kill()
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
    times.peak_mb = Math.max(times.peak_mb, Math.round(sum(await usesOf(child.pid!))))
    await sleep(250)
  }
  times.samples_ready_sec = seconds()
  return times
}

const urlOf = (output: string) => /The service runs at (\S+)/.exec(output)?.[1]

/** What the first visitor waits for: nothing of it is kept. */
async function askAfterRest(url: string) {
  const times: Record<string, number> = {}
  const asked = { livez: '/livez', search: '/api/search?q=coffee', next_search: '/api/search?q=terminal' }
  for (const [name, path] of Object.entries(asked)) {
    const started = performance.now()
    await (await fetch(url + path)).text()
    times[name] = Math.round(performance.now() - started)
  }
  return times
}

async function hasPicture(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/frames`)
  return ((await answer.json()) as { frames: unknown[] }).frames.length > 0
}

/** The memory of a process and all that it started. */
async function usesOf(root: number): Promise<Use[]> {
  const uses: Use[] = []
  const parents = await parentsOf()
  const isOurs = (pid: number): boolean => pid === root || (parents.has(pid) && isOurs(parents.get(pid)!))
  for (const pid of parents.keys()) {
    if (!isOurs(pid)) continue
    try {
      const [command, rollup] = await Promise.all(
        ['cmdline', 'smaps_rollup'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
      )
      const mb = (name: string) => Number(new RegExp(`^${name}: +(\\d+)`, 'm').exec(rollup!)?.[1] ?? 0) / 1024
      uses.push({ pid, what: nameOf(command!), residentMb: mb('Rss'), proportionalMb: mb('Pss') })
    } catch {
      // It has ended meanwhile.
    }
  }
  return uses
}

async function parentsOf(): Promise<Map<number, number>> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
    const parent = /\) \S (\d+)/.exec(stat)?.[1]
    if (parent) parents.set(Number(name), Number(parent))
  }
  return parents
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
  return uses.reduce((total, { proportionalMb }) => total + proportionalMb, 0)
}
