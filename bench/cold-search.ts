import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { Client, type Dispatcher } from 'undici'
import { type Config, parseConfig } from '../src/config.ts'
import { type Db, openDb } from '../src/db/client.ts'
import { createLogger } from '../src/logger.ts'
import type { FrameFilters } from '../src/search/library-search.ts'
import { frameQuery } from '../src/search/meilisearch/queries.ts'
import { searchOnlyKey } from '../src/search/meilisearch/request.ts'
import { readQuestion } from '../src/search/text/question.ts'
import { openApi } from '../src/server/main.ts'
import { type About, type Figure, optionsOf } from './support/bench.ts'
import { SEED_WORDS, seedLibrary } from './support/library.ts'
import { BENCH_PREFIX, fillMirror } from './support/mirror.ts'
import { openSeededDatabase, openTemporaryDatabase } from './support/postgres.ts'
import { answerCosts, measureCosts, QUESTION_KINDS, type QuestionCost } from './support/question-cost.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { median, round } from './support/stats.ts'

/**
 * Limit: 1.8 times the engine's own time. Every address is asked once, so that nothing comes from our memory. The
 * side that asks first alternates, so that neither finds warmer pages. Without MEILI_URL and MEILI_KEY only the CPU
 * time on the default engine is measured. `--seeded` takes the library in DATABASE_URL, and its mirror. With
 * `--only-meilisearch` the CPU time is left out.
 */
export const about: About = {
  measures:
    'The CPU time of cold questions on the default engine, API and PostgreSQL together. With Meilisearch: the time ' +
    'of cold searches through the HTTP API. Nothing is cached.',
  against:
    'for CPU time a bare `select` of the same documents by the same process. For Meilisearch the question that finds ' +
    'the same frames in the same index, with equal rows and fields. The same kept-alive client asks it over HTTP. ' +
    '`plain_words_ms`: the words as typed, which find fewer frames, because no word then names an attribute. ' +
    'Searches as they are typed are compared with four plain queries.',
  figures: [
    ...[29, 100_000, 1_000_000].flatMap((frames) => QUESTION_KINDS.map((kind) => costFigure(kind, frames))),
    { what: 'a page of words', at: ['cases', 'wall, two words', 'ratio'], atMost: 1.8 },
    { what: 'with filters', at: ['cases', 'wall, two words and filters', 'ratio'], atMost: 1.8 },
    { what: 'mistyped', at: ['cases', 'wall, mistyped', 'ratio'], atMost: 1.8 },
    { what: 'fifth page', at: ['cases', 'wall, fifth page', 'ratio'], atMost: 1.8 },
    { what: 'with counts', at: ['cases', 'wall, counts', 'ratio'], atMost: 1.8 },
    { what: '`/api/search` as it is typed', at: ['cases', 'search, as it is typed', 'ratio'], atMost: 1.8 },
    { what: '`/api/search`, more words', at: ['cases', 'search, two and three words', 'ratio'], atMost: 1.8 },
  ],
}

function costFigure(kind: string, frames: number): Figure {
  const what = `${kind}, ${frames.toLocaleString('en')} frames: CPU ÷ a bare \`select\``
  return { what, at: ['costs', `${frames} frames`, kind, 'ratio'] }
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve(JSON.parse(args[1]!))
  const values = optionsOf(args, { frames: 100_000, queries: 150, seeded: false, 'only-meilisearch': false })
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-cold-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  await using database = values.seeded ? openSeededDatabase('cold-search') : await openTemporaryDatabase()
  const { db } = database
  const settings: ApiSettings = { dir, databaseUrl: database.url, redisUrl: redis.url, meili: undefined }
  const costs: Record<string, Record<string, QuestionCost>> = {}
  const costAt = async (frames: number) => {
    await using api = await openServed(settings)
    costs[`${frames} frames`] = await measureCosts({ ...api, db })
  }
  let frames = 29
  if (!values.seeded) {
    await seedLibrary(db, { frames })
    await costAt(frames)
    await seedLibrary(db, { frames: values.frames })
  }
  frames = await countFrames(db)
  if (!values['only-meilisearch']) await costAt(frames)
  const { MEILI_URL, MEILI_KEY } = process.env
  const meili = MEILI_URL && MEILI_KEY ? { url: MEILI_URL, key: MEILI_KEY } : undefined
  const compared =
    meili && (await compareWithEngine({ ...settings, meili }, db, { queries: values.queries, seeded: values.seeded }))
  if (!meili) console.error('cold-search: without MEILI_URL and MEILI_KEY the default engine alone is measured')
  await redis.stop()
  rmSync(dir, { recursive: true, force: true })
  return { bench: 'cold-search', frames, costs, ...compared }
}

async function countFrames(db: Db): Promise<number> {
  const { rows } = await db.execute(sql`select count(*)::int as n from library_search.frames`)
  return (rows[0] as { n: number }).n
}

/** An API in a process of its own. */
async function openServed(settings: ApiSettings) {
  const api = fork(join(import.meta.dirname, 'main.ts'), ['cold-search', 'serve', JSON.stringify(settings)])
  const stopped = once(api, 'exit')
  const [port] = (await once(api, 'message')) as [number]
  return {
    api,
    port,
    async [Symbol.asyncDispose]() {
      api.send('stop')
      await stopped
    },
  }
}

async function compareWithEngine(
  settings: ApiSettings,
  db: Db,
  { queries, seeded }: { queries: number; seeded: boolean },
) {
  const meili = configOf(settings).meili!
  const drop = await fillMirror(db, meili, { seeded })
  await using served = await openServed(settings)
  const key = await searchOnlyKey(meili)
  const ours = new Client(`http://127.0.0.1:${served.port}`)
  const engine = new Client(meili.url)
  const asKey = { authorization: `Bearer ${meili.key}` }
  const json = async (client: Client, path: string) =>
    JSON.parse((await bytesOf(client, { method: 'GET', path, headers: client === engine ? asKey : {} })).toString())

  await warmUp(ours)
  const figures: Record<string, Awaited<ReturnType<typeof compare>>> = {}
  for (const [name, questions] of Object.entries(casesOf(BENCH_PREFIX, queries)))
    figures[name] = await compare(questions, { ours, engine, key })
  const { debug } = (await json(ours, '/api/frames?q=kite&debug=1')) as { debug: { engine: string } }
  const version = (await json(engine, '/version')) as { pkgVersion: string }
  await Promise.all([ours.close(), engine.close()])
  await drop()
  return {
    meilisearch: version.pkgVersion,
    answered_by: debug.engine,
    ratio: Math.max(...Object.values(figures).map(({ ratio }) => ratio)),
    ratio_of: 'slowest kind of cold search through the API against the same asked of Meilisearch straight, medians',
    cases: figures,
  }
}

/** As in a service that has run for some minutes: full pages that no case asks for. */
async function warmUp(ours: Client): Promise<void> {
  for (let n = 0; n < 1_500; n++) {
    const word = SEED_WORDS.things[n % SEED_WORDS.things.length]
    const more = Math.floor(n / SEED_WORDS.things.length)
    await bytesOf(ours, {
      method: 'GET',
      path: n % 3 === 0 ? `/api/search?q=${word}+warm${more}` : `/api/frames?q=${word}&shot=no-face&page=${2 + more}`,
    })
  }
}

async function compare(
  questions: readonly Question[],
  { ours, engine, key }: { ours: Client; engine: Client; key: string | undefined },
) {
  const times = { ours: [] as number[], engine: [] as number[], plain: [] as number[], says: [] as number[] }
  const askEngine = ({ path, body }: Straight) =>
    bytesOf(engine, {
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  for (const [n, { path, straight, plain }] of questions.entries()) {
    const asks = [
      { side: 'ours', ask: () => bytesOf(ours, { method: 'GET', path }) },
      { side: 'engine', ask: () => askEngine(straight) },
      ...(plain ? [{ side: 'plain', ask: () => askEngine(plain) } as const] : []),
    ] as const
    for (const at of asks.keys()) {
      const { side, ask } = asks[(at + n) % asks.length]!
      const started = performance.now()
      const body = await ask()
      times[side].push(performance.now() - started)
      if (side === 'engine') times.says.push(processingMs(JSON.parse(body.toString())))
    }
  }
  const [oursMs, engineMs] = [median(times.ours), median(times.engine)]
  return {
    ours_ms: round(oursMs),
    engine_ms: round(engineMs),
    ratio: round(oursMs / engineMs),
    engine_says_ms: median(times.says),
    ...(times.plain.length > 0 ? { plain_words_ms: round(median(times.plain)) } : {}),
  }
}

interface ApiSettings {
  dir: string
  databaseUrl: string
  redisUrl: string
  meili: { url: string; key: string } | undefined
}

function configOf({ dir, meili }: ApiSettings): Config {
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    PUBLIC_URL: 'http://frames.test',
    RATE_LIMIT_SCALE: '1000000',
    ...(meili ? { MEILI_URL: meili.url, MEILI_KEY: meili.key } : {}),
  })
  return config.meili ? { ...config, meili: { ...config.meili, prefix: BENCH_PREFIX } } : config
}

async function serve(settings: ApiSettings): Promise<undefined> {
  const { databaseUrl, redisUrl } = settings
  const logger = createLogger({ level: 'silent' })
  // As `frames api` does.
  const api = await openApi({ config: configOf(settings), databaseUrl, redisUrl, logger, port: 0, host: '127.0.0.1' })
  const db = openDb({ url: databaseUrl, max: 1 })
  answerCosts(db.$client)
  process.send!(api.port)
  await new Promise<void>((resolve) => {
    process.on('message', (message) => message === 'stop' && resolve())
    process.once('disconnect', resolve)
  })
  process.disconnect?.()
  await db.$client.end()
  await api.stop({ deadlineMs: 2_000 })
  return undefined
}

interface Straight {
  path: string
  body: object
}

interface Question {
  path: string
  straight: Straight
  /** The words as typed. */
  plain?: Straight
}

function casesOf(prefix: string, count: number): Record<string, Question[]> {
  const { adjectives, things, screen } = SEED_WORDS
  // 331 and the number of pairs have no common divisor, so no pair comes twice.
  const pairs = Array.from({ length: Math.min(count, adjectives.length * things.length) }, (_, n) => {
    const at = (n * 331) % (adjectives.length * things.length)
    return `${adjectives[at % adjectives.length]} ${things[Math.floor(at / adjectives.length)]}`
  })
  const rows = { limit: 120, matchingStrategy: 'all', showRankingScore: true, attributesToRetrieve: ['key', 'doc'] }
  const wall = (q: string, more: string, filters: FrameFilters = {}, extra: object = {}): Question => {
    const { indexUid, ...asked } = frameQuery(prefix, readQuestion(q).wanted, filters)
    const path = `/indexes/${indexUid}/search`
    return {
      path: `/api/frames?q=${encodeURIComponent(q)}${more}`,
      straight: { path, body: { ...asked, limit: rows.limit, ...extra } },
      plain: { path, body: { q, ...rows, filter: asked.filter, ...extra } },
    }
  }
  const search = (q: string): Question => ({
    path: `/api/search?q=${encodeURIComponent(q)}`,
    straight: {
      path: '/multi-search',
      // The default strategy drops words from the end until there are rows enough.
      body: {
        queries: ['videos', 'frames', 'brands', 'techniques'].map((kind) => ({
          indexUid: kind === 'frames' ? `${prefix}_frames` : `${prefix}_names`,
          ...(kind === 'frames' ? {} : { filter: `kind = ${kind}` }),
          q,
          limit: 6,
          showRankingScore: true,
          attributesToRetrieve: ['key', 'doc'],
        })),
      },
    },
  })
  const facets = ['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author_key', 'platform']
  return {
    'wall, two words': pairs.map((q) => wall(q, '')),
    'wall, two words and filters': pairs.map((q) =>
      wall(q, '&tone=dark&platform=youtube,x', { tone: ['dark'], platform: ['youtube', 'x'] }),
    ),
    'wall, mistyped': things
      .filter((thing) => thing.length > 5)
      .flatMap((thing) =>
        adjectives.slice(0, 5).map((adjective) => wall(`${adjective} ${thing.slice(0, 2)}${thing.slice(3)}`, '')),
      )
      .slice(0, count),
    'wall, fifth page': pairs
      .map((q) =>
        wall(
          q.split(' ')[1]!,
          `&page=5&tone=${q.length % 2 ? 'dark' : 'bright'}&kind=${q.length % 3 ? 'cut' : 'beat'}`,
          { tone: [q.length % 2 ? 'dark' : 'bright'], kind: [q.length % 3 ? 'cut' : 'beat'] },
          { offset: 480 },
        ),
      )
      .filter(unique()),
    'wall, counts': pairs.slice(0, Math.ceil(count / 3)).map((q) => wall(q, '&facets=1', undefined, { facets })),
    'search, as it is typed': [...things, ...adjectives]
      .flatMap((word) => [4, 5, word.length].map((to) => search(word.slice(0, to))))
      .filter(unique()),
    'search, two and three words': pairs.map((q, n) => search(n % 2 === 0 ? q : `${q} ${screen[n % screen.length]}`)),
  }
}

function unique(): (question: Question) => boolean {
  const seen = new Set<string>()
  return ({ path }) => !seen.has(path) && seen.add(path) !== undefined
}

async function bytesOf(client: Client, options: Dispatcher.RequestOptions): Promise<Buffer> {
  const { statusCode, body } = await client.request(options)
  const bytes = Buffer.from(await body.arrayBuffer())
  if (statusCode !== 200) throw new Error(`${options.path} answered ${statusCode}: ${bytes.toString().slice(0, 300)}`)
  return bytes
}

function processingMs(answer: { processingTimeMs?: number; results?: { processingTimeMs: number }[] }): number {
  return answer.processingTimeMs ?? answer.results?.reduce((sum, result) => sum + result.processingTimeMs, 0) ?? 0
}
