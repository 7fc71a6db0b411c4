import { performance } from 'node:perf_hooks'

/**
 * Metrics in the text format of Prometheus (0.0.4). Frequent observations are counted in arrays of this process. The
 * stores are asked only when the metrics are read.
 */

type Labels = Readonly<Record<string, string>>

/** One name with its values. */
export interface Family {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  /** `suffix` is what a histogram appends to the name. */
  samples: readonly { labels?: Labels; value: number; suffix?: string }[]
}

/** Asks one store. What it returns is kept for five seconds. */
export interface Source {
  /** From a closed list: it is a label of `frames_collect_errors_total`. */
  name: string
  collect(): Promise<readonly Family[]>
}

/** Values of one histogram for one set of labels. */
export interface Series {
  readonly labels: Labels
  /** One count for each bucket and one for values above all of them. Not cumulative. */
  readonly counts: Float64Array
  sum: number
}

export interface Histogram {
  /** The series of these labels; take it once where observations are frequent. */
  series(labels: Labels): Series
  family(): Family
}

/** `buckets`: upper limits, rising, in the unit of the name. */
export function openHistogram({
  name,
  help,
  buckets,
}: {
  name: string
  help: string
  buckets: readonly number[]
}): Histogram & { observe(series: Series, value: number): void } {
  const all = new Map<string, Series>()
  return {
    series(labels) {
      const key = JSON.stringify(labels)
      let found = all.get(key)
      if (!found) {
        found = { labels, counts: new Float64Array(buckets.length + 1), sum: 0 }
        all.set(key, found)
      }
      return found
    },
    observe(series, value) {
      let at = 0
      while (at < buckets.length && value > buckets[at]!) at++
      series.counts[at]!++
      series.sum += value
    },
    family: () => ({
      name,
      help,
      type: 'histogram',
      samples: [...all.values()].flatMap((one) => toSamples(one, buckets)),
    }),
  }
}

function toSamples({ labels, counts, sum }: Series, buckets: readonly number[]): Family['samples'][number][] {
  let count = 0
  const samples = [...counts].map((n, at) => {
    count += n
    const le = at < buckets.length ? String(buckets[at]) : '+Inf'
    return { suffix: '_bucket', labels: { ...labels, le }, value: count }
  })
  return [...samples, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: count }]
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
 * All metrics as text, within two seconds. A source that fails or is late is left out and counted, because an old value
 * would look like a new one.
 */
export function openMetrics(
  { own, sources }: { own: () => readonly Family[]; sources: readonly Source[] },
  { keptMs = KEPT_MS, deadlineMs = DEADLINE_MS }: { keptMs?: number; deadlineMs?: number } = {},
): () => Promise<string> {
  const failures = new Map(sources.map(({ name }) => [name, 0]))
  const asked = sources.map((source) => keptFor(keptMs, source))

  async function ask(at: number): Promise<readonly Family[]> {
    try {
      return await within(deadlineMs, asked[at]!())
    } catch {
      const { name } = sources[at]!
      failures.set(name, failures.get(name)! + 1)
      return []
    }
  }

  return async () => {
    const found = await Promise.all(sources.map((_, at) => ask(at)))
    const errors = counter(
      'frames_collect_errors_total',
      'Reads of metrics in which a store did not answer in time.',
      [...failures].map(([source, value]) => ({ labels: { source }, value })),
    )
    return toText([...own(), ...found.flat(), errors])
  }
}

/** Asks one at a time, even while the last request hangs. A failure is not kept. */
function keptFor(ms: number, { collect }: Source): () => Promise<readonly Family[]> {
  let kept: { families: readonly Family[]; until: number } | undefined
  let asking: Promise<readonly Family[]> | undefined
  return () => {
    if (kept && performance.now() < kept.until) return Promise.resolve(kept.families)
    asking ??= collect()
      .then((families) => {
        kept = { families, until: performance.now() + ms }
        return families
      })
      .finally(() => {
        asking = undefined
      })
    return asking
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, ms, new Error('too late'))
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function toText(families: readonly Family[]): string {
  let text = ''
  for (const { name, help, type, samples } of families) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    for (const { labels = {}, value, suffix = '' } of samples) text += `${name}${suffix}${toLabels(labels)} ${value}\n`
  }
  return text
}

function toLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}

const escaped = (letter: string): string => (letter === '\n' ? '\\n' : `\\${letter}`)

/** The metrics of every process: its version, processor time, memory and connections to PostgreSQL. */
export function processFamilies({
  version,
  part,
  pool,
}: {
  version: string
  part: 'api' | 'worker'
  pool: PoolCounts
}): Family[] {
  const { user, system } = process.cpuUsage()
  const busy = pool.totalCount - pool.idleCount
  return [
    gauge('frames_build_info', 'The version that runs, as a label.', [{ labels: { version, part }, value: 1 }]),
    gauge('frames_pg_pool', 'Connections of this process to PostgreSQL, and requests that wait for one.', [
      { labels: { state: 'busy' }, value: busy },
      { labels: { state: 'idle' }, value: pool.idleCount },
      { labels: { state: 'waiting' }, value: pool.waitingCount },
    ]),
    counter('process_cpu_seconds_total', 'Processor time of this process.', [{ value: (user + system) / 1e6 }]),
    gauge('process_resident_memory_bytes', 'Memory of this process.', [{ value: process.memoryUsage.rss() }]),
    gauge('process_start_time_seconds', 'When this process started, in seconds since 1970.', [
      { value: Math.round(Date.now() / 1_000 - process.uptime()) },
    ]),
    counter('frames_event_loop_busy_seconds_total', 'Time in which the event loop was at work.', [
      { value: performance.eventLoopUtilization().active / 1_000 },
    ]),
  ]
}

interface PoolCounts {
  totalCount: number
  idleCount: number
  waitingCount: number
}
