import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { parseConfig } from '../../src/config.ts'
import type { Db } from '../../src/db/client.ts'
import { createLogger } from '../../src/logger.ts'
import type { FrameDocument, LibrarySearch } from '../../src/search/library-search.ts'
import type { AppOverrides } from '../../src/server/build-app.ts'
import { type OpenApi, openApi } from '../../src/server/main.ts'
import { listeningServer } from '../support/listening.ts'
import { type Answer, readAnswer } from '../support/openapi.ts'
import { openStores, type Stores } from '../support/stores.ts'

export interface Call {
  method?: string
  key?: string | undefined
  body?: unknown
  headers?: Record<string, string>
}

export interface TestApi {
  stores: Stores
  db: Db
  url: string
  /** Every line that was logged. */
  logs: string[]
  /** The routers and the tools. */
  app: OpenApi['app']
  call(path: string, call?: Call): Promise<Answer>
  /** Stops the API, and leaves its stores open until it is disposed of. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The API as production wires it, behind one proxy, without a worker: frames come straight from the record. */
export async function openTestApi({
  scale = 1_000,
  redisUrl,
  env = {},
  overrides = {},
}: {
  scale?: number
  redisUrl?: string
  env?: Record<string, string>
  overrides?: AppOverrides
} = {}): Promise<TestApi> {
  const stores = await openStores()
  const { db, prefix } = stores
  const watch = overrides.search ?? ((search: LibrarySearch) => search)
  const logs: string[] = []
  const logger = createLogger({ level: 'info' }, { write: (line: string) => void logs.push(line) })
  const dataDir = await mkdtemp(join(tmpdir(), 'frames-accounts-'))
  const { server, url } = await listeningServer()
  const api = await openApi({
    config: parseConfig({
      DATA_DIR: dataDir,
      PUBLIC_URL: url,
      TRUST_PROXY: '1',
      RATE_LIMIT_SCALE: String(scale),
      ...env,
    }),
    databaseUrl: stores.databaseUrl,
    redisUrl: redisUrl ?? stores.redisUrl,
    logger,
    prefix,
    server,
    // A busy machine is no unavailable Redis; a Redis of the test's own may be one.
    ...(redisUrl === undefined ? { patienceMs: 15_000 } : {}),
    overrides: { ...overrides, search: (search) => watch(withRecordedFrames(search, db)) },
  })
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= api.stop())
  return {
    stores,
    db,
    url,
    logs,
    app: api.app,
    async call(path, { method = 'GET', key, body, headers = {} } = {}) {
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      return readAnswer(method, path, response, body)
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      await stores[Symbol.asyncDispose]()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** The search with frames by id from the record itself: these tests run no projection. */
function withRecordedFrames(search: LibrarySearch, db: Db): LibrarySearch {
  return Object.assign(Object.create(search), framesFrom(db))
}

function framesFrom(db: Db) {
  return {
    async framesByIds(ids: readonly string[]): Promise<FrameDocument[]> {
      const { rows } = await db.execute<Record<string, number>>(sql`
        select f.*, v.title, v.author, v.platform, v.source_url, v.duration_sec
          from frames f join videos v on v.id = f.video_id
         where f.id = any(${sql.param([...ids])}::text[])`)
      const documents = rows.map(
        (row) =>
          ({
            ...row,
            t_sec: Number(row.t_ms) / 1000,
            shot_sec: null,
            image_path: `/media/${row.id}-00000000.webp`,
            thumb_path: `/media/${row.id}-00000000-480.webp`,
            annotation: { model: null, confidence: {}, reviewed: false },
            video: {
              id: row.video_id,
              title: row.title,
              author: row.author,
              platform: row.platform,
              source_url: row.source_url,
              duration_sec: row.duration_sec,
            },
          }) as unknown as FrameDocument,
      )
      return ids.flatMap((id) => documents.find((document) => document.id === id) ?? [])
    },
  }
}
