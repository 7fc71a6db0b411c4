import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join, resolve } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { serveMetrics } from '../../src/cli/listening.ts'
import { openDb } from '../../src/db/client.ts'
import { openQueues } from '../../src/queue/queues.ts'
import { openWorkerMetrics } from '../../src/workers/metrics.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, 'docs/operations', file), 'utf8')

const service = useService()
beforeAll(async () => {
  await seedVideo(service.stores.db)
  // A job that fails.
  await service.upload(Buffer.from('no video'))
  await service.drain()
})

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** A reader of the text format: every line must be one that Prometheus takes. */
function parse(text: string): { types: Map<string, string>; samples: Sample[] } {
  const types = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n').slice(0, -1)) {
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line)
    if (type) {
      expect(types.has(type[1]!), line).toBe(false)
      types.set(type[1]!, type[2]!)
      continue
    }
    if (line === '' || line.startsWith('# HELP ')) continue
    const sample = /^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+)$/.exec(line)
    expect(sample, line).not.toBeNull()
    const labels = [...(sample![2] ?? '').matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [
      name,
      value,
    ])
    samples.push({ name: sample![1]!, labels: Object.fromEntries(labels), value: Number(sample![3]) })
  }
  return { types, samples }
}

test('requests are counted by the pattern of their route and never by what was asked for', async () => {
  const { id } = await seedVideo(service.stores.db)
  await service.drain()
  for (const path of [
    `/api/videos/${id}`,
    `/api/videos/${id}`,
    '/api/frames?q=secretword',
    '/secretpath',
    '/api/frames?page=0',
  ])
    await service.get(path)
  const { types, samples } = parse(await service.api.metrics())
  const name = 'frames_http_request_duration_seconds'
  expect(types.get(name)).toBe('histogram')
  const countOf = (route: string, status: string) =>
    samples.find(
      ({ name: n, labels }) =>
        n === `${name}_count` && labels.route === route && labels.status === status && labels.method === 'GET',
    )?.value
  expect(countOf('/api/videos/:id', '2xx')).toBe(2)
  expect(countOf('/api/frames', '2xx')).toBe(1)
  expect(countOf('/api/frames', '4xx')).toBe(1)
  expect(countOf('other', '4xx')).toBe(1)
  const buckets = samples.filter(({ name: n, labels }) => n === `${name}_bucket` && labels.route === '/api/videos/:id')
  expect(buckets.map(({ labels }) => labels.le)).toEqual([
    '0.005',
    '0.01',
    '0.025',
    '0.05',
    '0.1',
    '0.25',
    '0.5',
    '1',
    '2.5',
    '10',
    '+Inf',
  ])
  expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).toSorted((a, b) => a - b))
  expect(buckets.at(-1)!.value).toBe(2)
  expect(JSON.stringify(samples)).not.toMatch(new RegExp(`secret|${id}`))
})

test('the worker tells of queues, consumers, webhooks and the model', async () => {
  const { samples } = parse(await service.worker.metrics())
  const sampleOf = (name: string, labels: Record<string, string> = {}) =>
    samples.find(
      (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
    )?.value
  expect(sampleOf('frames_queue_jobs', { queue: 'ingest', state: 'waiting' })).toBe(0)
  expect(sampleOf('frames_oldest_waiting_seconds', { queue: 'annotate' })).toBe(0)
  expect(sampleOf('frames_event_unread', { consumer: 'search' })).toBeGreaterThanOrEqual(0)
  expect(sampleOf('frames_event_lag_seconds', { consumer: 'analytics' })).toBeGreaterThanOrEqual(0)
  expect(sampleOf('frames_webhook_endpoints', { state: 'paused' })).toBe(0)
  expect(sampleOf('frames_webhook_lag_seconds')).toBe(0)
  expect(sampleOf('frames_webhook_attempts_total', { outcome: 'delivered' })).toBe(0)
  expect(sampleOf('frames_model_cost_dollars_total')).toBe(0)
  expect(sampleOf('frames_videos', { status: 'ready' })).toBeGreaterThan(0)
  expect(sampleOf('frames_build_info', { part: 'worker' })).toBe(1)
  expect(sampleOf('frames_collect_errors_total', { source: 'queues' })).toBe(0)
})

/** Accepts connections and never answers. */
async function silentServer(): Promise<{ port: number; server: Server }> {
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.once('close', () => undefined)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const close = server.close.bind(server)
  server.close = (callback) => {
    for (const socket of sockets) socket.destroy()
    return close(callback)
  }
  return { port: (server.address() as { port: number }).port, server }
}

test.each(['that hang', 'that are down'])('stores %s leave out their values, and the rest is served', async (how) => {
  const { port, server } = await silentServer()
  if (how === 'that are down') await new Promise((done) => server.close(done))
  const logger = pino({ level: 'silent' })
  const db = openDb({ url: `postgres://u:p@127.0.0.1:${port}/d`, max: 2, logger })
  const queues = openQueues({ url: `redis://127.0.0.1:${port}`, prefix: 'none', logger })
  const metrics = openWorkerMetrics({ db, queues, config: service.config })
  metrics.onAttempt('ingest-video', 'completed', 3)
  const served = await serveMetrics({ host: '127.0.0.1', port: 0, text: metrics.text })
  for (const round of [1, 2]) {
    const answer = await fetch(`http://127.0.0.1:${served.port}/metrics`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    const { types, samples } = parse(await answer.text())
    expect(samples).toContainEqual({
      name: 'frames_job_duration_seconds_count',
      labels: { job_name: 'ingest-video', outcome: 'completed' },
      value: 1,
    })
    for (const source of ['events', 'queues', 'library', 'webhooks', 'model'])
      expect(samples).toContainEqual({ name: 'frames_collect_errors_total', labels: { source }, value: round })
    // An old value would look like a new one.
    expect([...types.keys()].filter((name) => /queue|event_lag|webhook/.test(name))).toEqual([])
  }
  expect((await fetch(`http://127.0.0.1:${served.port}/`)).status).toBe(404)
  await served.stop()
  if (server.listening) server.close()
  await queues[Symbol.asyncDispose]()
  await db.$client.end()
})

interface Panel {
  title: string
  targets?: { expr: string }[]
  panels?: Panel[]
}

/** Every name and label of an expression, as Prometheus' own grammar reads it. */
function readExpression(expression: string): { names: string[]; labels: string[] } {
  const names: string[] = []
  const labels: string[] = []
  parser.parse(expression).iterate({
    enter({ type, from, to }) {
      const text = expression.slice(from, to)
      if (type.isError) throw new Error(`not PromQL near ${from}: ${expression}`)
      if (type.name === 'Identifier') names.push(text)
      if (type.name === 'LabelName') labels.push(text)
    },
  })
  return { names, labels }
}

test('every expression of the dashboard and the alerts names what a running service serves', async () => {
  const { types, samples } = parse(
    (await service.api.metrics()) +
      (await service.worker.metrics()).replace(
        /^# (HELP|TYPE) (frames_build_info|frames_pg_pool|process_\w+|frames_event_loop\w+|frames_collect\w+) .*\n/gm,
        '',
      ),
  )
  const served = new Set(
    [...types].flatMap(([name, type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
    ),
  )
  const labelsOf = (name: string) =>
    new Set(samples.filter((one) => one.name === name).flatMap((one) => Object.keys(one.labels)))
  // What Prometheus adds to every target.
  served.add('up')
  const dashboard = JSON.parse(read('dashboard.json')) as { panels: Panel[] }
  const rules = parseYaml(read('alerts.yaml')) as {
    groups: {
      rules: { alert: string; expr: string; for?: string; annotations: { summary: string; description: string } }[]
    }[]
  }
  const alerts = rules.groups.flatMap((group) => group.rules)
  expect(alerts.length).toBeGreaterThanOrEqual(10)
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  for (const { alert, annotations } of alerts)
    expect([alert, annotations.summary, annotations.description]).not.toContain(undefined)
  const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])])
  const expressions = [
    ...alerts.map(({ expr }) => expr),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ]
  expect(expressions.length).toBeGreaterThan(25)
  for (const expression of expressions) {
    const { names, labels } = readExpression(expression)
    expect(names.length, expression).toBeGreaterThan(0)
    for (const name of names) expect(served, expression).toContain(name)
    const known = new Set(['job', 'instance', 'le', ...names.flatMap((name) => [...labelsOf(name)])])
    for (const label of labels) expect(known, expression).toContain(label)
  }
})
