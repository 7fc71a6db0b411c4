import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { checksumsOf, filesOf, openCluster, openFolder, queryAt, seedWithImages } from '../backup/support.ts'
import { runWith } from '../support/command-line.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'

interface Env {
  DATA_DIR: string
  DATABASE_URL?: string
}

/** `frames <args>` as a process of its own, which kills itself at that step. */
async function killed(faultAt: string, args: string[], env: Env) {
  const child = spawn(process.execPath, ['--import', './test/support/kill-at.ts', 'src/cli/main.ts', ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...NODE_SETTINGS, ...env, FAULT_AT: faultAt },
    stdio: 'ignore',
  })
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL'])
}

const frames = (args: string[], env: Env) => runWith({ ...env }, ...args)

test('a killed backup or restore leaves nothing half done, and the next run is whole', async () => {
  await using cluster = await openCluster()
  using folder = openFolder()
  using place = openFolder()
  const url = await cluster.create({ migrated: true })
  const dataDir = join(folder.path, 'data')
  mkdirSync(dataDir)
  const media = openDiskStore(join(dataDir, 'store'))
  const db = openDb({ url, max: 2 })
  for (let n = 0; n < 3; n++)
    await seedWithImages(db, media, { frames: [{ caption: 'a kite' }, { caption: 'a boat' }] })
  await createAccount(db, { email: 'person@example.com', role: 'member', plan: 'pro' })
  await db.$client.end()
  writeFileSync(join(dataDir, 'operator-key'), 'flk_live_of_the_drill\n')
  const env = { DATA_DIR: dataDir, DATABASE_URL: url }

  for (const faultAt of ['backup-tables:4', 'backup-images:5']) {
    await killed(faultAt, ['backup', place.path], env)
    const refused = await frames(['verify-backup', place.path], env)
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/holds no whole backup.*interrupted/)])
  }
  const { out, ...backup } = await frames(['backup', place.path, '--verify', '--json'], env)
  expect(backup).toMatchObject({ code: 0 })
  expect(JSON.parse(out)).toMatchObject({ images: 12, images_missing: 0, verified: true })

  const target = await cluster.create()
  const restored = { DATA_DIR: join(folder.path, 'restored'), DATABASE_URL: target }
  for (const faultAt of ['restore-images:5', 'restore-tables:9']) {
    await killed(faultAt, ['restore', place.path], restored)
    await expect.poll(() => queryAt(target, `select 1 from pg_class where relname = 'videos'`)).toEqual([])
    await expect
      .poll(() => queryAt(target, `select 1 from pg_stat_activity where application_name = 'frames restore'`))
      .toEqual([])
  }
  const done = await frames(['restore', place.path, '--json'], restored)
  expect(done.code, done.err).toBe(0)
  expect(JSON.parse(done.out)).toMatchObject({ images: 12 })
  expect(await checksumsOf(target)).toEqual(await checksumsOf(url))
  const files = await filesOf(openDiskStore(join(restored.DATA_DIR, 'store')))
  // What a kill in the middle of a file leaves has a name of its own. `frames storage check --remove` removes it.
  for (const name of files.keys()) if (name.endsWith('.part')) files.delete(name)
  expect(files).toEqual(await filesOf(media))
  const again = await frames(['restore', place.path], restored)
  expect([again.code, again.err.trim().split('\n')]).toEqual([1, [expect.stringMatching(/not empty/)]])
})

test('without DATABASE_URL both commands start the database of DATA_DIR for themselves', async () => {
  await using cluster = await openCluster()
  using folder = openFolder()
  using place = openFolder()
  const url = await cluster.create({ migrated: true })
  const media = openDiskStore(join(folder.path, 'source', 'store'))
  const db = openDb({ url, max: 2 })
  await seedWithImages(db, media, { frames: [{ caption: 'a kite' }] })
  await db.$client.end()
  const source = { DATA_DIR: join(folder.path, 'source'), DATABASE_URL: url }
  expect(await frames(['backup', join(place.path, 'one')], source)).toMatchObject({ code: 0 })

  const local = { DATA_DIR: join(folder.path, 'local') }
  const absent = await frames(['backup', join(place.path, 'two')], local)
  expect([absent.code, absent.err.trim().split('\n')]).toEqual([1, [expect.stringMatching(/There is no library in/)]])
  // A place without a backup is refused before a database is made for it.
  const none = await frames(['restore', place.path], local)
  expect([none.code, none.err.trim().split('\n')]).toEqual([1, [expect.stringMatching(/holds no whole backup/)]])
  expect(existsSync(join(local.DATA_DIR, 'postgres'))).toBe(false)
  const restored = await frames(['restore', join(place.path, 'one')], local)
  expect(restored.code, restored.err).toBe(0)
  expect(restored.out).toMatch(/Restored .* 2 images. Start the service/)
  const saved = await frames(['backup', join(place.path, 'two'), '--json'], local)
  expect(JSON.parse(saved.out)).toMatchObject({ images: 2, images_missing: 0 })
  expect(existsSync(join(local.DATA_DIR, 'postgres', 'postmaster.pid'))).toBe(false)
  const rows = async (at: string) =>
    JSON.parse((await frames(['verify-backup', join(place.path, at), '--json'], local)).out).rows
  expect(await rows('two')).toBe(await rows('one'))
})
