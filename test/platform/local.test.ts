import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { superviseServer } from '../../src/cli/supervise.ts'
import { type LocalServer, startLocalPostgres } from '../../src/local/postgres.ts'
import { alive, untilGone } from '../../src/local/processes.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { createLogger } from '../../src/logger.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'frames-local-'))
})

afterEach(() => rmSync(dir, { recursive: true, force: true }))

const careless = { fsync: 'off' }

test('PostgreSQL takes as much memory as its data needs at the start, within a sixteenth of the machine', async () => {
  const shared = "select (setting::int * 8 / 1024)::text as value from pg_settings where name = 'shared_buffers'"
  const empty = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
  expect(await ask(empty, shared)).toBe('128')
  expect(await ask(empty, "select lower('ÄÖ') as value")).toBe('äö')
  await expect(ask({ url: empty.url.replace(/:[^:@]+@/, ':wrong@') }, 'select 1')).rejects.toThrow(/password/)
  await ask(empty, "create table much as select n, repeat('x', 1900) from generate_series(1, 40000) n")
  const bytes = Number(await ask(empty, "select pg_table_size('much')::text as value"))
  await empty.stop()
  const full = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
  try {
    const most = Math.max(128, Math.min(1024, totalmem() / 16 / 1024 ** 2))
    expect(Number(await ask(full, shared))).toBeGreaterThanOrEqual(Math.floor(Math.min(most, (4 * bytes) / 1024 ** 2)))
    expect(Number(await ask(full, shared))).toBeLessThanOrEqual(Math.ceil(most))
  } finally {
    await full.stop()
  }
})

test('a start ends no process that is not its own, whatever number an old file names', async () => {
  const bystander = await startLocalRedis({ dir: join(dir, 'bystander'), persistent: false })
  const stranger = spawn('sleep', ['60'])
  try {
    const first = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
    await first.stop()
    expect(alive(first.pid)).toBe(false)
    writeFileSync(join(dir, 'postgres', 'postmaster.pid'), `${stranger.pid}\n${dir}/postgres\n`)
    const again = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
    await again.stop()
    expect([stranger.pid!, bystander.pid].map(alive)).toEqual([true, true])
  } finally {
    stranger.kill('SIGKILL')
    await untilGone(stranger.pid!, 60_000)
    await bystander.stop()
  }
})

test('a local database that does not come back is given up after five failures, with what to do', async () => {
  const pids = new Set<number>()
  const lines: string[] = []
  let giveUp: (why: string) => void = () => undefined
  const given = new Promise<string>((resolve) => {
    giveUp = resolve
  })
  const redis = await superviseServer({
    name: 'Redis',
    start: (before) => startLocalRedis({ dir: join(dir, 'redis'), url: before?.url }),
    logger: createLogger({ level: 'error' }, { write: (line) => void lines.push(line) }),
    pids,
    giveUp,
  })
  const [pid] = [...pids]
  // Nothing can be kept in its folder any more.
  rmSync(join(dir, 'redis'), { recursive: true })
  writeFileSync(join(dir, 'redis'), '')
  process.kill(pid!, 'SIGKILL')
  expect(await given).toMatch(
    /^Redis ended unexpectedly, 5 failures in a row: .*EEXIST.* start again, or set REDIS_URL/,
  )
  expect(lines).toHaveLength(5)
  expect([...pids]).toEqual([])
  await redis.stop()
})

async function ask({ url }: Pick<LocalServer, 'url'>, query: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<{ value: string }>(query)).rows[0]?.value
  } finally {
    await client.end()
  }
}
