import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { appendEvent } from '../../src/events/append.ts'
import { readEvents } from '../../src/events/read.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { installPrograms } from '../../src/local/other-major.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { LocalFailure } from '../../src/local/processes.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { checksumsOf, openFolder, seedWithImages } from '../backup/support.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'

test('a library on PostgreSQL 17 is brought to the current major version by one command', async ({ skip }) => {
  using folder = openFolder()
  const dataDir = join(folder.path, 'data')
  const dir = join(dataDir, 'postgres')
  mkdirSync(dataDir)
  const frames = (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...NODE_SETTINGS, DATA_DIR: dataDir, PORT: '0' }
    const run = spawnSync(process.execPath, ['src/cli.ts', ...args], { env, encoding: 'utf8' })
    return { status: run.status, out: run.stdout, err: run.stderr }
  }
  let programs: ReturnType<typeof installPrograms>
  try {
    programs = installPrograms('17', join(folder.path, 'programs'))
  } catch (error) {
    // The only test that needs a registry: the old programs are no dependency.
    if (error instanceof LocalFailure) return skip(error.message)
    throw error
  }

  await using ends = new AsyncDisposableStack()
  const old = await startLocalPostgres({ dir, programs, settings: { fsync: 'off' } })
  ends.defer(old.stop)
  const db = openDb({ url: old.url, max: 2 })
  await migrateDatabase(db)
  const media = openDiskStore(join(dataDir, 'store'))
  for (let n = 0; n < 3; n++)
    await seedWithImages(db, media, { frames: [{ caption: `a kite ${n}` }, { caption: 'a boat' }] })
  const account = await createAccount(db, { email: 'operator@localhost', role: 'operator', plan: 'pro' })
  await createKey(db, { accountId: account.id, name: 'first start' })
  const before = await checksumsOf(old.url)
  const { events, next } = await readEvents(db, { after: { xid: '0', seq: 0 }, limit: 100 })
  expect(events.length).toBeGreaterThan(10)
  await db.$client.end()
  await old.stop()

  const refused = frames('start')
  expect([refused.status, refused.err.trim().split('\n')]).toEqual([
    1,
    [expect.stringMatching(/is of PostgreSQL 17.*Run: npm run -s frames -- upgrade-database$/)],
  ])
  mkdirSync(`${dir}-17`)
  expect(frames('upgrade-database').err).toMatch(/postgres-17 is there from an earlier upgrade. Remove it/)
  renameSync(`${dir}-17`, join(folder.path, 'away'))
  const wrong = frames('upgrade-database', '--programs', folder.path)
  expect([wrong.status, wrong.err]).toEqual([1, expect.stringMatching(/There is no .*bin\/postgres/)])
  expect(readFileSync(join(dir, 'PG_VERSION'), 'utf8').trim()).toBe('17')

  const upgraded = frames('upgrade-database', '--json')
  expect(upgraded.status, upgraded.err).toBe(0)
  expect(JSON.parse(upgraded.out)).toMatchObject({ from: '17', upgraded: true, kept: 'postgres-17' })
  expect(readFileSync(join(`${dir}-17`, 'PG_VERSION'), 'utf8').trim()).toBe('17')
  expect(readdirSync(dataDir).filter((name) => /next|upgrade|programs/.test(name))).toEqual([])
  expect(frames('upgrade-database').out).toMatch(/already/)

  // Killed between the two renames: the next start completes them.
  renameSync(dir, `${dir}.upgraded`)
  const server = await startLocalPostgres({ dir, settings: { fsync: 'off' } })
  ends.defer(server.stop)
  expect(existsSync(`${dir}.upgraded`)).toBe(false)
  expect(await checksumsOf(server.url)).toEqual(before)
  const current = openDb({ url: server.url, max: 2 })
  await current.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject: 'after', accountId: null, data: { key_id: 'after' } }),
  )
  const rest = await readEvents(current, { after: next, limit: 100 })
  expect(rest.events.map(({ subject }) => subject)).toEqual(['after'])
  const { rows } = await current.$client.query(
    `select count(*)::int as n from library_search.documents where kind = 'frames'`,
  )
  expect(rows).toEqual([{ n: 6 }])
  await current.$client.end()
  await server.stop()

  writeFileSync(join(dir, 'PG_VERSION'), '9\n')
  expect(frames('upgrade-database').err).toMatch(/no programs of PostgreSQL 9 .*--programs/)
})
