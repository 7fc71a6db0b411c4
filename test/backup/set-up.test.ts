import { join } from 'node:path'
import { expect, test } from 'vitest'
import { restoreBackup } from '../../src/backup/restore.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import { type Db, openDb } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { addTechnique } from '../../src/library/techniques/techniques.ts'
import { seedTechniques } from '../../src/library/techniques/vocabulary.ts'
import { createEndpoint } from '../../src/library/webhooks/endpoints.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { openCluster, openFolder, queryAt } from './support.ts'

const term = (slug: string) => ({ slug, name: slug, description: slug, recognise: slug, aliases: [] })

test('a restore replaces what the first start makes, and drops nothing that people set up', async () => {
  using folder = openFolder()
  await using cluster = await openCluster()
  const url = await cluster.create({ migrated: true })
  const shared = {
    media: openDiskStore(join(folder.path, 'store')),
    place: openDiskStore(join(folder.path, 'backups')),
    ...{ mediaBucket: null, databaseUrl: url },
  }
  await writeBackup({ ...shared, images: 'none' })
  const restore = () => restoreBackup({ ...shared, at: 'the place', rebuilt: [], rebuild: async () => undefined })
  await using db = openOwn(url)
  await firstStart(db)
  await restore()
  expect(await queryAt(url, 'select 1 from accounts')).toEqual([])

  const accountId = await firstStart(db)
  await createKey(db, { accountId, name: 'for a program' })
  const given = { url: 'https://hooks.example.org/', types: null, accountId }
  await db.transaction((tx) => createEndpoint(tx, given, { allowPrivate: false, secretsKeys: [] }))
  await addTechnique(db, term('three'))
  await expect(restore()).rejects.toThrow('not empty (1 webhooks, 1 keys, 1 changed techniques)')
  await queryAt(url, `delete from webhook_endpoints; delete from api_keys where name <> 'first start'`)
  await expect(restore()).rejects.toThrow('not empty (1 changed techniques)')
})

function openOwn(url: string) {
  const db = openDb({ url, max: 2, applicationName: 'test' })
  return Object.assign(db, { [Symbol.asyncDispose]: () => db.$client.end() })
}

async function firstStart(db: Db): Promise<string> {
  const { id } = await createAccount(db, { email: 'operator@localhost', role: 'operator', plan: 'pro' })
  await createKey(db, { accountId: id, name: 'first start' })
  await seedTechniques(db, [term('one'), term('two')])
  return id
}
