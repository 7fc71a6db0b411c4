import { parse } from 'csv-parse/sync'
import { beforeAll, expect, test } from 'vitest'
import { events } from '../../src/db/schema/events.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { saveFrame } from '../../src/library/collections/saves.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { untilReadable } from '../support/stores.ts'
import { openTestApi, useTestApi } from './app.ts'
import { seedFrames } from './seed-frames.ts'

const api = useTestApi()
let key: string
let frameId: string
const today = () => new Date().toISOString().slice(0, 10)
const FORMULA = '=HYPERLINK("https://evil.example","x")'

beforeAll(async () => {
  const operator = await createAccount(api.db, { email: 'figures@example.org', role: 'operator', plan: 'pro' })
  key = (await createKey(api.db, { accountId: operator.id, name: 'figures', scopes: ['events:read'] })).key
  const person = await createAccount(api.db, { email: 'person@example.org', plan: 'pro' })
  frameId = (await seedFrames(api.db, { count: 2 })).frameIds[0]!
  await saveFrame(api.db, { accountId: person.id, frameId })
  const facts = { frame_id: 'f', video_id: 'v', author: FORMULA, technique: null, subject: null }
  await api.db.insert(events).values([
    { type: 'frame.saved', subject: 'f', accountId: 'a', data: facts, time: new Date('2026-01-31T23:59:59Z') },
    { type: 'board.frame_pinned', subject: 'b', accountId: 'b', data: facts, time: new Date('2026-01-31T12:00:00Z') },
  ])
})

const get = (path: string) => api.call(`/api/analytics/${path}`, { key })

test('figures are read by day and by what was saved, in UTC', async () => {
  await untilReadable(api.db)
  await recountAnalytics(api.db)
  const { json: saves } = await get('saves')
  expect(saves).toMatchObject({ to: today(), by: 'day' })
  expect(Date.parse(saves.counted_through)).toBeLessThanOrEqual(Date.now())
  expect(saves.rows).toHaveLength(30)
  expect(saves.rows.at(-1)).toEqual({ key: today(), saves: 1, unsaves: 0, pins: 0, unpins: 0 })
  // Nothing has written a read model here, so frames have no titles: test/mcp/report.test.ts reads them.
  const unnamed = { title: null, author: null, image_url: null }
  expect((await get('saves?by=frame')).json.rows).toEqual([
    { key: frameId, saves: 1, unsaves: 0, pins: 0, unpins: 0, ...unnamed },
  ])
  const january = '?from=2026-01-31&to=2026-02-01'
  expect((await get(`saves${january}`)).json.rows).toEqual([
    { key: '2026-01-31', saves: 1, unsaves: 0, pins: 1, unpins: 0 },
    { key: '2026-02-01', saves: 0, unsaves: 0, pins: 0, unpins: 0 },
  ])
  expect((await get(`saves${january}&by=technique`)).json.rows[0]).toMatchObject({ key: null, saves: 1 })
  expect((await get(`activity${january}`)).json.rows[0]).toMatchObject({ key: '2026-01-31', active_accounts: 2 })
  for (const path of ['videos', 'videos?by=failure', 'stages', 'stages?by=day', 'model', 'model?by=model', 'searches'])
    expect([path, (await get(path)).status]).toEqual([path, 200])
})

test('a spreadsheet gets no formula from a name', async () => {
  const answer = await get('saves?from=2026-01-01&to=2026-01-31&by=brand&format=csv')
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(answer.headers.get('content-disposition')).toContain('saves-by-brand-2026-01-01-2026-01-31.csv')
  expect(parse(answer.text, { bom: true })).toEqual([
    ['brand', 'saves', 'unsaves', 'pins', 'unpins', 'title', 'author', 'image_url'],
    [`'${FORMULA}`, '1', '0', '1', '0', '', '', ''],
  ])
})

test('searches that found nothing are told without who asked, once the process has written them', async () => {
  await using other = await openTestApi()
  await other.call('/api/search?q=Kein%20Treffer%20qzx')
  await other.call('/api/frames?q=kein%20treffer%20qzx')
  await other.call('/api/frames?q=max%40example.org')
  await other.call('/api/frames?q=zxqvwy&subject=ui')
  await other.stop()
  const { rows } = await other.db.$client.query(
    `select account_id, subject, data->'terms' as terms from events where type = 'searches.counted'`,
  )
  expect(rows).toEqual([
    {
      account_id: null,
      subject: 'search',
      terms: [
        { kind: 'unanswered', term: 'kein treffer qzx', count: 2 },
        { kind: 'unanswered', term: null, count: 1 },
      ],
    },
  ])
})

test('counted_through is never later than what is counted', async () => {
  const through = async (path: string) => Date.parse((await get(path)).json.counted_through)
  await untilReadable(api.db)
  await recountAnalytics(api.db)
  // An event that is written now, and one of an open transaction, are not counted: their times bound what is told.
  const client = await api.db.$client.connect()
  try {
    await client.query('begin')
    const [{ now: began }] = (await client.query('select now()')).rows
    await client.query(`insert into accounts (id, email) values ('open', 'open@example.org')`)
    await api.db.insert(events).values([{ type: 'frame.saved', subject: 'f', accountId: 'a', data: {} }])
    expect(await through('saves')).toBeLessThanOrEqual(began.getTime())
    expect(await through('searches')).toBeLessThanOrEqual(began.getTime() - 5 * 60_000)
  } finally {
    await client.query('rollback')
    client.release()
  }
  const { rows } = await api.db.$client.query(
    `select min(time) as first from events where subject = 'f' and data = '{}'`,
  )
  expect(await through('saves')).toBeLessThanOrEqual(rows[0].first.getTime())
})

const RANGE = /1970-01-01/
test.each([
  ['from=2026-02-02&to=2026-02-01', /from: 2026-02-02 is after to \(2026-02-01\)/],
  ['from=2016-01-01&to=2026-01-01', /at most 366 days/],
  ['from=2999-01-01', /is after to/],
  ['from=2026-02-30', /must be a day such as 2026-11-22/],
  // A11
  ...['from=0000-12-31', 'to=0001-01-01', 'from=0001-01-01&to=0001-01-02', 'to=1969-12-31'].map(
    (days): [string, RegExp] => [days, RANGE],
  ),
])('%s is refused with what is allowed', async (days, message) => {
  for (const path of ['saves', 'activity', 'videos', 'stages', 'model', 'searches']) {
    const { status, json } = await get(`${path}?${days}`)
    expect([path, status, json.code, json.message]).toEqual([
      ...[path, 400, 'invalid_request', expect.stringMatching(message)],
    ])
  }
})
