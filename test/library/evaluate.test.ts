import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { certaintySql, loadCalibrations } from '../../src/library/evaluation/calibration.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { toModelImage } from '../../src/vision/model/images.ts'
import { type FakeVisionOptions, startFakeVisionEndpoint } from '../support/fake-vision-endpoint.ts'
import type { Service } from '../support/service.ts'
import { addVideo, countOf, frameRows, frames, openScripted, scriptedAnnotator, values } from './support.ts'

let service: Service
let opened: { [Symbol.asyncDispose](): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.reverse()) await each[Symbol.asyncDispose]()
  opened = []
})

/** A library of so many frames, each with its picture as a model gets it, and an endpoint. */
async function open(count: number, fake: (nth: (image: string) => number) => FakeVisionOptions) {
  service = await openScripted(scriptedAnnotator('measured@1', () => ({ values: values({ subject: 'ui' }, 'rule') })))
  opened.push(service)
  const video = await addVideo(service, count, { title: '<script>alert(1)</script>"\'' })
  await service.drain()
  const rows = await frameRows(service, video)
  const store = openMediaStore(service.config)
  const pictures = await Promise.all(rows.map(async (row) => toModelImage((await store.get(row.image_key as string))!)))
  const endpoint = await startFakeVisionEndpoint(fake((image) => pictures.indexOf(image)))
  opened.push(endpoint)
  const ids = rows.map(({ id }) => id)
  const evaluate = (args: string[], env: Record<string, string> = {}) =>
    frames(service, service.stores.redisUrl, ['evaluate', '--json', ...args], {
      VISION_BASE_URL: endpoint.baseUrl,
      VISION_MODEL: 'fake-vl',
      VISION_PRICE_IN: '1',
      VISION_PRICE_OUT: '10',
      VISION_CONCURRENCY: '1',
      ...env,
    })
  async function label(truth: (n: number) => Record<string, unknown>) {
    const path = join(service.config.dataDir, 'labels.jsonl')
    await writeFile(path, ids.map((frame, n) => JSON.stringify({ frame, ...truth(n) })).join('\n'))
    return ['--labels', path]
  }
  return { endpoint, ids, evaluate, label, pictures }
}

/** An interval that holds a share and is not empty. */
const between = (share: number) =>
  expect.toSatisfy(([low, high]: [number, number]) => low <= share && share <= high && low < high)

/** Everything of the library that an evaluation must not change. */
async function library() {
  const tables = await Promise.all(
    ['frames', 'annotations', 'vision_answers', 'videos', 'reannotations'].map((table) =>
      service.stores.db.execute(sql`select * from ${sql.identifier(table)} order by 1, 2`),
    ),
  )
  // The books grow, with an event for each call.
  const events = await service.stores.db.execute(sql`select * from events where type <> 'model.called' order by seq`)
  return JSON.stringify([...tables, events].map(({ rows }) => rows))
}

test('agreement, refusals, broken answers, cost and calibration are exactly those planted', async () => {
  // 40 frames. Every fifth subject is wrong; the first 20 shots are sure and right, of the others half are wrong.
  const { evaluate, label, endpoint, pictures } = await open(40, (nth) => ({
    plan: (call) => (['garbage', 'rate-limited', 'server-error'] as const)[call] ?? 'well',
    describe: (_, image) => {
      const n = nth(image)
      return {
        subject: n % 5 === 0 ? 'logo' : 'ui',
        shot: n < 20 || n % 2 === 0 ? 'no-face' : 'close-presenter',
        zone: n % 4 === 0 ? null : 'none',
        on_screen_text: 'Members\nInvite',
        confidence: { subject: 0.55, shot: n < 20 ? 0.95 : 0.65 },
        refusal: n === 39 ? 'I will not.' : null,
      }
    },
  }))
  expect(new Set(pictures).size).toBe(40)
  const before = await library()
  const page = join(service.config.dataDir, 'page.html')
  const labels = await label(() => ({
    subject: ['ui', 'terminal'],
    shot: 'no-face',
    zone: 'none',
    on_screen_text: 'members list',
  }))
  const { code, json, stderr } = await evaluate([...labels, '--page', page])
  expect([code, stderr]).toEqual([0, ''])
  const [report] = json.models
  expect(report).toMatchObject({ model: 'fake-vl', frames: 40, refused: 1, failed: 0, stopped: null })
  expect(report.agreement.labels).toEqual({
    subject: { compared: 40, answered: 39, agreed: 31, agreement: 31 / 39, interval: between(31 / 39) },
    shot: { compared: 40, answered: 39, agreed: 30, agreement: 30 / 39, interval: between(30 / 39) },
    zone: { compared: 40, answered: 29, agreed: 29, agreement: 1, interval: between(1) },
    // One of two words each.
    on_screen_text: { compared: 40, answered: 39, agreed: 19.5, agreement: 0.5, interval: between(0.5) },
  })
  expect(report.calibration.shot).toEqual([
    { from: 0.6, to: 0.7, n: 19, mean_confidence: expect.closeTo(0.65), agreed: expect.closeTo(10 / 19) },
    { from: 0.9, to: 1, n: 20, mean_confidence: expect.closeTo(0.95), agreed: 1 },
  ])
  expect(report.broken_calls).toBe(2)
  // Everything paid is in the books, broken answers too.
  const { rows } = await service.stores.db.execute<{ n: string; cost: number }>(
    sql`select count(*) as n, sum(cost_usd) as cost from vision_calls`,
  )
  expect(report.calls).toBe(Number(rows[0]!.n))
  expect(report.calls).toBe(endpoint.calls.length - 1)
  expect(report.cost_usd).toBeCloseTo(rows[0]!.cost, 9)
  expect(report.cost_per_1000_frames).toBeCloseTo((rows[0]!.cost / 40) * 1000, 6)
  expect(report.latency_ms.p95).toBeGreaterThanOrEqual(report.latency_ms.median)
  expect(await library()).toBe(before)

  const calibrations = await loadCalibrations(service.stores.db)
  const certaintyOf = async (attribute: 'shot' | 'caption', confidence: number | null, model = 'fake-vl') => {
    const value = { model: sql`${model}::text`, confidence: sql`${confidence}::float8` }
    const { rows: found } = await service.stores.db.execute<{ certainty: number | null }>(
      sql`select ${certaintySql(calibrations, attribute, value)} as certainty`,
    )
    return found[0]!.certainty
  }
  expect(await certaintyOf('shot', 0.95)).toBeCloseTo((20 + 0.95 * 4) / 24)
  expect(await certaintyOf('shot', 0.65)).toBeCloseTo((10 + 0.65 * 4) / 23)
  // No band of its own: that of all attributes counts.
  expect(await certaintyOf('caption', 0.55)).toBeCloseTo((31 + 0.55 * 4) / 43)
  expect(await certaintyOf('shot', 0.3)).toBe(0.3)
  expect(await certaintyOf('shot', 0.65, 'other-vl')).toBe(0.65)
  expect(await certaintyOf('shot', null)).toBeNull()

  const html = await readFile(page, 'utf8')
  expect(html).not.toContain('<script')
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;')
  expect(html).toContain("default-src 'none'")
  const addresses = [...html.matchAll(/(?:src|href)\s*=\s*["']?([^"'\s>]*)/g)].map(([, address]) => address!)
  expect(addresses.every((address) => address.startsWith('data:image/webp;base64,'))).toBe(true)
  expect(html).not.toContain('url(')
  expect(html.match(/data:image\/webp;base64,/g)).toHaveLength(40)
})

test('what people corrected is compared first, and two models stand side by side', async () => {
  const { evaluate, ids, endpoint } = await open(12, (nth) => ({
    describe: (_, image) => ({ subject: nth(image) < 6 ? 'terminal' : 'ui' }),
  }))
  for (const id of ids.slice(3, 9)) {
    const { status } = await service.call('PATCH', `/api/frames/${id}/annotation`, { subject: 'terminal' })
    expect(status).toBe(200)
  }
  const { json, stderr } = await evaluate(['--sample', '6', '--against', 'other-vl', '--against-price', '2,20'])
  expect(stderr).toBe('')
  expect(json.sample).toBe(6)
  expect(json.models.map(({ model }: { model: string }) => model)).toEqual(['fake-vl', 'other-vl'])
  expect(new Set(endpoint.calls.map(({ body }) => body.model))).toEqual(new Set(['fake-vl', 'other-vl']))
  for (const { agreement } of json.models)
    expect(agreement.people).toEqual({
      subject: { compared: 6, answered: 6, agreed: 3, agreement: 0.5, interval: between(0.5) },
    })
  expect(json.models[1].cost_usd).toBeCloseTo(json.models[0].cost_usd * 2, 9)
  expect(json.comparison).toMatchObject({ only_first: 0, only_second: 0, p: 1 })
})

test('a model that is better by what was planted is said to be, with what each further right value costs', async () => {
  // Both models know 20 frames; the larger alone knows 14 more, the smaller alone 2.
  const { endpoint, ids, label, pictures } = await open(40, () => ({}))
  const given = await label(() => ({ subject: 'terminal' }))
  await using both = await startFakeVisionEndpoint({
    replace: async (body) => {
      const { content } = body.messages.at(-1)
      const frames = content.flatMap(({ text }: { text?: string }, i: number) => {
        const frame = /^(f\d+):$/.exec(text ?? '')?.[1]
        if (!frame) return []
        const n = pictures.indexOf(content[i + 1].image_url.url)
        const knows = n < 20 || (body.model === 'other-vl' ? n < 34 : n >= 38)
        return [{ frame, subject: knows ? 'terminal' : 'logo' }]
      })
      const message = { role: 'assistant', content: JSON.stringify({ frames }) }
      const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }
      return { status: 200, body: { id: 'c', choices: [{ index: 0, finish_reason: 'stop', message }], usage } }
    },
  })
  const env = { VISION_BASE_URL: both.baseUrl, VISION_MODEL: 'fake-vl', VISION_PRICE_IN: '1', VISION_PRICE_OUT: '10' }
  const args = [...given, '--against', 'other-vl', '--against-price', '3,30']
  const run = (more: string[]) => frames(service, service.stores.redisUrl, ['evaluate', ...args, ...more], env)
  const { json } = await run(['--json'])
  expect(ids).toHaveLength(40)
  expect(endpoint.calls).toHaveLength(0)
  const { comparison, models } = json
  expect(comparison).toMatchObject({ frames: 40, first_right: 22, second_right: 34, only_first: 2, only_second: 14 })
  expect(comparison.p).toBeCloseTo(0.00418, 4)
  const [small, large] = models.map(
    ({ cost_per_1000_frames }: { cost_per_1000_frames: number }) => cost_per_1000_frames,
  )
  const { stdout } = await run([])
  expect(stdout).toMatch(/Of \d+ known values fake-vl has 22 right, other-vl 34\. Right in one alone: 2 and 14\./)
  expect(stdout).toContain('other-vl is better (p = 0.004).')
  const each = ((large - small) / ((12 / 40) * 1000)).toFixed(4)
  expect(stdout).toContain(`$${each} for each further right value`)
})

test('a budget that runs out in the middle ends the run with what it has, and says so', async () => {
  const { evaluate, endpoint, label } = await open(40, () => ({}))
  // A call of eight frames costs $0.0204: two are paid for before the budget is spent.
  const { code, json, stderr } = await evaluate(await label(() => ({ subject: 'ui' })), { VISION_BUDGET_DAY: '0.03' })
  expect([code, stderr]).toEqual([0, ''])
  const [report] = json.models
  expect(report.stopped).toMatchObject({ code: 'budget_spent', message: expect.stringContaining('$0.03') })
  expect(endpoint.calls).toHaveLength(2)
  // Near-identical frames share an answer.
  const asked = endpoint.calls.flatMap(({ names }) => names).length
  expect(report.frames).toBeGreaterThanOrEqual(asked)
  expect(report.frames).toBeLessThan(asked + 8)
  expect(report.agreement.labels.subject).toMatchObject({ compared: report.frames, agreement: 1 })
  expect(await countOf(service, sql`select count(*) as n from vision_calls where cost_usd > 0`)).toBe(2)
})

test.each([
  [['--labels', '/nowhere'], /cannot be read/],
  [['--sample', '0'], /--sample must be a whole number from 1 to 2000/],
  [['--price', 'cheap'], /--price must be two numbers/],
  [['--against', 'fake-vl'], /another model/],
  [['--model', 'other-vl'], /needs the price of other-vl/],
])('%j is refused with what is allowed', async (args, message) => {
  const { evaluate, endpoint } = await open(1, () => ({}))
  const { code, stderr } = await evaluate(args, { VISION_BUDGET_DAY: '1' })
  expect(code).not.toBe(0)
  expect(stderr).toMatch(message)
  expect(endpoint.calls).toHaveLength(0)
})

test('a label that cannot be is refused with its line', async () => {
  const { evaluate, label } = await open(2, () => ({}))
  const { stderr } = await evaluate(await label((n) => ({ subject: n === 1 ? 'spaceship' : 'ui' })))
  expect(stderr).toMatch(/Line 2: subject cannot be "spaceship"\. Use presenter, ui/)
})
