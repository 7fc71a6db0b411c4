import { get as httpGet, type IncomingMessage } from 'node:http'
import { createLogger } from '../../src/logger.ts'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import type { AppOverrides } from '../../src/server/build-app.ts'
import { type OpenApi, openApi } from '../../src/server/main.ts'
import { openPostgresSearch } from '../support/postgres-search.ts'
import { seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'

/** An answer as it was sent: fetch would decode the body and hide the encoding. */
export interface Raw {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

/** What a test sets of the engine, and what it did. */
export interface Engine {
  version: string
  calls: string[]
  /** While set, searches fail with it. */
  failure: Error | undefined
}

export interface CountedApi {
  service: Service
  videoId: string
  frameId: string
  url: string
  engine: Engine
  /** The real search; its calls are counted, and failed as a test asks. */
  search: LibrarySearch
  /** Another API process on the same stores, over `search`. */
  apiOver(search: LibrarySearch, overrides?: AppOverrides & { level?: string }): Promise<string>
  ask(path: string, headers?: Record<string, string>, method?: string): Promise<Raw>
  /** The engine's calls during `act`. */
  searchesOf(act: () => Promise<unknown>): Promise<string[]>
  /** Begins a version of its own, under which nothing was asked yet. */
  fresh(): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A service with one video of 40 frames, and an API process beside it whose engine a test watches and steers. */
export async function openCountedApi(): Promise<CountedApi> {
  const service = await openService()
  const seeded = await seedVideo(service.stores.db, {
    title: 'Kept',
    frames: Array.from({ length: 40 }, (_, n) => ({
      caption: `Frame ${n} of a kite over the sea`,
      subject: n % 2 ? ('ui' as const) : ('chart' as const),
    })),
  })
  await service.drain()
  const engine: Engine = { version: 'v1', calls: [], failure: undefined }
  const search = watched(openPostgresSearch(service.stores.db.$client), engine)
  const opened: OpenApi[] = []
  const apiOver: CountedApi['apiOver'] = async (over, { level = 'silent', ...overrides } = {}) => {
    const { stores, config } = service
    const api = await openApi({
      config,
      databaseUrl: stores.databaseUrl,
      redisUrl: stores.redisUrl,
      logger: createLogger({ level }, { write: () => undefined }),
      prefix: stores.prefix,
      port: 0,
      host: '127.0.0.1',
      overrides: { versionTtlMs: 0, search: () => over, ...overrides },
    })
    opened.push(api)
    return `http://127.0.0.1:${api.port}`
  }
  const url = await apiOver(search)
  let versions = 0
  return {
    service,
    videoId: seeded.id,
    frameId: seeded.frameIds[0]!,
    url,
    engine,
    search,
    apiOver,
    ask: (path, headers = {}, method = 'GET') => askRaw(url + path, headers, method),
    async searchesOf(act) {
      engine.calls = []
      await act()
      return engine.calls
    },
    fresh() {
      engine.version = `v${++versions}-test`
    },
    async [Symbol.asyncDispose]() {
      for (const api of opened) await api.stop()
      await service[Symbol.asyncDispose]()
    },
  }
}

function watched(real: LibrarySearch, engine: Engine): LibrarySearch {
  return new Proxy(real, {
    get(target, name: keyof LibrarySearch) {
      const member = target[name]
      if (name === 'version') return async () => engine.version
      if (typeof member !== 'function') return member
      return async (...given: unknown[]) => {
        engine.calls.push(name)
        if (engine.failure) throw engine.failure
        return (member as (...given: unknown[]) => unknown)(...given)
      }
    },
  })
}

function askRaw(url: string, headers: Record<string, string>, method: string): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const req = httpGet(url, { headers, method }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => resolve({ status: res.statusCode!, headers: res.headers, body: Buffer.concat(chunks) }))
    })
    req.on('error', reject)
  })
}
