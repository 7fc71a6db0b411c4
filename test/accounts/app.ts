import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'drizzle-orm'
import type { Router } from 'express'
import { accountsRouter } from '../../src/api/accounts.ts'
import { boardsRouter } from '../../src/api/boards.ts'
import { eventsRouter } from '../../src/api/events.ts'
import { favouritesRouter } from '../../src/api/favourites.ts'
import type { Db } from '../../src/db/client.ts'
import { createApp } from '../../src/http/app.ts'
import { type Authentication, createAuthentication } from '../../src/http/authenticate.ts'
import { openRateLimits, type RateLimits } from '../../src/http/rate-limit.ts'
import { createLogger } from '../../src/logger.ts'
import type { FrameDocument } from '../../src/search/library-search.ts'
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
  routers: Router[]
  limits: RateLimits
  /** Every line that was logged. */
  logs: string[]
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
  call(path: string, call?: Call): Promise<{ status: number; headers: Headers; text: string; json: any }>
  [Symbol.asyncDispose](): Promise<void>
}

/** The account routes over HTTP, with real stores. Frames come straight from Postgres. */
export async function openTestApi({
  scale = 1_000,
  redisUrl,
  more = () => [],
}: {
  scale?: number
  redisUrl?: string
  more?: (deps: {
    db: Db
    limits: RateLimits
    authentication: Authentication
    search: ReturnType<typeof framesFrom>
    publicUrl: string
  }) => Router[]
} = {}): Promise<TestApi> {
  const stores = await openStores()
  const { db } = stores
  const logs: string[] = []
  const logger = createLogger({ level: 'debug' }, { write: (line: string) => void logs.push(line) })
  const limits = openRateLimits({
    redisUrl: redisUrl ?? stores.redisUrl,
    scale,
    logger,
    prefix: `rate:${stores.prefix}`,
    // A busy machine is no Redis that is away; a Redis of the test's own may be.
    ...(redisUrl === undefined ? { patienceMs: 15_000 } : {}),
  })
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const authentication = createAuthentication({ db, limits, logger, publicUrl })
  const search = framesFrom(db)
  const routers = [
    favouritesRouter({ db, search, publicUrl, authentication }),
    boardsRouter({ db, search, publicUrl, authentication, limits }),
    eventsRouter({ db, publicUrl, authentication }),
    accountsRouter({ db, authentication }),
    ...more({ db, limits, authentication, search, publicUrl }),
  ]
  server.on('request', createApp({ logger, trustProxy: 1, routers }))
  return {
    stores,
    db,
    url: publicUrl,
    routers,
    limits,
    logs,
    async call(path, { method = 'GET', key, body, headers = {} } = {}) {
      const response = await fetch(publicUrl + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.startsWith('application/json')
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await limits[Symbol.asyncDispose]()
      await stores[Symbol.asyncDispose]()
    },
  }
}

export function framesFrom(db: Db) {
  return {
    async framesByIds(ids: readonly string[]): Promise<FrameDocument[]> {
      const { rows } = await db.execute<Record<string, number>>(sql`
        select f.*, v.title, v.author, v.platform, v.source_url, v.duration_sec from frames f join videos v on v.id = f.video_id
         where f.id = any(${sql.param([...ids])}::text[])`)
      const documents = rows.map(
        (row) =>
          ({
            ...row,
            t_sec: Number(row.t_ms) / 1000,
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
