import { Client } from 'undici'
import type { Db } from '../src/db/client.ts'
import type { FrameFilters } from '../src/search/library-search.ts'
import { frameQuery } from '../src/search/meilisearch/queries.ts'
import { searchOnlyKey } from '../src/search/meilisearch/request.ts'
import { readQuestion } from '../src/search/text/question.ts'
import { type About, inTurns, millisecondsOf, optionsOf } from './support/bench.ts'
import { threeWords, twoWords, unheardOf } from './support/cold-questions.ts'
import { SEED_WORDS } from './support/library.ts'
import { BENCH_PREFIX, openMirror } from './support/mirror.ts'
import { openServed, openStores, type Served, serveApi } from './support/service.ts'
import { mean, round } from './support/stats.ts'

type Ask = (n: number) => { path: string; body?: object }

const search: (q: string) => ReturnType<Ask> = (q) => ({ path: `/api/search?q=${encodeURIComponent(q)}` })
const tool: (query: string) => ReturnType<Ask> = (query) => ({
  path: '/api/mcp',
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search_frames', arguments: { query } } },
})

/** No two questions are alike, and no kind has the words of another where nothing is found. */
const KINDS: Record<string, Ask> = {
  '/api/search': (n) => search(threeWords(n)),
  '/api/search, nothing found': (n) => search(unheardOf(n)),
  '/api/frames': (n) => ({ path: `/api/frames?q=${encodeURIComponent(twoWords(n))}` }),
  search_frames: (n) => tool(threeWords(n)),
  'search_frames, nothing found': (n) => tool(unheardOf(n + 1_000_000)),
}

/**
 * Every question is asked once, so that nothing comes from our memory. Without MEILI_URL and MEILI_KEY only the CPU
 * time on the default engine is measured. `--seeded` takes the library in DATABASE_URL, and its mirror.
 */
export const about: About = {
  measures:
    'The CPU time of cold questions on the default engine, API and PostgreSQL together. With Meilisearch: the time ' +
    'of cold searches through the HTTP API. Nothing is cached.',
  against:
    'for CPU time a bare `select` of the same frames. For Meilisearch the question that finds the same frames in the ' +
    'same index, with equal rows and fields. The same kept-alive client asks it over HTTP.',
  figures: [
    ...Object.keys(KINDS).map((kind) => ({ what: `${kind}: CPU ÷ a bare \`select\``, at: ['costs', kind, 'ratio'] })),
    { what: 'a page of words', at: ['cases', 'two words', 'ratio'], atMost: 1.8 },
    { what: 'with filters', at: ['cases', 'two words and filters', 'ratio'], atMost: 1.8 },
    { what: 'fifth page', at: ['cases', 'fifth page', 'ratio'], atMost: 1.8 },
    { what: 'with counts', at: ['cases', 'counts', 'ratio'], atMost: 1.8 },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serveApi(args[1])
  const values = optionsOf(args, { frames: 100_000, queries: 150, seeded: false })
  await using stores = await openStores('cold-search', values)
  const { db, settings } = stores
  const costs = await measureCosts(await openServed('cold-search', settings, db), db)
  console.table(costs)
  await using mirror = await openMirror(db, values)
  if (!mirror) console.error('cold-search: without MEILI_URL and MEILI_KEY the default engine alone is measured')
  const { meili } = mirror ?? {}
  const compared =
    meili && (await compare(await openServed('cold-search', { ...settings, meili }, db), meili, values.queries))
  const frames = await db.$client.query('select count(*)::int as n from library_search.frames')
  return { bench: 'cold-search', frames: frames.rows[0].n, costs, ...compared }
}

/** CPU milliseconds a question. The first two rounds warm the code and the connections. */
async function measureCosts(given: Served<undefined>, db: Db) {
  await using served = given
  const client = new Client(served.url)
  const [count, rounds] = [100, 5]
  const costs: Record<string, Record<'api_ms' | 'postgres_ms' | 'bare_ms' | 'ratio', number>> = {}
  for (const [kind, ask] of Object.entries(KINDS)) {
    const seen: { api_ms: number; postgres_ms: number; bare_ms: number }[] = []
    for (let round = -2; round < rounds; round++) {
      const start = await served.spent()
      const answers: string[] = []
      for (let n = 0; n < count; n++) answers.push(await textOf(client, ask((round + 2) * count + n)))
      const asked = await served.spent()
      const own = process.cpuUsage()
      for (const text of answers) await selectBare(db, text)
      const { user, system } = process.cpuUsage(own)
      const bare = (await served.spent()).postgresMs - asked.postgresMs + (user + system) / 1_000
      if (round < 0) continue
      seen.push({
        api_ms: (asked.apiMs - start.apiMs) / count,
        postgres_ms: (asked.postgresMs - start.postgresMs) / count,
        bare_ms: bare / count,
      })
    }
    const of = (name: keyof (typeof seen)[number]) => round(mean(seen.map((one) => one[name])))
    const [api_ms, postgres_ms, bare_ms] = [of('api_ms'), of('postgres_ms'), of('bare_ms')]
    costs[kind] = { api_ms, postgres_ms, bare_ms, ratio: round((api_ms + postgres_ms) / bare_ms) }
  }
  await client.close()
  return costs
}

/** Reads the frames of an answer again, and writes them as JSON. */
async function selectBare(db: Db, text: string): Promise<Buffer> {
  interface Answer {
    frames?: { id: string }[]
    result?: { structuredContent: Answer }
  }
  const answer = JSON.parse(text) as Answer
  const { frames = [] } = answer.result?.structuredContent ?? answer
  const { rows } = await db.$client.query({
    name: 'bare',
    text: "select doc from library_search.documents where kind = 'frames' and id = any($1)",
    values: [frames.map(({ id }) => id)],
  })
  return Buffer.from(JSON.stringify(rows))
}

async function compare(given: Served<undefined>, meili: { url: string; key: string }, queries: number) {
  await using served = given
  const [ours, engine] = [new Client(served.url), new Client(meili.url)]
  const authorization = `Bearer ${await searchOnlyKey({ ...meili, prefix: BENCH_PREFIX })}`
  await warmUp(ours)
  const cases: Record<string, Awaited<ReturnType<typeof inTurns>>> = {}
  for (const [name, questions] of Object.entries(casesOf(queries))) {
    // The side that asks first alternates, so that neither finds warmer pages.
    const next = { ours: 0, bare: 0 }
    const sides = {
      ours: () => millisecondsOf(() => textOf(ours, questions[next.ours++]!.ours)),
      bare: () => millisecondsOf(() => textOf(engine, questions[next.bare++]!.bare, { authorization })),
    }
    cases[name] = await inTurns(sides, { rounds: questions.length, warmUp: 0 })
  }
  await Promise.all([ours.close(), engine.close()])
  console.table(cases)
  return {
    ratio: Math.max(...Object.values(cases).map(({ ratio }) => ratio)),
    ratio_of: 'slowest kind of cold search through the API against the same asked of Meilisearch straight, medians',
    cases,
  }
}

/** As in a service that has run for some minutes: full pages that no case asks for. */
async function warmUp(ours: Client): Promise<void> {
  for (let n = 0; n < 1_500; n++) {
    const word = SEED_WORDS.things[n % SEED_WORDS.things.length]!
    const more = Math.floor(n / SEED_WORDS.things.length)
    const page = { path: `/api/frames?q=${word}&shot=no-face&page=${2 + more}` }
    await textOf(ours, n % 3 === 0 ? search(`${word} warm${more}`) : page)
  }
}

function casesOf(count: number) {
  const wall = (
    q: string,
    { more = '', filters = {}, ...rest }: { more?: string; filters?: FrameFilters } & object,
  ) => {
    const { indexUid, ...asked } = frameQuery(BENCH_PREFIX, readQuestion(q).wanted, filters)
    return {
      ours: { path: `/api/frames?q=${encodeURIComponent(q)}${more}` },
      bare: { path: `/indexes/${indexUid}/search`, body: { ...asked, limit: 120, ...rest } },
    }
  }
  const { adjectives, things } = SEED_WORDS
  // 331 and the number of pairs have no common divisor, so no pair comes twice.
  const pairs = Array.from({ length: Math.min(count, adjectives.length * things.length) }, (_, n) => twoWords(n * 331))
  const facets = ['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author_key', 'platform']
  return {
    'two words': pairs.map((q) => wall(q, {})),
    'two words and filters': pairs.map((q) =>
      wall(q, { more: '&tone=dark&platform=youtube,x', filters: { tone: ['dark'], platform: ['youtube', 'x'] } }),
    ),
    'fifth page': things
      .slice(0, count)
      .flatMap((q) =>
        (['cut', 'beat'] as const).map((kind) =>
          wall(q, { more: `&page=5&kind=${kind}`, filters: { kind: [kind] }, ...{ offset: 480 } }),
        ),
      ),
    counts: pairs.slice(0, Math.ceil(count / 3)).map((q) => wall(q, { more: '&facets=1', ...{ facets } })),
  }
}

async function textOf(
  client: Client,
  { path, body }: { path: string; body?: object },
  headers: Record<string, string> = {},
): Promise<string> {
  const answer = await client.request({
    method: body ? 'POST' : 'GET',
    path,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
  return text
}
