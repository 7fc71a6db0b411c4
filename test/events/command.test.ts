import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeAll, expect, inject, test, vi } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import type { StoredEvent } from '../../src/events/catalogue.ts'
import { startConsumer } from '../../src/events/consume.ts'
import { createLogger } from '../../src/logger.ts'
import { frames, startFrames } from '../library/support.ts'
import { useService } from '../support/service.ts'
import { untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 600_000 })

const logger = createLogger({ level: 'error' }, { write: () => undefined })
const service = useService({ worker: false })
const env = { PUBLIC_URL: 'http://frames.test' }
const run = (...args: string[]) => frames(service, inject('redisUrl'), ['events', ...args], env)
beforeAll(async () => {
  await setTime(`true`, '2026-10-01T00:00:00Z')
})

async function write(subject: string, time?: string): Promise<void> {
  const { db } = service.stores
  await db.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
  )
  if (time !== undefined) await setTime(`subject = '${subject}'`, time)
}

/** Only for the tests of dates: no event is ever edited. */
async function setTime(which: string, time: string): Promise<void> {
  const { $client } = service.stores.db
  await $client.query('alter table events disable trigger user')
  await $client.query(`update events set time = $1 where ${which}`, [time])
  await $client.query('alter table events enable trigger user')
}

interface Line {
  id: string
  subject: string
  sequence: string
}
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
const subjectsOf = (text: string) => linesOf(text).map(({ subject }) => subject)

test('the events of a local service name it by its own port', async () => {
  const api = 'http://localhost:3917'
  const running = { pid: process.pid, api, database: service.stores.databaseUrl, redis: inject('redisUrl') }
  await using folder = await mkdtempDisposable(join(tmpdir(), 'frames-run-'))
  await writeFile(join(folder.path, 'run.json'), JSON.stringify(running))
  const local = { DATA_DIR: folder.path, DATABASE_URL: '', REDIS_URL: '' }
  const told = await frames(service, '', ['events', '--limit', '1', '--json'], local)
  expect(told.json.events[0].source).toBe(api)
  const checked = await frames(service, '', ['connect', 'check', '--json'], local)
  expect([checked.code, checked.json.url]).toEqual([1, api])
})

test('the last events are those before the end, oldest first, of the wanted types', async () => {
  for (const n of [1, 2, 3]) await write(`last ${n}`)
  await untilReadable(service.stores.db)
  const last = await run('--last', '2', '--types', 'key.revoked', '--json')
  expect(last.json.events.map(({ subject }: Line) => subject)).toEqual(['last 2', 'last 3'])
  expect((await run('--after', last.json.next, '--json')).json.events).toEqual([])
  expect((await run('--last', '2', '--limit', '3')).stderr).toMatch(/'--last <n>' cannot be used with .*'--limit <n>'/)
})

test('an export has every event as the feed shows it, goes on from any line, and takes dates', async () => {
  const days = ['2026-11-01', '2026-11-02', '2026-11-03', '2026-11-04']
  for (const day of days) for (const n of [1, 2]) await write(`${day} ${n}`, `${day}T12:00:00Z`)
  await untilReadable(service.stores.db)
  const all = await run('export')
  const { events } = (await service.call('GET', '/api/events?limit=1000')).json
  expect(all.code).toBe(0)
  expect(linesOf(all.stdout)).toEqual(events)
  expect(all.stderr).toMatch(new RegExp(`^${events.length} events\\. Go on with --from [0-9.]+\n$`))

  // As after a broken pipe: from the last whole line on.
  const half = linesOf(all.stdout).slice(0, 5)
  const rest = await run('export', '--from', half.at(-1)!.sequence)
  expect([...half, ...linesOf(rest.stdout)]).toEqual(events)
  const next = /--from (\S+)/.exec(all.stderr)![1]!
  const nothing = await run('export', '--from', next)
  expect(nothing).toMatchObject({ code: 0, stdout: '', stderr: `0 events. Go on with --from ${next}\n` })

  const dated = await run('export', '--from', '2026-11-02', '--to', '2026-11-04', '--types', 'key.revoked')
  expect(subjectsOf(dated.stdout)).toEqual(['2026-11-02 1', '2026-11-02 2', '2026-11-03 1', '2026-11-03 2'])
  const timed = await run('export', '--from', '2026-11-03T12:00:00Z', '--to', '2026-11-04T11:59:59Z')
  expect(subjectsOf(timed.stdout)).toEqual(['2026-11-03 1', '2026-11-03 2'])
})

test('a compressed export is gzip of the same bytes', async () => {
  const plain = await run('export')
  const { spawnSync } = await import('node:child_process')
  const { stdout } = spawnSync(process.execPath, ['src/cli/main.ts', 'events', 'export', '--gzip'], {
    env: {
      ...env,
      PATH: process.env.PATH,
      DATABASE_URL: service.stores.databaseUrl,
      REDIS_URL: inject('redisUrl'),
      DATA_DIR: service.config.dataDir,
    },
  })
  expect(gunzipSync(stdout).toString()).toBe(plain.stdout)
})

test('follow prints each event when it is committed, and ends in order', async () => {
  const command = startFrames(service, inject('redisUrl'), ['events', '--follow', '--json'], env)
  // The connection of the reader says that it has begun.
  await until(async () => {
    const { rows } = await service.stores.db.$client.query(
      `select 1 from pg_stat_activity where application_name = 'event tail' and datname = current_database()
          and state = 'idle' and query = 'listen events'`,
    )
    return rows.length > 0
  })
  await write('live')
  await until(() => command.seen().includes('"live"'))
  command.child.kill('SIGTERM')
  const { code, stdout } = await command
  expect(code).toBe(0)
  expect(subjectsOf(stdout)).toEqual(['live'])
})

test('a replay lets a consumer handle events again, while it runs', async () => {
  const { db, databaseUrl } = service.stores
  const handled: string[] = []
  const running = startConsumer(
    { db, url: databaseUrl, logger, pollMs: 20 },
    {
      name: 'again',
      async handle(events: StoredEvent[]) {
        handled.push(...events.map(({ subject }) => subject))
        return undefined
      },
    },
  )
  await running.drain()
  const first = [...handled]
  handled.length = 0
  const dated = await run('replay', 'again', '--from', '2026-11-03', '--json')
  expect(dated.json).toMatchObject({ consumer: 'again', events: first.length - first.indexOf('2026-11-03 1') })
  await until(() => handled.length > 0)
  await running.drain()
  expect(handled).toEqual(first.slice(first.indexOf('2026-11-03 1')))
  handled.length = 0
  expect((await run('replay', 'again', '--from', '0.0')).stdout).toMatch(
    /^consumer: again\nfrom: 0\.0\nwas: [\d.]+\nevents: \d+\n$/,
  )
  await until(() => handled.length >= first.length)
  expect(handled).toEqual(first)
  await running[Symbol.asyncDispose]()
})

test('dead events are listed, shown and tried again', async () => {
  const { db, databaseUrl } = service.stores
  let mended = false
  const handled: string[] = []
  const consumer = {
    name: 'fragile',
    async handle(events: StoredEvent[]) {
      if (!mended && events.some(({ subject }) => subject.startsWith('bad'))) throw new Error('a reason to read')
      handled.push(...events.map(({ subject }) => subject))
      return undefined
    },
  }
  for (const subject of ['bad 1', 'good']) await write(subject)
  await using running = startConsumer({ db, url: databaseUrl, logger, pollMs: 5 }, consumer)
  await running.drain()
  await db.$client.query(
    `insert into dead_events (consumer, event_id, error, at)
     select 'other', id, 'another reason', now() - interval '1 hour' from events where subject = 'good'`,
  )
  const { dead_events: dead } = (await run('dead', 'list', '--consumer', 'fragile', '--json')).json
  expect(dead).toMatchObject([
    { consumer: 'fragile', error: 'a reason to read', attempts: 10, event: { subject: 'bad 1', type: 'key.revoked' } },
  ])
  expect((await run('dead', 'list')).stdout).toMatch(/fragile .* a reason to read\n.* other .* another reason\n$/)
  const { id } = dead[0].event
  expect((await run('dead', 'show', id)).stdout).toMatch(
    /^consumer: fragile\nerror: a reason to read\nattempts: 10\n.*\n.*\nevent: \{/,
  )

  const again = await run('dead', 'retry', id)
  expect(again).toMatchObject({ code: 1 })
  expect(again.stdout).toBe(`0 events handled.\n! ${id} failed again in fragile: a reason to read\n`)
  expect((await run('dead', 'show', id, '--json')).json.dead_events[0].attempts).toBe(11)
  mended = true
  handled.length = 0
  const mendedNow = await run('dead', 'retry', '--all', '--consumer', 'fragile', '--json')
  expect(mendedNow.json).toEqual({ handled: 1, failed: 0, waiting: 0 })
  expect(handled).toEqual(['bad 1'])
  expect((await run('dead', 'list', '--consumer', 'fragile')).stdout).toBe('no dead events\n')
  expect((await run('dead', 'retry', '--all', '--consumer', 'fragile')).stderr).toMatch(/No such dead event/)
  expect((await run('dead', 'list')).stdout).toContain('another reason')
})
