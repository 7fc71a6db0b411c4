import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { superviseServer } from '../../src/cli/supervise.ts'
import { type LocalPostgres, startLocalPostgres } from '../../src/local/postgres.ts'
import { alive, claimDataDir, untilGone } from '../../src/local/processes.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { createLogger } from '../../src/logger.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'frames-local-'))
})

afterEach(() => rmSync(dir, { recursive: true, force: true }))

const careless = { fsync: 'off' }

test('PostgreSQL 18 starts in a closed folder, finds its data again, and has what the library needs', async () => {
  chmodSync(dir, 0o700)
  const first = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
  await ask(first, 'create extension pg_trgm')
  await ask(first, 'create extension unaccent')
  await ask(first, 'create table kept as select 1 as n')
  await first.stop()
  const second = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
  try {
    expect(await ask(second, 'select n::text as value from kept')).toBe('1')
    expect(
      await ask(second, "select current_setting('server_version_num')::int / 10000 || ' ' || lower('ÄÖ') as value"),
    ).toBe('18 äö')
    // The password is nobody else's to read.
    expect(statSync(join(dir, 'postgres.password')).mode & 0o077).toBe(0)
    await expect(ask({ url: second.url.replace(/:[^:@]+@/, ':wrong@') }, 'select 1')).rejects.toThrow(/password/)
  } finally {
    await second.stop()
  }
  expect(alive(second.pid)).toBe(false)
})

test('PostgreSQL takes as much memory as its data needs at the start, within a sixteenth of the machine', async () => {
  const shared = "select (setting::int * 8 / 1024)::text as value from pg_settings where name = 'shared_buffers'"
  const empty = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
  expect(await ask(empty, shared)).toBe('128')
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

test('what a killed run left behind is stopped by the next start, and only that', async () => {
  const bystander = await startLocalRedis({ dir: join(dir, 'bystander'), persistent: false })
  // A process that wrote nothing of ours, whose number stands in a stale file.
  mkdirSync(join(dir, 'stale'))
  const stranger = spawn('sleep', ['60'])
  try {
    const script = `
      import { startLocalPostgres } from './src/local/postgres.ts'
      import { startLocalRedis } from './src/local/redis.ts'
      const postgres = await startLocalPostgres({ dir: '${dir}/postgres', settings: { fsync: 'off' } })
      const redis = await startLocalRedis({ dir: '${dir}/redis' })
      console.log(JSON.stringify([postgres.pid, redis.pid]))
      process.kill(process.pid, 'SIGKILL')`
    const killed = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], { encoding: 'utf8' })
    expect(killed.signal).toBe('SIGKILL')
    const orphans = JSON.parse(killed.stdout) as number[]
    expect(orphans.map(alive)).toEqual([true, true])

    const postgres = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
    const redis = await startLocalRedis({ dir: join(dir, 'redis') })
    expect(orphans.map(alive)).toEqual([false, false])
    expect(await ask(postgres, "select 'here' as value")).toBe('here')
    const client = new Redis(redis.url)
    expect(await client.ping()).toBe('PONG')
    client.disconnect()
    await redis.stop()
    await postgres.stop()
    expect([postgres.pid, redis.pid].map(alive)).toEqual([false, false])

    writeFileSync(join(dir, 'postgres', 'postmaster.pid'), `${stranger.pid}\n${dir}/postgres\n`)
    const again = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: careless })
    await again.stop()
    expect(alive(stranger.pid!)).toBe(true)
    expect(alive(bystander.pid)).toBe(true)
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

test('a data folder has one holder at a time, and a dead one holds nothing', () => {
  const hold = `
    import { claimDataDir } from './src/local/processes.ts'
    console.log(claimDataDir('${dir}') ? 'taken' : 'refused')
    process.kill(process.pid, 'SIGKILL')`
  const elsewhere = () =>
    spawnSync(process.execPath, ['--input-type=module-typescript', '-e', hold], { encoding: 'utf8' }).stdout.trim()
  expect(elsewhere()).toBe('taken')
  const claim = claimDataDir(dir)
  expect(claim).toBeDefined()
  expect(elsewhere()).toBe('refused')
  expect(claimDataDir(dir)).toBeUndefined()
  claim!.release()
  expect(elsewhere()).toBe('taken')
})

async function ask({ url }: Pick<LocalPostgres, 'url'>, query: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<{ value: string }>(query)).rows[0]?.value
  } finally {
    await client.end()
  }
}
