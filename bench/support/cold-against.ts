import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Client } from 'undici'
import { openDb } from '../../src/db/client.ts'
import { freePort } from '../../src/local/ports.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
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
/** Of questions that do not count: V8 compiles meanwhile. */
const WARM = 3
/** With 100 questions a round no question is asked twice. */
const ROUNDS = 7

/**
 * Starts an older commit's API beside this one. Each has its own library, filled by its own code, in the same
 * PostgreSQL. Both are asked the same questions in turns, and the one that is asked first alternates.
 */
export async function compareWithCommit(
  commit: string,
  sizes: readonly number[],
): Promise<{ from: string; to: string; against: Record<string, Record<string, Against>> }> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-cold-against-'))
  using older = checkOut(commit, folder)
  const newer = thisVersion()
  const redis = await startLocalRedis({ dir: join(folder, 'redis'), persistent: false })
  const postgres = await startLocalPostgres({
    dir: join(folder, 'postgres'),
    settings: SETTINGS_WHEN_FILLED,
  })
  const against: Record<string, Record<string, Against>> = {}
  try {
    for (const frames of sizes) {
      const open = async (version: Version, side: string) => {
        const dataDir = join(folder, `${side}-${frames}`)
        mkdirSync(dataDir)
        const databaseUrl = await createSeeded(version, postgres.url, { name: `${side}_${frames}`, frames, dataDir })
        return openApi(version, { databaseUrl, redisUrl: redis.url, dataDir })
      }
      await using before = await open(older, 'before')
      await using after = await open(newer, 'after')
      against[`${frames} frames`] = await compare(before, after, () => postgresCpuMs(postgres.pid))
    }
  } finally {
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
  return { from: older.name, to: newer.name, against }
}

/** A database of its own with the library of a version, made by that version. */
async function createSeeded(
  version: Version,
  serverUrl: string,
  { name, frames, dataDir }: { name: string; frames: number; dataDir: string },
): Promise<string> {
  const server = openDb({ url: serverUrl, max: 1 })
  await server.execute(sql.raw(`create database ${name}`))
  await server.$client.end()
  const databaseUrl = serverUrl.replace(/\/postgres$/, `/${name}`)
  const code = await runPart(version, 'migrate', { databaseUrl, redisUrl: 'redis://127.0.0.1:1', dataDir }).ended
  if (code !== 0) throw new Error(`the migration of ${version.name} ended with ${code}`)
  runSeed(version, databaseUrl, frames)
  const db = openDb({ url: databaseUrl, max: 1, statementTimeoutMs: 0 })
  await db.execute(sql`vacuum analyze`)
  await db.$client.end()
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

async function compare(before: Side, after: Side, postgresMs: () => number): Promise<Record<string, Against>> {
  const figures: Record<string, Against> = {}
  for (const kind of QUESTION_KINDS) {
    const spent = new Map([before, after].map((side) => [side, { api: [] as number[], postgres: [] as number[] }]))
    for (let n = 0; n < ROUNDS; n++) {
      const questions = questionsOf(kind, COUNT, n * COUNT)
      for (const side of n % 2 ? [before, after] : [after, before]) {
        const start = { api: side.cpuMs(), postgres: postgresMs() }
        await askAll(side.client, questions)
        if (n < WARM) continue
        spent.get(side)!.api.push((side.cpuMs() - start.api) / COUNT)
        spent.get(side)!.postgres.push((postgresMs() - start.postgres) / COUNT)
      }
    }
    const costOf = (side: Side) => ({ api: mean(spent.get(side)!.api), postgres: mean(spent.get(side)!.postgres) })
    const [old, now] = [costOf(before), costOf(after)]
    figures[kind] = {
      before_api_ms: round(old.api),
      before_postgres_ms: round(old.postgres),
      api_ms: round(now.api),
      postgres_ms: round(now.postgres),
      ratio: round((now.api + now.postgres) / (old.api + old.postgres)),
    }
  }
  return figures
}
