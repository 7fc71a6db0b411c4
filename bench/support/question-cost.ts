import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import type pg from 'pg'
import { Client } from 'undici'
import type { Db } from '../../src/db/client.ts'
import { brandIdOf } from '../../src/search/library-search.ts'
import { SEED_WORDS } from './library.ts'
import { mean, round } from './stats.ts'

/**
 * CPU time of the API and of PostgreSQL for a question that is not in memory. The limit is a bare `select` of the
 * documents in the answer, sent by the same process.
 */

/** CPU milliseconds a question. */
export interface QuestionCost {
  api_ms: number
  postgres_ms: number
  bare_ms: number
  /** API and PostgreSQL ÷ bare select. */
  ratio: number
}

interface Question {
  method: 'GET' | 'POST'
  path: string
  body?: string
}

/** Ids by the kind of their documents. */
type Rows = { kind: string; id: string }[]

export const QUESTION_KINDS = [
  '/api/search',
  '/api/search, nothing found',
  '/api/frames',
  'search_frames',
  'search_frames, nothing found',
] as const
type Kind = (typeof QUESTION_KINDS)[number]

/** Asks a running API (`serve` of cold-search, which answers `cpu` and `bare`) every kind of question in turns. */
export async function measureCosts({
  api,
  port,
  db,
}: {
  api: ChildProcess
  port: number
  db: Db
}): Promise<Record<string, QuestionCost>> {
  const count = 100
  const client = new Client(`http://127.0.0.1:${port}`)
  const postgres = await postmasterOf(db)
  const cpu = async () => ({ api: await askChild<number>(api, { ask: 'cpu' }), postgres: postgresCpuMs(postgres) })
  const figures: Record<string, QuestionCost> = {}
  for (const kind of QUESTION_KINDS) {
    const rounds: Omit<QuestionCost, 'ratio'>[] = []
    // The first two rounds warm the code and the connections.
    for (let n = 0; n < 7; n++) {
      const questions = questionsOf(kind, count, n * count)
      const start = await cpu()
      const answers = await askAll(client, questions)
      const asked = await cpu()
      const rows = answers.map(rowsOf)
      const before = await cpu()
      await askChild(api, { ask: 'bare', rows })
      const after = await cpu()
      if (n < 2) continue
      rounds.push({
        api_ms: (asked.api - start.api) / count,
        postgres_ms: (asked.postgres - start.postgres) / count,
        bare_ms: (after.api - before.api + after.postgres - before.postgres) / count,
      })
    }
    const [api_ms, postgres_ms, bare_ms] = (['api_ms', 'postgres_ms', 'bare_ms'] as const).map((name) =>
      mean(rounds.map((one) => one[name])),
    ) as [number, number, number]
    figures[kind] = {
      api_ms: round(api_ms),
      postgres_ms: round(postgres_ms),
      bare_ms: round(bare_ms),
      ratio: round((api_ms + postgres_ms) / bare_ms),
    }
  }
  await client.close()
  return figures
}

/** Answers of the API's process: its CPU time, and bare selects. */
export function answerCosts(pool: pg.Pool): void {
  process.on('message', async (message: { ask?: string; rows?: Rows[] }) => {
    if (message.ask === 'cpu') {
      const { user, system } = process.cpuUsage()
      process.send!((user + system) / 1_000)
    } else if (message.ask === 'bare') {
      for (const rows of message.rows!) await selectBare(pool, rows)
      process.send!(true)
    }
  })
}

async function selectBare(pool: pg.Pool, rows: Rows): Promise<Buffer> {
  const found = await pool.query({
    name: 'bare',
    text: `select d.doc from unnest($1::text[], $2::text[]) as asked(kind, id)
             join library_search.documents d on d.kind = asked.kind and d.id = asked.id`,
    values: [rows.map(({ kind }) => kind), rows.map(({ id }) => id)],
  })
  return Buffer.from(JSON.stringify(found.rows))
}

export async function askChild<T>(child: ChildProcess, message: object): Promise<T> {
  const answer = once(child, 'message')
  child.send(message)
  return (await answer)[0] as T
}

/** Four at a time. */
async function askAll(client: Client, questions: readonly Question[]): Promise<string[]> {
  return (await Promise.all(chunksOf(questions, 4).map((some) => askInTurn(client, some)))).flat()
}

async function askInTurn(client: Client, questions: readonly Question[]): Promise<string[]> {
  const answers: string[] = []
  for (const { method, path, body } of questions) {
    const answer = await client.request({
      method,
      path,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
    answers.push(text)
  }
  return answers
}

function chunksOf<T>(list: readonly T[], count: number): T[][] {
  return Array.from({ length: count }, (_, n) => list.filter((_one, at) => at % count === n))
}

/** No two questions are alike, so that nothing comes from memory. */
function questionsOf(kind: Kind, count: number, from: number): Question[] {
  const { adjectives, things, screen } = SEED_WORDS
  return Array.from({ length: count }, (_, at) => {
    const n = from + at
    // No kind of question has the words of another.
    const unheard = 2 * n + QUESTION_KINDS.indexOf(kind) * 1_000_000
    const pair = `${adjectives[n % adjectives.length]} ${things[Math.floor(n / adjectives.length) % things.length]}`
    const more = screen[Math.floor(n / adjectives.length / things.length) % screen.length]
    const q = kind.endsWith('nothing found') ? `${unheardOf(unheard)} ${unheardOf(unheard + 1)}` : `${pair} ${more}`
    if (kind.startsWith('search_frames')) {
      const params = { name: 'search_frames', arguments: { query: q } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params })
      return { method: 'POST', path: '/api/mcp', body }
    }
    if (kind === '/api/frames') return { method: 'GET', path: `/api/frames?q=${encodeURIComponent(pair)}` }
    return { method: 'GET', path: `/api/search?q=${encodeURIComponent(q)}` }
  })
}

const unheardOf = (n: number): string =>
  `qz${[...String(n * 7919 + 10_000)].map((digit) => 'bdfghjkmpv'[+digit]).join('')}`

interface Answer {
  videos?: { id: string }[]
  frames?: { id: string }[]
  brands?: { name: string }[]
  techniques?: { slug: string }[]
}

function rowsOf(text: string): Rows {
  const parsed = JSON.parse(text) as Answer & { result?: { structuredContent: Answer } }
  const { videos = [], frames = [], brands = [], techniques = [] } = parsed.result?.structuredContent ?? parsed
  return [
    ...videos.map(({ id }) => ({ kind: 'videos', id })),
    ...frames.map(({ id }) => ({ kind: 'frames', id })),
    ...brands.map(({ name }) => ({ kind: 'brands', id: brandIdOf(name) })),
    ...techniques.map(({ slug }) => ({ kind: 'techniques', id: slug })),
  ]
}

export async function postmasterOf(db: Db): Promise<number> {
  const { rows } = await db.execute(sql`select pg_backend_pid() as pid`)
  return parentOf(Number((rows[0] as { pid: number }).pid))
}

const statOf = (pid: number | string): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
const parentOf = (pid: number | string): number => Number(statOf(pid)[1])

/** CPU time of a server and its processes, those that have ended included. */
export function postgresCpuMs(postmaster: number): number {
  const ticks = statOf(postmaster)
  let ms = ticks.slice(11, 15).reduce((sum, tick) => sum + Number(tick) * 10, 0)
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (parentOf(pid) === postmaster) ms += Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
    } catch {
      // The process has ended meanwhile.
    }
  }
  return ms
}
