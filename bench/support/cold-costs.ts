import { Client } from 'undici'
import type { Db } from '../../src/db/client.ts'
import { frameQuery } from '../../src/search/meilisearch/queries.ts'
import { searchOnlyKey } from '../../src/search/meilisearch/request.ts'
import { readQuestion } from '../../src/search/text/question.ts'
import { inTurns, millisecondsOf, type Turns } from './bench.ts'
import { threeWords, twoWords, unheardOf } from './cold-questions.ts'
import { BENCH_PREFIX } from './mirror.ts'
import type { Served } from './service.ts'
import { mean, round } from './stats.ts'

interface Asked {
  path: string
  body?: object
}

const tool = (query: string): Asked => ({
  path: '/api/mcp',
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search_frames', arguments: { query } } },
})

/** No two questions are alike, and no kind has the words of another where nothing is found. */
export const KINDS: Record<string, (n: number) => Asked> = {
  '/api/search': (n) => ({ path: `/api/search?q=${encodeURIComponent(threeWords(n))}` }),
  '/api/search, nothing found': (n) => ({ path: `/api/search?q=${unheardOf(n).replace(' ', '+')}` }),
  '/api/frames': (n) => ({ path: `/api/frames?q=${encodeURIComponent(twoWords(n))}` }),
  search_frames: (n) => tool(threeWords(n)),
  'search_frames, nothing found': (n) => tool(unheardOf(n + 1_000_000)),
}

/** CPU milliseconds a question. The first two rounds warm the code and the connections. */
export async function measureCold(given: Served<undefined>, db: Db, count: number) {
  await using served = given
  const client = new Client(served.url)
  const costs: Record<string, Record<'api_ms' | 'postgres_ms' | 'bare_ms' | 'ratio', number>> = {}
  for (const [kind, ask] of Object.entries(KINDS)) {
    const seen: { api_ms: number; postgres_ms: number; bare_ms: number }[] = []
    for (let round = 0; round < 7; round++) {
      const start = await served.spent()
      const answers: string[] = []
      for (let n = 0; n < count; n++) answers.push(await textOf(client, ask(round * count + n)))
      const asked = await served.spent()
      const own = process.cpuUsage()
      for (const text of answers) await selectBare(db, text)
      const { user, system } = process.cpuUsage(own)
      const bare = (await served.spent()).postgresMs - asked.postgresMs + (user + system) / 1_000
      seen.push({
        api_ms: (asked.apiMs - start.apiMs) / count,
        postgres_ms: (asked.postgresMs - start.postgresMs) / count,
        bare_ms: bare / count,
      })
    }
    const of = (name: keyof (typeof seen)[number]) => round(mean(seen.slice(2).map((one) => one[name])))
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

/** Pages of words through the API and from the engine itself, with equal rows and fields. */
export async function compareWithMeilisearch(
  given: Served<undefined>,
  meili: { url: string; key: string },
  count: number,
): Promise<Record<string, Turns>> {
  await using served = given
  const [ours, engine] = [new Client(served.url), new Client(meili.url)]
  const authorization = `Bearer ${await searchOnlyKey({ ...meili, prefix: BENCH_PREFIX })}`
  // As in a service that has run for some minutes.
  for (let n = 0; n < 500; n++) await textOf(ours, { path: `/api/frames?q=${encodeURIComponent(twoWords(n))}&page=2` })
  const facets = ['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author_key', 'platform']
  const cases: Record<string, Turns> = {}
  for (const [name, more, counted] of [
    ['words', '', {}],
    ['counts', '&facets=1', { facets }],
  ] as const) {
    const next = { ours: 0, bare: 0 }
    const question = (of: keyof typeof next) => twoWords(331 * next[of]++)
    cases[name] = await inTurns(
      {
        ours: () => {
          const path = `/api/frames?q=${encodeURIComponent(question('ours'))}${more}`
          return millisecondsOf(() => textOf(ours, { path }))
        },
        bare: () => {
          const { indexUid, ...asked } = frameQuery(BENCH_PREFIX, readQuestion(question('bare')).wanted, {})
          const body = { ...asked, limit: 120, ...counted }
          return millisecondsOf(() => textOf(engine, { path: `/indexes/${indexUid}/search`, body }, { authorization }))
        },
      },
      { rounds: count, warmUp: 0 },
    )
  }
  await Promise.all([ours.close(), engine.close()])
  console.table(cases)
  return cases
}

async function textOf(client: Client, { path, body }: Asked, headers: Record<string, string> = {}): Promise<string> {
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
