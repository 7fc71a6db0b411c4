import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'drizzle-orm'
import type { Router } from 'express'
import { accountsRouter } from '../api/accounts.ts'
import { boardsRouter } from '../api/boards.ts'
import { documentsRouter } from '../api/documents.ts'
import { eventsRouter } from '../api/events.ts'
import { favouritesRouter } from '../api/favourites.ts'
import { type Health, healthRouter } from '../api/health.ts'
import { libraryRouter } from '../api/library.ts'
import { mediaRouter } from '../api/media.ts'
import { OPERATIONS } from '../api/operations.ts'
import { openReads } from '../api/reads.ts'
import { videosRouter } from '../api/videos.ts'
import type { Config } from '../config.ts'
import { type Db, openDb } from '../db/client.ts'
import { createApp, guardConnections, type Shortcut } from '../http/app.ts'
import { createAuthentication } from '../http/authenticate.ts'
import { describeApi } from '../http/openapi.ts'
import { limitOpenReads, openRateLimits, refuseReads } from '../http/rate-limit.ts'
import { createReadCache, memoized } from '../http/read-cache.ts'
import { fetchability } from '../library/videos/submit.ts'
import type { Logger } from '../logger.ts'
import { mcpRoute } from '../mcp/route.ts'
import { createToolServer, createTools } from '../mcp/server.ts'
import { openMediaStore } from '../media/open-store.ts'
import { openLibrarySearch } from '../search/open-search.ts'
import { drainable } from '../shutdown.ts'
import { findPasted, findSource as resolveSource } from '../video/source/source.ts'
import { docsPageRouter } from '../web/docs-page.ts'
import { openPages } from '../web/pages.ts'

export interface ApiOptions {
  config: Config
  databaseUrl: string
  redisUrl: string
  logger: Logger
  /** Overrides of tests: the port to listen on (0: any), and how long a read-model version is believed. */
  port?: number
  host?: string
  versionTtlMs?: number
  prefix?: string
}

export interface OpenApi {
  /** Where it listens, for this machine. */
  url: string
  port: number
  routers: readonly Router[]
  /** Readiness off, requests in flight finish, connections close. */
  stop(options?: { graceMs?: number; deadlineMs?: number }): Promise<void>
}

/** Wires and starts the HTTP server. Stateless: any number of them may run side by side. */
export async function openApi(options: ApiOptions): Promise<OpenApi> {
  const { config, databaseUrl, redisUrl, logger } = options
  const db = openDb({
    url: databaseUrl,
    max: 16,
    applicationName: 'frame-library api',
    statementTimeoutMs: 10_000,
    logger,
  })
  const limits = openRateLimits({
    redisUrl,
    scale: config.rateLimitScale,
    logger,
    ...(options.prefix ? { prefix: `${options.prefix}:rate` } : {}),
  })
  const health: Health = { stopping: false }
  const { first, routers, close } = wire(options, { db, limits, health })
  const app = createApp({ logger, trustProxy: config.trustProxy, first, routers })
  const server = createServer(
    {
      requestTimeout: 600_000,
      headersTimeout: 10_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16 * 1024,
      requireHostHeader: false,
    },
    app,
  )
  server.maxRequestsPerSocket = 10_000
  guardConnections(server, logger)
  const { drain } = drainable(server)
  try {
    await new Promise<void>((resolve, reject) =>
      server.once('error', reject).listen(options.port ?? config.port, options.host, resolve),
    )
  } catch (error) {
    await limits[Symbol.asyncDispose]()
    await db.$client.end()
    throw error
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://localhost:${port}`,
    port,
    routers,
    async stop({ graceMs = 0, deadlineMs = 20_000 } = {}) {
      health.stopping = true
      await drain({ graceMs, deadlineMs })
      close()
      await limits[Symbol.asyncDispose]()
      await db.$client.end()
    },
  }
}

interface Parts {
  db: Db
  limits: ReturnType<typeof openRateLimits>
  health: Health
}

const VERSION = '0.1.0'

/** The routers in the order they are asked. */
function wire(
  { config, logger, versionTtlMs }: ApiOptions,
  { db, limits, health }: Parts,
): { first: Shortcut[]; routers: Router[]; close: () => void } {
  const { publicUrl } = config
  const store = openMediaStore(config)
  const search = openLibrarySearch({ pool: db.$client, meili: config.meili, logger })
  const cache = createReadCache(() => search.version(), {
    engineEpoch: search.engineEpoch,
    ...(versionTtlMs === undefined ? {} : { versionTtlMs }),
  })
  const authentication = createAuthentication({ db, limits, logger, publicUrl })
  const { requireScope } = authentication
  const readImage = (key: string) => store.get(key)
  const limit = limitOpenReads(limits)
  // An address that is no video's finds nothing, rather than whatever its letters resemble.
  const sourceKeyOf = (term: string) => findPasted(term)?.key ?? (/^https?:\/\//i.test(term) ? 'unknown' : undefined)
  const pages = openPages({
    db,
    search,
    sourceKeyOf,
    publicUrl,
    limits,
    logger,
    signup: config.signup,
    smtpUrl: config.smtpUrl,
    production: config.production,
  })
  let described: ReturnType<typeof describeApi> | undefined
  const document = () => {
    described ??= describeApi({ publicUrl, version: VERSION, operations: OPERATIONS })
    return described
  }
  const mcp = mcpRoute({
    dispatch: createToolServer({
      tools: createTools({ db, search, publicUrl, sourceKeyOf, readImage }),
      publicUrl,
      version: VERSION,
      logger,
      libraryVersion: memoized(() => search.version(), versionTtlMs ?? 1_000, search.engineEpoch),
      engineEpoch: search.engineEpoch,
    }),
    publicUrl,
    authentication,
    limits,
    trustProxy: config.trustProxy,
  })
  const reads = openReads({ search, cache, publicUrl, sourceKeyOf, limit })
  const routers = [
    healthRouter({
      health,
      checks: {
        database: async () => {
          await db.execute(sql`select 1`)
          return true
        },
      },
    }),
    mcp.router,
    reads.router,
    mediaRouter({ readImage, limit }),
    videosRouter({
      db,
      store,
      maxUploadBytes: config.maxUploadBytes,
      resolveSource,
      fetchable: fetchability({ ytdlp: config.ytdlpPath !== undefined }),
      requireScope,
    }),
    libraryRouter({ db, requireScope }),
    favouritesRouter({ db, search, publicUrl, authentication }),
    boardsRouter({ db, search, publicUrl, authentication, limits }),
    accountsRouter({ db, authentication }),
    eventsRouter({ db, publicUrl, authentication }),
    documentsRouter({ document, publicUrl }),
    ...pages.routers,
    docsPageRouter({ assets: pages.assets, document, publicUrl }),
  ]
  const inFront = cache.inFront({ refused: refuseReads(limits, config.trustProxy), questionAt: reads.questionAt })
  return { first: [inFront, mcp.first], routers, close: pages.close }
}
