import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, parseConfig } from '../../src/config.ts'
import type { Db } from '../../src/db/client.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { createLogger } from '../../src/logger.ts'
import { type ApiOptions, type OpenApi, openApi } from '../../src/server/main.ts'
import { openEnding } from './ending.ts'
import { seedLibrary } from './library.ts'
import { BENCH_PREFIX } from './mirror.ts'
import { openTemporaryDatabase } from './postgres.ts'
import { childrenCpuMs, postgresCpuMs, postmasterOf } from './processes.ts'

/** Where a service keeps its data, and how it is set. */
export interface Settings {
  dir: string
  databaseUrl: string
  redisUrl: string
  meili?: { url: string; key: string } | undefined
  publicUrl?: string
  /** RATE_LIMIT_SCALE (default: no bench spends its budget). */
  scale?: number
  /** EMBED (default: off). */
  embed?: string
}

export interface Stores extends AsyncDisposable {
  db: Db
  settings: Settings
}

/** PostgreSQL with a library, Redis and a folder. */
export async function openStores(bench: string, { frames }: { frames: number }): Promise<Stores> {
  const dir = mkdtempSync(join(tmpdir(), `frames-bench-${bench}-`))
  const ending = openEnding()
  ending.defer(() => rmSync(dir, { recursive: true, force: true }))
  const redis = await ending.use(startLocalRedis({ dir, persistent: false }), (started) => started.stop())
  const database = await openTemporaryDatabase()
  const { db } = database
  await seedLibrary(db, { frames })
  return {
    db,
    settings: { dir, databaseUrl: database.url, redisUrl: redis.url },
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await ending.leave()
    },
  }
}

export function configOf({
  dir,
  meili,
  publicUrl = 'http://frames.test',
  scale = 1_000_000,
  embed = 'off',
}: Settings): Config {
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    PUBLIC_URL: publicUrl,
    RATE_LIMIT_SCALE: String(scale),
    EMBED: embed,
    ...(meili ? { MEILI_URL: meili.url, MEILI_KEY: meili.key } : {}),
  })
  return config.meili ? { ...config, meili: { ...config.meili, prefix: BENCH_PREFIX } } : config
}

/** What the API's processes have spent since the start, what it counts besides, and the CPU time of PostgreSQL. */
type Spent<C = unknown> = C & { apiMs: number; postgresMs: number }

export interface Served<T, C = unknown> extends AsyncDisposable {
  url: string
  port: number
  pid: number
  /** What the process told when it began to serve. */
  told: T
  spent(): Promise<Spent<C>>
}

/** Starts the API in a process of its own: the bench is called again with `serve`, and calls `serveApi`. */
export async function openServed<T = undefined, C = unknown>(
  bench: string,
  settings: Settings,
  db: Db,
): Promise<Served<T, C>> {
  const child = fork(join(import.meta.dirname, '../main.ts'), [bench, 'serve', JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const closed = once(child, 'exit')
  const next = async () => {
    const ended = closed.then(() => Promise.reject(new Error(`${bench}: the service ended`)))
    return (await Promise.race([once(child, 'message'), ended]))[0]
  }
  const { port, told } = (await next()) as { port: number; told: T }
  let postmaster: Promise<number> | undefined
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    told,
    async spent() {
      child.send('spent')
      const spent = (await next()) as C & { apiMs: number }
      postmaster ??= postmasterOf(db)
      const apiMs = spent.apiMs + childrenCpuMs(child.pid!)
      return { ...spent, apiMs, postgresMs: postgresCpuMs(await postmaster) }
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      await closed
    },
  }
}

interface Beside<T> {
  told: T
  /** What this process counts besides its CPU time. */
  count?(): object
  close?(): unknown
}

/** Serves the API as `frames api` does, until the bench is done. `beside` opens what the process serves with it. */
export async function serveApi<T = undefined>(
  given: string | undefined,
  beside?: (api: OpenApi, settings: Settings) => Promise<Beside<T>> | Beside<T>,
  overrides?: ApiOptions['overrides'],
): Promise<undefined> {
  const settings = JSON.parse(given!) as Settings
  const { databaseUrl, redisUrl } = settings
  const api = await openApi({
    config: configOf(settings),
    databaseUrl,
    redisUrl,
    logger: createLogger({ level: 'info' }),
    port: 0,
    host: '127.0.0.1',
    ...(overrides ? { overrides } : {}),
  })
  const more = await beside?.(api, settings)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send!({ apiMs: (user + system) / 1_000, ...more?.count?.() })
  })
  process.send!({ port: api.port, told: more?.told })
  await once(process, 'disconnect')
  await more?.close?.()
  await api.stop({ deadlineMs: 2_000 })
  return undefined
}
