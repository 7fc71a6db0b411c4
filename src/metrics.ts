import { performance } from 'node:perf_hooks'
import { LRUCache } from 'lru-cache'
import { Counter, Gauge, Registry } from 'prom-client'
import { inTime } from './turns.ts'

/** What one store says about itself. */
export interface Family {
  name: string
  help: string
  type: 'counter' | 'gauge'
  samples: readonly { labels?: Readonly<Record<string, string>>; value: number }[]
}

/** Asks one store. What it returns is kept for five seconds. */
export interface Source {
  /** From a closed list: it is a label of `frames_collect_errors_total`. */
  name: string
  collect(): Promise<readonly Family[]>
}

export function gauge(name: string, help: string, samples: Family['samples']): Family {
  return { name, help, type: 'gauge', samples }
}

export function counter(name: string, help: string, samples: Family['samples']): Family {
  return { name, help, type: 'counter', samples }
}

const KEPT_MS = 5_000
const DEADLINE_MS = 2_000

/**
 * All metrics as text, within two seconds: those of a registry, and those of stores. A source that fails or is late is
 * left out and counted, because an old value would look like a new one.
 */
export function openMetrics(own: Registry, sources: readonly Source[] = []): () => Promise<string> {
  const errors = new Counter({
    name: 'frames_collect_errors_total',
    help: 'Reads of metrics in which a store did not answer in time.',
    labelNames: ['source'],
    registers: [own],
  })
  for (const { name } of sources) errors.inc({ source: name }, 0)
  // One request at a time is under way for each source, even while it hangs. A failure is not kept.
  const texts = new LRUCache<string, string, Source>({
    max: 100,
    ttl: KEPT_MS,
    ignoreFetchAbort: true,
    fetchMethod: async (_name, _stale, { context }) => textOf(await context.collect()),
  })

  async function ask(source: Source): Promise<string> {
    try {
      const text = texts.fetch(source.name, { context: source })
      return (await inTime(text, DEADLINE_MS, () => new Error('too late'))) ?? ''
    } catch {
      errors.inc({ source: source.name })
      return ''
    }
  }

  return async () => {
    const found = await Promise.all(sources.map(ask))
    return [...found, await own.metrics()].filter((text) => text !== '').join('\n')
  }
}

function textOf(families: readonly Family[]): Promise<string> {
  const registry = new Registry()
  for (const { name, help, type, samples } of families) {
    const labelNames = Object.keys(samples[0]?.labels ?? {})
    const options = { name, help, labelNames, registers: [registry] }
    const metric = type === 'gauge' ? new Gauge(options) : new Counter(options)
    // One without labels would begin with 0.
    if (samples.length === 0) metric.remove()
    for (const { labels = {}, value } of samples) metric.inc(labels, value)
  }
  return registry.metrics()
}

/** The metrics of every process: its version, processor time, memory and connections to PostgreSQL. */
export function openProcessMetrics({
  version,
  part,
  pool,
}: {
  version: string
  part: 'api' | 'worker'
  pool: PoolCounts
}): Registry {
  const registry = new Registry()
  const registers = [registry]
  const total = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  new Gauge({
    name: 'frames_build_info',
    help: 'The version that runs, as a label.',
    labelNames: ['version', 'part'],
    registers,
  }).set({ version, part }, 1)
  new Gauge({
    name: 'frames_pg_pool',
    help: 'Connections of this process to PostgreSQL, and requests that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
  total('process_cpu_seconds_total', 'Processor time of this process.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When this process started, in seconds since 1970.',
    registers,
  }).set(Math.round(Date.now() / 1_000 - process.uptime()))
  total(
    'frames_event_loop_busy_seconds_total',
    'Time in which the event loop was at work.',
    () => performance.eventLoopUtilization().active / 1_000,
  )
  return registry
}

interface PoolCounts {
  totalCount: number
  idleCount: number
  waitingCount: number
}
