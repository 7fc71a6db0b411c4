import type { Db } from '../../src/db/client.ts'
import type { FrameDocument, LibrarySearch } from '../../src/search/library-search.ts'
import type { AppOverrides } from '../../src/server/build-app.ts'
import { sql } from '../../src/sql/orm.ts'
import { useOpened } from '../support/closing.ts'
import { type Answer, readAnswer } from '../support/openapi.ts'
import { openService, type Service } from '../support/service.ts'

export interface Call {
  method?: string
  key?: string | undefined
  body?: unknown
  headers?: Record<string, string>
}

export interface TestApi extends Pick<Service, 'stores' | 'url' | 'logs' | 'stop'> {
  db: Db
  /** The routers and the tools. */
  app: Service['api']['app']
  call(path: string, call?: Call): Promise<Answer>
  [Symbol.asyncDispose](): Promise<void>
}

interface TestApiOptions extends Pick<NonNullable<Parameters<typeof openService>[0]>, 'redisUrl' | 'env'> {
  scale?: number
  overrides?: AppOverrides
}

/** The API as production wires it, behind one proxy, without a worker: frames come straight from the record. */
export async function openTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { scale = 1_000, redisUrl, env, overrides } = options
  const watch = overrides?.search ?? ((search: LibrarySearch) => search)
  const service: Service = await openService({
    pages: true,
    worker: false,
    redisUrl,
    // A busy machine is no unavailable Redis; a Redis of the test's own may be one.
    patienceMs: redisUrl === undefined ? 15_000 : undefined,
    env: { TRUST_PROXY: '1', RATE_LIMIT_SCALE: String(scale), ...env },
    overrides: {
      // As long as in production.
      versionTtlMs: undefined,
      ...overrides,
      search: (search) => watch(withRecordedFrames(search, () => service.stores.db)),
    },
  })
  const { stores, url, logs, stop } = service
  return {
    ...{ stores, db: stores.db, url, logs, stop, app: service.api.app },
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
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

/** One for all tests of a file. */
export const useTestApi = (options?: TestApiOptions) => useOpened(() => openTestApi(options))

/** The search with frames by id from the record itself: these tests run no projection. */
function withRecordedFrames(search: LibrarySearch, db: () => Db): LibrarySearch {
  return Object.assign(Object.create(search), framesFrom(db))
}

function framesFrom(db: () => Db) {
  return {
    async framesByIds(ids: readonly string[]): Promise<FrameDocument[]> {
      const { rows } = await db().execute<Record<string, number>>(sql`
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
