import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { requireDraft, submitDraftFile } from '../../src/library/films/drafts.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { openStores } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { launchWorker, makeClips, type WorkerProcess } from './support.ts'

test('a draft whose worker is killed is measured by the next one; a file that is no film says so', {
  timeout: 600_000,
}, async () => {
  const clips = makeClips(1)
  const dataDir = mkdtempSync(join(tmpdir(), 'frames-draft-'))
  await using stores = await openStores()
  const store = openDiskStore(join(dataDir, 'store'))
  const { id: accountId } = await createAccount(stores.db, { email: 'ann@example.org', plan: 'pro' })
  const send = (bytes: Buffer, filename: string) =>
    submitDraftFile(stores.db, store, Readable.from([bytes]), {
      accountId,
      filename,
      maxBytes: 10_000_000,
      title: async () => undefined,
    })
  const settled = async (id: string) => {
    const look = () => requireDraft(stores.db, { accountId, id })
    await until(async () => ['ready', 'failed'].includes((await look()).state))
    return look()
  }
  let last: WorkerProcess | undefined
  try {
    const { id } = await send(await readFile(clips.paths[0]!), 'cut.mp4')
    for (const step of ['ingest-fetched:1', 'ingest-extracted:1'])
      expect([step, await launchWorker({ ...stores, dataDir }, step).ended]).toEqual([step, 'SIGKILL'])
    last = launchWorker({ ...stores, dataDir })
    const { state, film, attempts } = await settled(id)
    expect([state, film?.shots.length, attempts]).toEqual(['ready', 3, 3])
    const wrong = await settled((await send(Buffer.from('no film, but a text'), 'cut.mp4')).id)
    expect(wrong).toMatchObject({ state: 'failed', film: null, uploadKey: null })
    expect(wrong.failureMessage).toMatch(/not a video/)
    // The file goes a moment after the row says so.
    await until(async () => {
      for await (const _ of store.list('drafts/')) return false
      return true
    })
    last.child.kill('SIGTERM')
    expect(await last.ended).toBe(0)
  } finally {
    last?.child.kill('SIGKILL')
    clips.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
