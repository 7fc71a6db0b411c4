import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Client } from 'undici'
import { openDb } from '../../src/db/client.ts'
import { freePort } from '../../src/local/ports.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { openEnding } from './ending.ts'
import { SETTINGS_WHEN_FILLED } from './postgres.ts'
import { askAll, postgresCpuMs, QUESTION_KINDS, questionsOf } from './question-cost.ts'
import { mean, round } from './stats.ts'
import { checkOut, runPart, runSeed, thisVersion, type Version } from './versions.ts'

/** CPU milliseconds of a cold question, API and PostgreSQL together, of an older commit and of this one. */
export interface Against {
  before_api_ms: number
  before_postgres_ms: number
  api_ms: number
  postgres_ms: number
  /** This commit ÷ the older one. */
  ratio: number
}

const COUNT = 100
/** Of questions of each kind that do not count: V8 compiles meanwhile. */
const WARM = 4
/** With 100 questions a round no question is asked twice. */
const ROUNDS = 8

/**
 * Starts an older commit's API beside this one. Each has its own library, filled by its own code, in the same
 * PostgreSQL. Both are asked the same questions in turns, and the one that is asked first alternates.
 * `keep`: a folder that the libraries and the older commit's code stay in, for the next run. Else nothing is left, also
 * where a signal ends the run.
 */
export async function compareWithCommit(
  commit: string,
  sizes: readonly number[],
  keep?: string,
): Promise<{ from: string; to: string; against: Record<string, Record<string, Against>> }> {
  const folder = keep === undefined ? mkdtempSync(join(tmpdir(), 'bench-cold-against-')) : resolve(keep)
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  const ending = openEnding()
  const aborting = new AbortController()
  try {
    if (keep === undefined) ending.defer(() => rmSync(folder, { recursive: true, force: true }))
    const older = checkOut(commit, folder)
    if (keep === undefined) ending.defer(() => older[Symbol.dispose]())
    const newer = thisVersion()
    const redis = await ending.use(startLocalRedis({ dir: join(folder, 'redis'), persistent: false }), (started) =>
      started.stop(),
    )
    const postgres = await ending.use(
      startLocalPostgres({ dir: join(folder, 'postgres'), settings: SETTINGS_WHEN_FILLED }),
      (started) => started.stop(),
    )
    ending.defer(() => aborting.abort())
    const against: Record<string, Record<string, Against>> = {}
    for (const frames of sizes) {
      const open = async (version: Version, side: string) => {
        const dataDir = join(folder, `${side}-${frames}`)
        mkdirSync(dataDir, { recursive: true })
        const library = { name: `${side}_${frames}`, frames, dataDir }
        const databaseUrl = await seededDatabase(version, postgres.url, library, aborting.signal)
        const api = await openApi(version, { databaseUrl, redisUrl: redis.url, dataDir })
        ending.defer(() => api[Symbol.asyncDispose]())
        return api
      }
      const [before, after] = await Promise.all([open(older, 'before'), open(newer, 'after')])
      against[`${frames} frames`] = await compare(before, after, () => postgresCpuMs(postgres.pid))
    }
    return { from: older.name, to: newer.name, against }
  } finally {
    await ending.leave()
  }
}

/** A database of its own with the library of a version, made by that version unless it is there. */
async function seededDatabase(
  version: Version,
  serverUrl: string,
  { name, frames, dataDir }: { name: string; frames: number; dataDir: string },
  abort: AbortSignal,
): Promise<string> {
  const databaseUrl = serverUrl.replace(/\/postgres$/, `/${name}`)
  const server = openDb({ url: serverUrl, max: 1 })
  const { rows } = await server.execute(sql`select from pg_database where datname = ${name}`)
  if (rows.length === 0) await server.execute(sql.raw(`create database ${name}`))
  await server.$client.end()
  const code = await runPart(version, 'migrate', { databaseUrl, redisUrl: 'redis://127.0.0.1:1', dataDir }).ended
  if (code !== 0) throw new Error(`the migration of ${version.name} ended with ${code}`)
  const db = openDb({ url: databaseUrl, max: 1, statementTimeoutMs: 0 })
  try {
    const { rows: held } = await db.execute(sql`select count(*)::int as n from library_search.frames`)
    if (held[0]!.n !== frames) {
      await runSeed(version, { databaseUrl, frames }, abort)
      await db.execute(sql`vacuum analyze`)
    }
  } finally {
    await db.$client.end()
  }
  return databaseUrl
}

interface Side extends AsyncDisposable {
  client: Client
  cpuMs(): number
}

async function openApi(
  version: Version,
  installation: { databaseUrl: string; redisUrl: string; dataDir: string },
): Promise<Side> {
  const port = await freePort()
  const part = runPart(version, 'api', { ...installation, port })
  const url = `http://127.0.0.1:${port}`
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) {
    if (part.process.exitCode !== null) throw new Error(`the API of ${version.name} ended`)
    await sleep(200)
  }
  const client = new Client(url)
  return {
    client,
    cpuMs: () => processCpuMs(part.process.pid!),
    async [Symbol.asyncDispose]() {
      await client.close()
      await part.stop()
    },
  }
}

/** Of all threads. */
function processCpuMs(pid: number): number {
  const ofThread = (task: string) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + ofThread(task), 0) / 1e6
}

type Spent = Map<Side, { api: number[]; postgres: number[] }>

/** The kinds take turns too: a kind that was asked first would pay for compiling what all of them run. */
async function compare(before: Side, after: Side, postgresMs: () => number): Promise<Record<string, Against>> {
  const nothing = (): Spent => new Map([before, after].map((side) => [side, { api: [], postgres: [] }]))
  const spent = new Map(QUESTION_KINDS.map((kind) => [kind, nothing()]))
  for (let n = 0; n < ROUNDS; n++)
    for (const [kind, bySide] of spent) {
      const questions = questionsOf(kind, COUNT, n * COUNT)
      for (const side of n % 2 ? [before, after] : [after, before]) {
        const start = { api: side.cpuMs(), postgres: postgresMs() }
        await askAll(side.client, questions)
        if (n < WARM) continue
        bySide.get(side)!.api.push((side.cpuMs() - start.api) / COUNT)
        bySide.get(side)!.postgres.push((postgresMs() - start.postgres) / COUNT)
      }
    }
  const costOf = (bySide: Spent, side: Side) => {
    const { api, postgres } = bySide.get(side)!
    return { api: mean(api), postgres: mean(postgres) }
  }
  return Object.fromEntries(
    [...spent].map(([kind, bySide]) => [kind, againstOf(costOf(bySide, before), costOf(bySide, after))]),
  )
}

interface Cost {
  api: number
  postgres: number
}

const againstOf = (old: Cost, now: Cost): Against => ({
  before_api_ms: round(old.api),
  before_postgres_ms: round(old.postgres),
  api_ms: round(now.api),
  postgres_ms: round(now.postgres),
  ratio: round((now.api + now.postgres) / (old.api + old.postgres)),
})
