import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount, deleteAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, formToken, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { sweepDrafts } from '../../src/library/films/drafts.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { cutShots, seedFilm } from '../support/film.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { extractFromNumber, frames, openScripted, scriptedAnnotator, values } from './support.ts'

const SENTENCE = 'Everything that your team needs, in one place.'
const annotator = scriptedAnnotator('scripted@1', ({ tSec }) => ({
  values: values(tSec === 2 ? { subject: 'text-card', on_screen_text: SENTENCE } : { subject: 'ui' }),
}))
/** Extractions wait for it. */
let gate = Promise.resolve()
let service: Service
let ann: Person
let bob: Person
beforeAll(async () => {
  const extract: typeof extractFromNumber = async (options) => {
    await Promise.race([
      gate,
      new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason))),
    ])
    const extraction = await extractFromNumber(options)
    const { durationSec } = extraction.probe
    // Longer films have three shots.
    return durationSec > 12 ? { ...extraction, shots: cutShots([4, 3, durationSec - 7]) } : extraction
  }
  service = await openScripted(annotator, { workerOptions: { extract } })
  ann = await enter('ann')
  bob = await enter('bob')
})
afterAll(() => service[Symbol.asyncDispose]())

interface Person {
  id: string
  headers: { authorization: string }
}

async function enter(name: string): Promise<Person> {
  const { id } = await createAccount(service.stores.db, { email: `${name}@example.org`, plan: 'pro' })
  const { key } = await createKey(service.stores.db, { accountId: id, name })
  return { id, headers: { authorization: `Bearer ${key}` } }
}

async function send({ headers }: Person, text: string, filename = 'my_cut.mp4') {
  const body = new FormData()
  body.set('file', new Blob([text]), filename)
  const response = await fetch(`${service.url}/api/drafts`, { method: 'POST', headers, body })
  return { status: response.status, location: response.headers.get('location'), json: (await response.json()) as never }
}

const look = (person: Person, id: string) => service.get(`/api/drafts/${id}`, person.headers)
const listed = async (person: Person): Promise<{ id: string; state: string }[]> =>
  (await service.get('/api/drafts', person.headers)).json.drafts
const remove = (person: Person, id: string) => service.call('DELETE', `/api/drafts/${id}`, undefined, person.headers)

async function settled(person: Person, id: string) {
  await until(async () => ['ready', 'failed'].includes((await look(person, id)).json.draft?.state))
  return (await look(person, id)).json.draft
}

async function cookieOf(email: string): Promise<string> {
  const { db } = service.stores
  const code = (await createSignInCode(db, { email, newPlan: null }))!.code
  return `session=${(await redeemSignInCode(db, { code }))!.token}`
}

async function files(): Promise<string[]> {
  const found = await readdir(join(service.config.dataDir, 'store'), { recursive: true }).catch(() => [])
  return found.filter((name) => !/^(drafts|frames|uploads)$/.test(name))
}

test('an empty library: a draft has its grammar, and says why it has no place', async () => {
  const sent = await send(ann, '12')
  expect(sent).toMatchObject({ status: 202, json: { draft: { state: 'queued', title: 'my cut', failure: null } } })
  const { id } = (sent.json as { draft: { id: string } }).draft
  expect(sent.location).toBe(`/api/drafts/${id}`)
  const { state, score } = await settled(ann, id)
  expect(state).toBe('ready')
  expect(score.measures).toMatchObject({ duration_sec: 12, shots: 1, shot_median_sec: null, loudness: -20 })
  expect(score).toMatchObject({ among: 0, nearest: null, differs: null, unusual: [] })
  expect(new Set(Object.values(score.standing))).toEqual(new Set([null]))
  expect(score.missing).toMatchObject({
    shot_median_sec: 'It needs 3 shots, and the film has 1.',
    'standing.luma': 'No film of the library has this measure.',
    nearest: expect.stringMatching(/enough measures/),
    differs: expect.stringMatching(/needs 4 films .* there are 0/),
    sound: expect.stringMatching(/there are 0/),
  })
  // 46 characters stand for a second.
  expect(score.text).toMatchObject({
    cards: 1,
    too_fast: [{ t_sec: 2, characters: SENTENCE.length, text: SENTENCE }],
  })
  expect(await remove(ann, id)).toMatchObject({ status: 200 })
  expect(await look(ann, id)).toMatchObject({ status: 404 })
})

test('among films: places with n, the nearest, what differs most, and sound that is unusual', async () => {
  const { db } = service.stores
  for (const luma of [10, 11, 12, 13, 14]) await seedFilm(db, { shots: [4, 3, 5], picture: { luma, loudness: -9 } })
  const near = await seedFilm(db, { title: 'Twin', shots: [4, 3, 8], picture: { loudness: -9 } })
  await service.drain()
  const { id } = ((await send(ann, '15')).json as { draft: { id: string } }).draft
  const { score } = await settled(ann, id)
  expect(score.among).toBe(6)
  expect(score.standing.luma).toEqual({ n: 6, below: 5, same: 1, percentile: 0.917 })
  expect(score.nearest[0]).toMatchObject({ video: { id: near, title: 'Twin' }, distance: 0 })
  expect(score.nearest).toHaveLength(5)
  expect(score.differs).toHaveLength(3)
  expect(score.differs.map(({ measure }: { measure: string }) => measure)).toEqual(
    expect.arrayContaining(['luma', 'loudness']),
  )
  const loudness = score.sound.find(({ measure }: { measure: string }) => measure === 'loudness')
  expect(loudness).toEqual({ measure: 'loudness', value: -20, usual: [-9, -9], unusual: true })
  expect(score.missing).not.toHaveProperty('differs')
  await remove(ann, id)
})

test('only its owner sees a draft; no list, event, search or file of the library tells of it', async () => {
  const before = await service.stores.db.$client.query('select count(*) from events')
  const { id } = ((await send(ann, '7', 'secret_launch.mp4')).json as { draft: { id: string } }).draft
  await settled(ann, id)
  for (const answer of [await look(bob, id), await remove(bob, id)])
    expect(answer).toMatchObject({ status: 404, json: { code: 'not_found' } })
  expect((await listed(bob)).length).toBe(0)
  expect((await listed(ann)).map((one) => one.id)).toEqual([id])
  expect((await service.get(`/api/drafts/${id}`)).status).toBe(401)
  expect((await service.get('/api/search?q=secret')).json.videos).toEqual([])
  expect((await service.get(`/api/videos/${id}/film`)).status).toBe(404)
  const after = await service.stores.db.$client.query('select count(*) from events')
  expect(after.rows).toEqual(before.rows)
  // Its source went with the measuring, and its pictures were never kept.
  expect(await files()).toEqual([])
  await remove(ann, id)
})

test('a second draft while one is measured is refused with what is possible, and takes no room', async () => {
  const open = Promise.withResolvers<void>()
  gate = open.promise
  const first = ((await send(ann, '3')).json as { draft: { id: string } }).draft
  await until(async () => (await look(ann, first.id)).json.draft?.state === 'measuring')
  const second = await send(ann, '4')
  expect(second).toMatchObject({ status: 409, json: { code: 'conflict' } })
  expect((second.json as { message: string }).message).toMatch(new RegExp(`${first.id}.*Wait until .* or delete it`))
  expect(await files()).toEqual([join('drafts', first.id)])
  // Other people do not wait.
  const other = await send(bob, '5')
  expect(other.status).toBe(202)
  // Two at one moment: one of them is taken.
  await remove(ann, first.id)
  const both = await Promise.all([send(ann, '6'), send(ann, '8')])
  expect(both.map(({ status }) => status).sort()).toEqual([202, 409])
  open.resolve()
  const [mine] = await listed(ann)
  await settled(ann, mine!.id)
  expect((await settled(bob, (other.json as { draft: { id: string } }).draft.id)).state).toBe('ready')
  expect(await files()).toEqual([])
  expect((await look(ann, first.id)).status).toBe(404)
  for (const { id } of await listed(ann)) await remove(ann, id)
  for (const { id } of await listed(bob)) await remove(bob, id)
})

test('addresses are taken as those of videos: none of a private network, none that is no video', async () => {
  for (const url of ['http://127.0.0.1/cut.mp4', 'https://10.0.0.8/cut.mp4', 'https://[::1]/cut.mp4', 'ftp://a.b/c']) {
    const { status, json } = await service.call('POST', '/api/drafts', { url }, ann.headers)
    expect([url, status, json.code]).toEqual([url, 400, 'invalid_request'])
  }
  const wrong = await service.call(
    'POST',
    '/api/drafts',
    { url: 'https://example.org/b.mp4', author: 'x' },
    ann.headers,
  )
  expect(wrong.status).toBe(400)
  expect(await listed(ann)).toEqual([])
})

test('an empty file, one that is too large and a body of another kind are refused and leave nothing', async () => {
  expect(await send(ann, '')).toMatchObject({ status: 400, json: { code: 'invalid_request' } })
  const text = await fetch(`${service.url}/api/drafts`, {
    method: 'POST',
    headers: { ...ann.headers, 'content-type': 'text/plain' },
    body: 'x',
  })
  expect(text.status).toBe(415)
  const huge = await fetch(`${service.url}/api/drafts`, {
    method: 'POST',
    headers: { ...ann.headers, 'content-type': 'video/mp4', 'content-length': '99999999999' },
    body: 'x',
  }).catch(() => undefined)
  expect([413, undefined]).toContain(huge?.status)
  expect(await files()).toEqual([])
  expect(await listed(ann)).toEqual([])
})

test('after a day a draft is gone: at once for its owner, then its row and its file', async () => {
  const open = Promise.withResolvers<void>()
  gate = open.promise
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const { id } = ((await send(ann, '9')).json as { draft: { id: string } }).draft
  await until(async () => (await look(ann, id)).json.draft?.state === 'measuring')
  expect(await sweepDrafts(db, store)).toBe(0)
  expect(await files()).toEqual([join('drafts', id)])
  await db.$client.query(`update drafts set expires_at = now() - interval '1 second' where id = $1`, [id])
  expect((await look(ann, id)).status).toBe(404)
  expect(await listed(ann)).toEqual([])
  expect(await sweepDrafts(db, store)).toBe(1)
  expect(await files()).toEqual([])
  expect((await db.$client.query('select 1 from drafts')).rows).toEqual([])
  // A file whose row was never written goes too.
  await store.put('drafts/lost', Buffer.from('x'), 'application/octet-stream')
  await sweepDrafts(db, store, { now: Date.now() + 2 * 3_600_000 })
  expect(await files()).toEqual([])
  open.resolve()
  await service.drain()
})

test('a deleted account leaves no draft, also one that is being measured', async () => {
  const open = Promise.withResolvers<void>()
  gate = open.promise
  const eve = await enter('eve')
  const { id } = ((await send(eve, '11')).json as { draft: { id: string } }).draft
  await until(async () => (await look(eve, id)).json.draft?.state === 'measuring')
  await deleteAccount(service.stores.db, eve.id)
  expect((await service.stores.db.$client.query('select 1 from drafts')).rows).toEqual([])
  open.resolve()
  await until(async () => (await files()).length === 0)
})

test('the page takes a file and an address without script, and shows the result to its owner alone', async () => {
  gate = Promise.resolve()
  const [mine, others] = [await cookieOf('ann@example.org'), await cookieOf('bob@example.org')]
  const page = async (path: string, cookie: string) => {
    const response = await fetch(service.url + path, { headers: { cookie } })
    return { status: response.status, text: await response.text() }
  }
  const empty = await page('/drafts', mine)
  expect(empty.text).toContain('You have no draft.')
  const form = formToken(mine.slice('session='.length))
  const fields = new FormData()
  fields.set('form', form)
  fields.set('file', new Blob(['15']), 'my_cut.mp4')
  const sent = await fetch(`${service.url}/web/drafts/file`, {
    method: 'POST',
    headers: { cookie: mine },
    body: fields,
    redirect: 'manual',
  })
  expect(sent.status).toBe(303)
  const path = sent.headers.get('location')!
  await until(async () => (await page(path, mine)).text.includes('It is measured.'))
  const { text } = await page(path, mine)
  expect(text).toContain('<h1>my cut</h1>')
  expect(text).toContain('aria-label="3 shots over 0:15"')
  expect(text).toMatch(/Light: 100, usually [\d.]+ \(brighter than 5 of 6\)/)
  expect(text).toMatch(/0:02 “Everything that your team needs, in one place.”: 46 characters/)
  expect(text).toMatch(/Loudness: -20 LUFS, usually -9 LUFS to -9 LUFS/)
  expect(text).toContain('>Twin</a>')
  expect((await page(path, others)).status).toBe(404)
  expect((await page('/drafts', others)).text).toContain('You have no draft.')
  const forbidden = await fetch(`${service.url}/web${path}/delete`, {
    method: 'POST',
    headers: { cookie: others, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ form: formToken(others.slice('session='.length)) }),
  })
  expect(forbidden.status).toBe(404)
  const post = (to: string, given: Record<string, string>) =>
    fetch(service.url + to, {
      method: 'POST',
      headers: { cookie: mine, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ form, ...given }),
      redirect: 'manual',
    })
  expect((await post('/web/drafts', { url: 'http://127.0.0.1/cut.mp4' })).status).toBe(400)
  expect((await post(`/web${path}/delete`, {})).headers.get('location')).toBe('/drafts')
  expect((await page(path, mine)).status).toBe(404)
})

test('the tool measures an address and tells a score; to others the draft is not there', async () => {
  const call = async (person: Person, draft: string) => {
    const params = { name: 'score_draft', arguments: { draft } }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    return (await service.call('POST', '/api/mcp', body, person.headers)).json.result
  }
  const refused = await call(ann, 'http://10.0.0.8/cut.mp4')
  expect(refused.isError).toBe(true)
  // Never fetched: nothing leaves loopback in a test.
  const open = Promise.withResolvers<void>()
  gate = open.promise
  const { id } = ((await send(ann, '15')).json as { draft: { id: string } }).draft
  expect((await call(ann, id)).content[0].text).toMatch(/"my cut": (queued|fetching|measuring)\nMeasuring takes/)
  expect((await call(ann, 'https://example.org/b.mp4')).content[0].text).toMatch(/Wait until it is ready, or delete it/)
  open.resolve()
  await settled(ann, id)
  const scored = await call(ann, id)
  expect(scored.content[0].text).toMatch(/Differs most: .*usually.*\nToo fast to read: 2 s "Everything that/)
  expect(scored.structuredContent.draft.score.among).toBe(6)
  expect(await call(bob, id)).toMatchObject({ isError: true })
  await remove(ann, id)
})

test('the command sends a file to a running service, waits, prints the score and deletes the draft', async () => {
  const file = join(service.config.dataDir, 'final_cut.mp4')
  await writeFile(file, '15')
  const key = ann.headers.authorization.slice('Bearer '.length)
  const run = (...args: string[]) =>
    frames(service, service.stores.redisUrl, ['draft', ...args, '--url', service.url], { FRAMES_KEY: key })
  const told = await run(file)
  expect([told.code, told.stderr]).toEqual([0, ''])
  expect(told.stdout).toMatch(/^final cut\n.*shots 3.*\n[\s\S]*Nearest by style:\n\S+ “Twin”/)
  expect(await listed(ann)).toEqual([])
  const kept = await run(file, '--keep', '--json')
  expect(kept.json.draft).toMatchObject({ state: 'ready', title: 'final cut', score: { among: 6 } })
  expect(await listed(ann)).toMatchObject([{ id: kept.json.draft.id }])
  await remove(ann, kept.json.draft.id)
  await writeFile(join(service.config.dataDir, 'operator-key'), 'key-of-this-installation')
  const elsewhere = await frames(service, service.stores.redisUrl, ['draft', file, '--url', service.url])
  expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('Name one with --key or FRAMES_KEY')])
  const absent = await run(join(service.config.dataDir, 'none.mp4'))
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining('cannot be read. Name a file')])
})

test('where few films have sound, the answer says why it is not compared, and calls nothing usual', async () => {
  const { db } = service.stores
  await db.$client.query(`update films set measures = measures || '{"loudness": null}'`)
  for (let n = 0; n < 3; n++) await seedFilm(db, { shots: [4, 3, 5] })
  await service.drain()
  const { id } = ((await send(ann, '15')).json as { draft: { id: string } }).draft
  const { score } = await settled(ann, id)
  expect(score.among).toBe(9)
  const loudness = score.sound.find(({ measure }: { measure: string }) => measure === 'loudness')
  expect(loudness).toMatchObject({ value: -20, usual: null, unusual: null })
  expect(score.missing.sound).toBe('It needs 4 films with sound in the library, and there are 3.')
  const page = await fetch(`${service.url}/drafts/${id}`, { headers: { cookie: await cookieOf('ann@example.org') } })
  expect(await page.text()).not.toContain('are usual here')
})
