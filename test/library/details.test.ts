import { beforeEach, expect, test } from 'vitest'
import { videos } from '../../src/db/schema/videos.ts'
import { formToken } from '../../src/library/accounts/sessions.ts'
import { retryVideo } from '../../src/library/videos/lifecycle.ts'
import { sql } from '../../src/sql/orm.ts'
import { useOpened } from '../support/closing.ts'
import { sessionOf } from '../support/session.ts'
import { addVideo, extractFromNumber, frames, openScripted, scriptedAnnotator, values, videoRow } from './support.ts'

/** Title, brand, platform and date of a video: given, changed later, and merged. */

/** Each file has a title and a brand of its own, as pages of platforms do, once its extraction may end. */
let mayEnd: Promise<void> = Promise.resolve()
let begun: PromiseWithResolvers<void>
const annotator = scriptedAnnotator('scripted@1', () => ({ values: values({ subject: 'ui' }) }))
const extract: typeof extractFromNumber = async (options) => {
  begun.resolve()
  await mayEnd
  const extraction = await extractFromNumber(options)
  return { ...extraction, probe: { ...extraction.probe, title: 'Title of the file' } }
}
const service = useOpened(() => openScripted(annotator, { pages: true, workerOptions: { extract } }))
beforeEach(() => {
  begun = Promise.withResolvers()
})

const patch = (id: string, body: unknown) => service.call('PATCH', `/api/videos/${id}`, body)
const merge = (from: string, into: string) => service.call('POST', '/api/brands/merge', { from, into })
async function changesOf(id: string) {
  const { rows } = await service.stores.db.execute(
    sql`select data, account_id, xid::text as xid from events
         where type = 'video.changed' and subject = ${id} order by seq`,
  )
  return rows as { data: Record<string, unknown>; account_id: string | null; xid: string }[]
}
const readyVideo = async (details: Parameters<typeof addVideo>[2]) => {
  const id = await addVideo(service, 2, details)
  await service.drain()
  return id
}
const brandsNow = async () => {
  await service.drain()
  return (await service.get('/api/brands')).json.brands.map(({ name }: { name: string }) => name)
}

test('an edit is told once, and everything that readers get follows', async () => {
  const id = await readyVideo({ title: 'Launhc', author: 'Northwind labs' })
  const { headers } = await service.get(`/api/videos/${id}`)
  const ifChanged = { 'if-none-match': headers.get('etag')! }
  expect((await service.get(`/api/videos/${id}`, ifChanged)).status).toBe(304)

  const edit = { title: ' Launch\u202e', author: 'Northwind Labs', platform: 'vimeo', published_at: '2026-11-20' }
  const now = { ...edit, title: 'Launch', published_at: '2026-11-20T00:00:00.000Z' }
  expect(await patch(id, edit)).toMatchObject({ status: 200, json: { video: { id, status: 'ready', ...now } } })
  expect((await patch(id, { ...edit, published_at: '2026-11-20T01:00:00+01:00' })).status).toBe(200)
  const previous = { title: 'Launhc', author: 'Northwind labs', platform: 'web', published_at: null }
  const told = { account_id: expect.any(String), data: { video_id: id, ...now, previous } }
  expect(await changesOf(id)).toEqual([{ ...told, xid: expect.any(String) }])

  await service.drain()
  expect(await service.get(`/api/videos/${id}`, ifChanged)).toMatchObject({ status: 200, json: { video: now } })
  const found = (await service.get('/api/frames?author=Northwind+Labs&platform=vimeo')).json.frames
  const { title, author, platform } = now
  expect(found.map((frame: { video: object }) => frame.video)).toMatchObject(Array(2).fill({ title, author, platform }))
  expect((await service.get('/api/frames?author=Northwind+labs')).json.frames).toEqual([])
  expect((await service.get('/api/search?q=launch')).json.videos).toMatchObject([{ id }])
  expect(await brandsNow()).toEqual(['Northwind Labs'])

  expect((await patch(id, { author: null, published_at: null })).json.video).toMatchObject({ author: null, title })
  expect(await brandsNow()).toEqual([])
})

test('what cannot be is refused with what is allowed, and changes nothing', async () => {
  const id = await readyVideo({ title: 'Steady' })
  const before = await videoRow(service, id)
  const soon = new Date(Date.now() + 3 * 86_400_000).toISOString()
  for (const [body, said] of [
    [{ title: '' }, 'title'],
    [{ title: ' \u200b\u2060\u00ad ' }, 'must have a character that can be seen'],
    [{ title: null }, 'title'],
    [{ title: 'x'.repeat(301) }, 'at most 300'],
    [{ author: '\u3164' }, 'must have a character that can be seen'],
    [{ platform: 'tv' }, 'youtube, x, linkedin'],
    [{ platform: null }, 'platform'],
    [{ published_at: soon }, 'not in the future'],
    [{ published_at: soon.slice(0, 10) }, 'not in the future'],
    [{ published_at: '2026-02-30' }, '2026-11-20T09:00Z'],
    [{ published_at: '0000-01-01' }, 'from 1888'],
    [{ published_at: '20.11.2026' }, 'must be a date such as'],
    [{ title: 'Good', brand: 'Acme' }, 'unknown: brand'],
    [{}, 'name at least one'],
  ] as const) {
    const { status, json } = await patch(id, body)
    expect([status, json.code, json.message], JSON.stringify(body)).toEqual([
      400,
      'invalid_request',
      expect.stringContaining(said),
    ])
  }
  expect((await patch('nosuchvideo', { title: 'x' })).status).toBe(404)
  for (const [from, into] of [
    ['A', 'A'],
    ['A', '\u200b'],
  ] as const)
    expect((await merge(from, into)).json).toMatchObject({ code: 'invalid_request', details: [{ path: 'into' }] })
  expect(await merge('\0 never heard of', 'A')).toMatchObject({ status: 200, json: { videos: 0 } })
  expect([await videoRow(service, id), await changesOf(id)]).toEqual([before, []])
})

test('two who edit at once both keep what they set, and no worker takes it back', async () => {
  const gate = Promise.withResolvers<void>()
  mayEnd = gate.promise
  const id = await addVideo(service, 2)
  await begun.promise
  await Promise.all([patch(id, { author: 'Acme' }), patch(id, { published_at: '2026-01-02' })])
  expect((await changesOf(id)).flatMap(({ data }) => Object.keys(data.previous as object)).sort()).toEqual([
    'author',
    'published_at',
  ])
  gate.resolve()
  await service.drain()
  // The title was nobody's, so the file says it. Once a person has given one, it stays.
  const kept = { status: 'ready', author: 'Acme', published_at: '2026-01-02T00:00:00.000Z' }
  const state = async () => (await service.call('GET', `/api/videos/${id}/status`)).json.video
  expect(await state()).toMatchObject({ ...kept, title: 'Title of the file' })
  await patch(id, { title: 'By hand' })
  await retryVideo(service.stores.db, id, { again: true })
  await service.drain()
  expect(await state()).toMatchObject({ ...kept, title: 'By hand' })
})

test('two spellings of a brand become one, also of videos in work, in pieces, with an event each', async () => {
  const { db } = service.stores
  await readyVideo({ author: 'Acme inc' })
  const many = Array.from({ length: 60 }, (_, n) => ({ id: `m${n}`, sourceKey: `sha256:m${n}`, title: 'x' }))
  const row = { platform: 'web', author: 'Acme inc', status: 'failed', failureCode: 'x', failureMessage: 'x' } as const
  await db.insert(videos).values(many.map((one) => ({ ...one, ...row })))
  const gate = Promise.withResolvers<void>()
  mayEnd = gate.promise
  begun = Promise.withResolvers()
  const inWork = await addVideo(service, 2, { author: 'Acme inc' })
  await begun.promise
  const answers = await Promise.all([merge('Acme inc', 'Acme'), merge('Acme inc', 'Acme')])
  gate.resolve()
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers.reduce((sum, { json }) => sum + json.videos, 0)).toBe(62)
  expect(await brandsNow()).toEqual(['Acme'])
  expect(await videoRow(service, inWork)).toMatchObject({ status: 'ready', author: 'Acme' })
  const events = await Promise.all([inWork, ...many.map(({ id }) => id)].map(changesOf))
  expect(events.map((list) => list.map(({ data }) => data.previous))).toEqual(Array(61).fill([{ author: 'Acme inc' }]))
  expect(new Set(events.map(([one]) => one!.xid)).size).toBeGreaterThan(1)
})

test('the console edits without script: only what was changed, and a brand of all its videos on request', async () => {
  const url = service.config.publicUrl
  const { name, value } = await sessionOf(service.stores.db, url, 'operator@example.com')
  const headers = { cookie: `${name}=${value}` }
  const [one, other] = [
    await addVideo(service, 2, { author: 'Zeta ltd' }),
    await addVideo(service, 2, { author: 'Zeta ltd' }),
  ]
  await service.drain()
  const path = `/operator/videos/${one}`
  const page = await (await fetch(url + path, { headers })).text()
  expect(page).toContain('Change the brand of all other')
  const was = /name="was" value="([^"]+)"/.exec(page)![1]!.replaceAll('&quot;', '"')
  const shown = JSON.parse(was)
  await patch(one, { title: 'Of another operator' })
  const send = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ form: formToken(value), was, ...shown, ...fields })
    const init = { method: 'POST', headers, body, redirect: 'manual' } as const
    const answer = await fetch(`${url}/web${path}/edit`, init)
    return [answer.status, answer.headers.get('location')]
  }
  expect(await send({ author: 'Zeta', published_at: '2026-03-04', all: '1' })).toEqual([303, `${path}?saved=1`])
  expect(await videoRow(service, one)).toMatchObject({ title: 'Of another operator', author: 'Zeta' })
  expect(await videoRow(service, other)).toMatchObject({ author: 'Zeta', published_at: null })
  expect(await (await fetch(`${url}${path}?saved=1`, { headers })).text()).toMatch(/Saved\..+value="2026-03-04"/s)
  expect(await send({ title: '\u200b' })).toEqual([400, null])
  expect((await (await fetch(`${url}/videos/${one}`, { headers })).text()).includes(`href="${path}"`)).toBe(true)
  expect((await (await fetch(`${url}/videos/${one}`)).text()).includes(path)).toBe(false)
})

test('a video that is added again stays as it is, and the answer says what does', async () => {
  const add = (more: object) => service.call('POST', '/api/videos', { url: 'https://cdn.acme.com/again.mp4', ...more })
  const given = { title: 'Again', author: 'Acme', platform: 'x', published_at: '2026-05-06' }
  const first = await add(given)
  expect(first.json).toMatchObject({
    created: true,
    unchanged: [],
    video: { ...given, published_at: '2026-05-06T00:00:00.000Z' },
  })
  const video = { id: first.json.video.id, ...given, published_at: '2026-05-06T00:00:00.000Z' }
  const again = async (more: object) => (await add(more)).json
  expect(await again({ ...given, title: undefined })).toMatchObject({ video, created: false, unchanged: [] })
  const unchanged = ['title', 'published_at']
  expect(await again({ title: 'Other', published_at: '2026-05-07' })).toMatchObject({
    video,
    created: false,
    unchanged,
  })
  for (const bad of [{ published_at: 'soon' }, { title: 'x'.repeat(301) }, { platform: 'tv' }])
    expect((await add(bad)).status, JSON.stringify(bad)).toBe(400)
  // Nobody waits for an address that is none.
  await service.call('DELETE', `/api/videos/${video.id}`)
})

test('the command line edits a video and merges brands, and says what it cannot', async () => {
  const run = (...args: string[]) => frames(service, service.stores.redisUrl, args)
  const [one] = [await readyVideo({ author: 'Quartz inc' }), await readyVideo({ author: 'Quartz inc' })]
  const given = ['--title', 'Spelt well', '--author', '', '--published-at', '2026-11-20']
  const edited = await run('edit', one, ...given, '--json')
  const date = '2026-11-20T00:00:00.000Z'
  expect(edited.json.video).toMatchObject({ title: 'Spelt well', author: null, platform: 'web', published_at: date })
  expect((await run('edit', one, '--published-at', '')).stdout).not.toContain('published at')
  expect((await run('edit', one, '--author', 'Quartz inc')).code).toBe(0)
  expect((await run('brands', 'merge', 'Quartz inc', 'Quartz')).stdout).toBe('videos: 2\n')
  for (const [args, code, said] of [
    [['brands', 'merge', 'Quartz inc', 'Quartz'], 1, 'No video has the first brand. Write it as its videos do.'],
    [['edit', one], 2, 'Name at least one of --title, --author, --platform, --published-at.'],
    [['edit', one, '--title', ''], 2, '--title: must have a character that can be seen'],
    [['edit', one, '--published-at', 'soon'], 2, '--published-at: must be a date such as 2026-11-20'],
    [['edit', 'nosuchvideo', '--title', 'x'], 1, 'frames status lists those there are'],
  ] as const) {
    const { code: ended, stderr } = await run(...args)
    expect([ended, stderr], args.join(' ')).toEqual([code, expect.stringContaining(said)])
  }
})
