import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findAnnotatorStatus } from '../../src/library/annotator/active-annotator.ts'
import { sql } from '../../src/sql/orm.ts'
import { type FakeVisionOptions, startFakeVisionEndpoint } from '../support/fake-vision-endpoint.ts'
import type { Service } from '../support/service.ts'
import { addVideo, frames } from './support.ts'
import { openVisionService } from './vision-service.ts'

vi.setConfig({ testTimeout: 600_000 })

const opened: AsyncDisposable[] = []
const close = <T extends AsyncDisposable>(one: T): T => {
  opened.unshift(one)
  return one
}
/** It sees the squares of the check. */
const describe: FakeVisionOptions['describe'] = (name) => ({
  caption: name === 'f1' ? 'A red square on white.' : 'A green square on white.',
})
const vllm: FakeVisionOptions = { server: 'vllm', state: { model: 'fake-vl' }, describe }
let service: Service
let env: Record<string, string>
let video: string
const run = (over: Record<string, string>, ...args: string[]) =>
  frames(service, service.stores.redisUrl, args, { ...env, ...over })

beforeAll(async () => {
  const started = await openVisionService(close, { fake: vllm, env: { VISION: 'vllm' } })
  service = started.service
  env = started.env
  video = await addVideo(service, 3)
  await service.drain()
})

afterAll(async () => {
  for (const one of opened) await one[Symbol.asyncDispose]()
})

test('a model that works: what its server tells, what it sees, its pace, the cost, and the notes', async () => {
  const { db } = service.stores
  const notes = JSON.stringify({ subject: { value: 'ui' }, zone: { value: 'top-left' } })
  await db.execute(sql`insert into annotations (frame_id, annotator, model, status, values)
    select id, 'notes:t', 'notes', 'annotated', ${notes}::jsonb from frames`)
  const found = await run({}, 'vision', 'check', '--json')
  expect(found).toMatchObject({ code: 0, stderr: '' })
  expect(found.json.findings.map(({ what, told }: Record<string, string>) => `${what}: ${told}`)).toEqual([
    expect.stringMatching(/^server: http:\S+ answers$/),
    'model: fake-vl',
    'pictures: the server does not say',
    'window: 32768 tokens: 8 of at most 8 frames a call',
    'sight: a red square and a green one are told apart',
    'form: kept',
    'thinking: off',
    expect.stringMatching(/^pace: \d+\.\d s and 1680 tokens a frame$/),
    'library: 0 frames to describe: about 0 s, $0.00',
    'notes: as the notes say: subject 3 of 3, zone 0 of 3',
  ])
  // Every worker asks what costs nothing when it starts, for the console.
  expect((await findAnnotatorStatus(db)).check?.findings).toHaveLength(4)
  // A check is paid for like any call, and leaves no answer behind about its squares.
  const { rows } = await db.execute(sql`select outcome from vision_calls where video_id is null`)
  expect(rows).toEqual([{ outcome: 'ok' }])
})

test.each<[what: string, fake: FakeVisionOptions, over: Record<string, string>, told: RegExp]>([
  [
    'does not see',
    { ...vllm, describe: () => ({}) },
    {},
    /sight.*It does not tell a red square from a green one\. Set VI/,
  ],
  ['thinks', { ...vllm, plan: () => 'thinks' }, {}, /thinking.*Set VISION_MODEL to an -instruct build/],
  ['is not there', { ...vllm, state: { isMissing: true } }, {}, /model.*has no model fake-vl\. Run vllm serve fake-vl/],
  ['is a page', { state: { page: '<html>' } }, { VISION: '' }, /server.*answers with a page.*Check VISION_BASE_URL/],
  ['describes nothing', { ...vllm, plan: () => 'garbage' }, {}, /It described nothing: the answer was not valid JSON/],
])('a model that %s: one sentence with what to do, exit 1', async (_, fake, over, told) => {
  await using endpoint = await startFakeVisionEndpoint(fake)
  const found = await run({ VISION_BASE_URL: endpoint.baseUrl, ...over }, 'vision', 'check')
  expect(found).toMatchObject({ code: 1, stdout: expect.stringMatching(told) })
  expect(found.stderr).toMatch(/^1 of \d checks failed: fake-vl\.\n$/)
})

test('without a model, and while the budget is spent, a sentence says so, and nothing is asked', async () => {
  const none = await frames(service, service.stores.redisUrl, ['vision', 'check'])
  expect(none).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^No model is set\. Set VISION/) })
  await using endpoint = await startFakeVisionEndpoint(vllm)
  const spent = { VISION_BASE_URL: endpoint.baseUrl, VISION_BUDGET_DAY: '0.000001' }
  expect(await run(spent, 'vision', 'check')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^The budget of \$0\.000001 for 24 hours is spent\./),
  })
  expect(endpoint.calls).toEqual([])
  expect(await run(spent, 'vision', 'check', '--free')).toMatchObject({ code: 0 })
})

test('frames status tells n of m, the pace, the time, the money, and what waits for what', async () => {
  const { db } = service.stores
  // No worker answers for this annotator.
  await db.execute(sql`insert into reannotations (frame_id, video_id, annotator)
    select id, video_id, 'later@1' from frames`)
  const status = async () => (await run({ VISION_BUDGET_DAY: '5' }, 'status')).stdout
  expect(await status()).toMatch(
    /^0 of 3 frames are described.*\.\n\d+ calls in 24 hours, \$0\.\d+ of \$5, \$4\.\d\d left, about/,
  )
  await db.execute(sql`insert into vision_calls (video_id, model, frames, duration_ms, outcome, cost_usd)
    values (${video}, 'fake-vl', 2, 1, 'ok', 0.01)`)
  expect(await status()).toMatch(/^2 of 5 frames are described, \d+(\.\d)? a minute, about \d+ s left\.$/m)
})
