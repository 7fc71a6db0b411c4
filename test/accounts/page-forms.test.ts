import { expect, test } from 'vitest'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { type FormFields, usePageVisitor } from './page-visitor.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** Forms of people and operators: what they ask first, and what they refuse. */

const visitor = usePageVisitor()
const { api } = visitor

test('a page that asks before a deed tells what goes', async () => {
  const { post } = await visitor.signIn('asks@example.org', { role: 'operator' })
  const { videoId, frameIds } = await seedFrames(api.db, { count: 1 })
  for (const told of ['1 person', '2 people']) {
    await saveFrames(api.db, { accountId: (await seedAccount(api.db)).account.id, frameIds })
    const asked = await post('/web/operator/videos', { one: `delete:${videoId}` })
    expect(asked.text).toContain('1 frame goes with it')
    expect(asked.text).toContain(`<strong>${told}</strong> would lose`)
  }
  const deed = { act: 'delete', video: [videoId, 'none'] }
  const status = async (more: FormFields) => (await post('/web/operator/videos', { ...deed, ...more })).status
  expect([await status({}), await status({ sure: '1' })]).toEqual([200, 409])
})

test('a switch of an operator that is sent without its value changes nothing', async () => {
  const { account } = await seedAccount(api.db)
  const operator = await visitor.signIn('switches@example.org', { role: 'operator' })
  const post = async (fields: FormFields) => (await operator.post(`/web/accounts/${account.id}/disable`, fields)).status
  const isDisabled = async () =>
    (await api.db.$client.query('select disabled_at from accounts where id = $1', [account.id])).rows[0].disabled_at !==
    null
  expect([await post({ disabled: '1' }), await isDisabled()]).toEqual([303, true])
  expect([await post({}), await post({ disabled: 'x' }), await isDisabled()]).toEqual([400, 400, true])
  expect([await post({ disabled: '0' }), await isDisabled()]).toEqual([303, false])
})

test('A2: a format that does not exist is refused before anything is looked for', async () => {
  const { get } = await visitor.signIn('exports@example.org')
  for (const format of ['zzz', 'csv'])
    expect((await get(`/boards/none/timeline.${format}`)).status).toBe(format === 'zzz' ? 400 : 404)
  for (const path of ['/saves/export', '/boards/none/export']) {
    expect([path, (await get(`${path}?format=zzz`)).status]).toEqual([path, 400])
    expect([path, (await get(`${path}?format=csv`)).status]).toEqual([path, path === '/saves/export' ? 200 : 404])
  }
})

test('a description shows on the page of a board and its share link, and outlives a new name and an undo', async () => {
  const person = await visitor.signIn('describes@example.org', { plan: 'pro' })
  const { account } = person
  const { key } = await createKey(api.db, { accountId: account.id, name: 'k' })
  const { id } = await createBoard(api.db, { accountId: account.id, name: 'Plans' })
  const post = (path: string, fields: FormFields) => person.post(path, fields, { accept: 'application/json' })
  const described = async () => (await api.call(`/api/boards/${id}`, { key })).json.board
  await post(`/web/boards/${id}/rename`, { name: 'May', description: 'For <the> launch' })
  expect(await described()).toMatchObject({ name: 'May', description: 'For <the> launch' })
  expect((await person.get(`/boards/${id}`)).text).toContain('For &lt;the&gt; launch')
  const { json } = await api.call(`/api/boards/${id}/share`, { method: 'POST', key, body: {} })
  expect((await api.call(new URL(json.url).pathname)).text).toContain('For &lt;the&gt; launch')
  await post(`/web/boards/${id}/rename`, { name: 'June' })
  expect(await described()).toMatchObject({ name: 'June', description: 'For <the> launch' })
  await post(`/web/boards/${id}/delete`, {})
  await post(`/web/boards/${id}/delete/undo`, {})
  expect(await described()).toMatchObject({ name: 'June', description: 'For <the> launch' })
  await post(`/web/boards/${id}/rename`, { name: 'June', description: '' })
  expect((await described()).description).toBeNull()
})
