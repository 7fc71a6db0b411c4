import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteAccount, markAccountDeleted, setDisabled } from '../../src/library/accounts/accounts.ts'
import { openTestApi, type TestApi } from './app.ts'
import { eventsOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What an account that is disabled, or whose deletion has begun, still shows: nothing. */

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api[Symbol.asyncDispose]())

async function sharing() {
  const { account, key } = await seedAccount(api.db)
  const { frameIds } = await seedFrames(api.db, { count: 2 })
  const write = (path: string, body: unknown) => api.call(path, { method: 'POST', key, body })
  const { json } = await write('/api/boards', { name: 'shared' })
  await write(`/api/boards/${json.board.id}/frames`, { frameIds })
  const { url } = (await write(`/api/boards/${json.board.id}/share`, {})).json
  const path = new URL(url).pathname
  const paths = [path, `/api${path}`]
  const statuses = async () => Promise.all(paths.map(async (one) => (await api.call(one)).status))
  return { account, key, boardId: json.board.id as string, path, statuses }
}

test('A7: the shared boards of a disabled account are 404 at once, and are back once it is enabled', async () => {
  const { account, statuses } = await sharing()
  expect(await statuses()).toEqual([200, 200])
  await setDisabled(api.db, { accountId: account.id, disabled: true })
  expect(await statuses()).toEqual([404, 404])
  await setDisabled(api.db, { accountId: account.id, disabled: false })
  expect(await statuses()).toEqual([200, 200])
})

test('A7: an operator ends a share link of anyone, once, and the log says who did', async () => {
  const { account, boardId, path, statuses } = await sharing()
  const { key: operator } = await seedAccount(api.db, { role: 'operator' })
  const { key: member } = await seedAccount(api.db)
  const end = (key: string | undefined) => api.call(`/api${path}`, { method: 'DELETE', key })
  expect([(await end(undefined)).status, (await end(member)).status]).toEqual([401, 403])
  expect((await end(operator)).json).toEqual({ ok: true })
  expect(await statuses()).toEqual([404, 404])
  expect((await end(operator)).status).toBe(404)
  expect((await eventsOf(api.db, account.id)).at(-1)).toEqual({
    type: 'board.unshared',
    subject: boardId,
    data: { board_id: boardId, name: 'shared', ended_by: 'operator' },
  })
})

test('A10: a key that was refused while its account was disabled works again at once', async () => {
  const { account, key } = await seedAccount(api.db)
  const status = async () => (await api.call('/api/boards', { key })).status
  await setDisabled(api.db, { accountId: account.id, disabled: true })
  expect(await status()).toBe(401)
  await setDisabled(api.db, { accountId: account.id, disabled: false })
  expect(await status()).toBe(200)
})

test('an account whose deletion has begun is gone for everyone, and its address is free', async () => {
  const { account, key, statuses } = await sharing()
  await markAccountDeleted(api.db, account.id)
  expect(await statuses()).toEqual([404, 404])
  expect((await api.call('/api/boards', { key })).status).toBe(401)
  const { key: operator } = await seedAccount(api.db, { role: 'operator' })
  const setPlan = () =>
    api.call(`/api/accounts/${account.id}`, { method: 'PATCH', key: operator, body: { plan: 'free' } })
  expect((await setPlan()).status).toBe(404)
  for (const act of [markAccountDeleted, deleteAccount])
    await expect(act(api.db, account.id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(setDisabled(api.db, { accountId: account.id, disabled: false })).rejects.toMatchObject({
    code: 'not_found',
  })
  const { rows } = await api.db.$client.query('select email from accounts where id = $1', [account.id])
  expect(rows).toEqual([{ email: null }])
})
