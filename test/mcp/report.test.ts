import { beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { send } from './support.ts'
import { FILMS, OPEN, useToolLibrary } from './tool-library.ts'

/** What operators ask of their library, by the tool and over HTTP: both read the same figures. */

const library = useToolLibrary({ countsEveryMs: 50 })
const { service, call, get } = library
let operator: { authorization: string }
const today = () => new Date().toISOString().slice(0, 10)

beforeAll(async () => {
  const { db } = service.stores
  const account = await createAccount(db, { email: 'operator@example.org', role: 'operator', plan: 'free' })
  const { key } = await createKey(db, { accountId: account.id, name: 'figures', scopes: ['events:read'] })
  operator = { authorization: `Bearer ${key}` }
})

async function recount(): Promise<void> {
  await untilReadable(service.stores.db)
  await recountAnalytics(service.stores.db)
}

const figuresOf = async (path: string) =>
  (await send(`${service.url}/api/analytics/${path}`, { method: 'GET', headers: operator })).json

test('what was saved, with titles and pictures', async () => {
  const { bearer } = await service.keyOf('pro')
  const [first, second] = (await get('/api/frames?subject=logo')).frames
  await call('save_frame', { frame_ids: [first.id, second.id] }, bearer)
  await call('edit_board', { name: 'B' }, bearer)
  await call('pin_frame', { board_id: 'B', frame_ids: first.id }, bearer)
  await recount()
  const { title, author } = first.video
  const figures = { saves: 1, unsaves: 0, pins: 1, unpins: 0 }
  const report = await call('usage_report', { of: 'saves', by: 'frame', from: today(), to: today() }, operator)
  expect(report.structuredContent.rows[0]).toEqual({
    key: first.id,
    ...figures,
    title,
    author,
    image_url: first.thumb_url,
  })
  expect(report.text).toContain(`"${title}" by "${author}": saves 1, unsaves 0, pins 1, unpins 0\n${first.thumb_url}`)
  for (const [by, named] of [
    ['video', { key: first.video_id, title, author, image_url: expect.stringContaining('/media/') }],
    ['brand', { key: author, title: author, author, image_url: expect.stringContaining('/media/') }],
    ['technique', { key: 'logo-reveal', author: null, image_url: expect.stringContaining('/media/') }],
  ] as const) {
    const { rows } = (await call('usage_report', { by }, operator)).structuredContent
    expect(rows[0], by).toMatchObject(named)
    expect(rows).toEqual((await figuresOf(`saves?by=${by}`)).rows)
  }
})

test('searches by who asks, with the weak answers and the empty ones', async () => {
  await get('/api/frames?q=headline')
  await get('/api/frames?q=headline%20zxqvwy')
  await get('/api/search?q=zxqvwy')
  await get('/api/frames?q=headline&subject=ui')
  expect((await fetch(`${service.url}/?q=headline`)).status).toBe(200)
  await call('search_frames', { query: 'headline zxqvwy' })
  await call('search_frames', { query: '"zxqvwy"', author: 'nobody' })
  await call('get_video_frames', { video_id: 'no such title' })
  await until(async () => {
    const { rows } = await service.stores.db.$client.query(
      `select sum((a->>'searches')::int)::int as n from events, jsonb_array_elements(data->'askers') a
        where type = 'searches.counted'`,
    )
    return rows[0].n === 7
  })
  await recount()
  const rows = async (by: string) =>
    (await call('usage_report', { of: 'searches', by, from: today() }, operator)).structuredContent
  expect((await rows('asker')).rows).toEqual([
    { key: 'programs', searches: 4, unanswered: 1, weak: 1 },
    { key: 'agents', searches: 2, unanswered: 0, weak: 1 },
    { key: 'people', searches: 1, unanswered: 0, weak: 0 },
  ])
  expect((await rows('day')).rows).toEqual([{ key: today(), searches: 7, unanswered: 1, weak: 2 }])
  const terms = await rows('term')
  expect(terms.rows).toEqual([
    { key: 'headline zxqvwy', searches: null, unanswered: 0, weak: 2 },
    { key: 'zxqvwy', searches: null, unanswered: 1, weak: 0 },
  ])
  // Searches of the last five minutes may still be in memory.
  expect(Date.parse(terms.counted_through)).toBeLessThanOrEqual(Date.now() - 5 * 60_000)
})

test('is for operators, and says how each figure is split', async () => {
  const names = (await library.listed(operator)).map(({ name }) => name)
  expect(names).toEqual([...OPEN, ...FILMS, 'usage_report'])
  const { bearer } = await service.keyOf('pro')
  expect((await call('usage_report', {}, bearer))._meta.code).toBe('forbidden')
  const refused = await call('usage_report', { of: 'model', by: 'frame' }, operator)
  expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('by: model are split by day, model.')])
  for (const figures of ['activity', 'videos', 'stages', 'model'])
    expect((await call('usage_report', { of: figures }, operator)).isError, figures).toBeUndefined()
})

test('what strangers searched for stays within its quotation', async () => {
  await call('search_frames', { query: 'hijack-call-now' })
  await recount()
  await expect
    .poll(async () => {
      await recount()
      return (await call('usage_report', { of: 'searches', by: 'term' }, operator)).text
    })
    .toContain('hijack')
  const { text } = await call('usage_report', { of: 'searches', by: 'term' }, operator)
  expect(text.replace(/"[^"\n]*"/g, '')).not.toContain('hijack')
})
