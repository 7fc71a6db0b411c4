import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Config, VERSION } from '../config.ts'
import { openDb } from '../db/client.ts'
import type { EventType } from '../events/catalogue.ts'
import { openLogTail } from '../events/tail.ts'
import { guardStreams } from '../http/authenticate.ts'
import { openRequestTimes } from '../http/edge.ts'
import { openEventStreams } from '../http/event-stream.ts'
import { openRateLimits } from '../http/rate-limit/rate-limits.ts'
import { createHttpServer, drainable, guardConnections } from '../http/server.ts'
import type { Logger } from '../logger.ts'
import { openMetrics, openProcessMetrics } from '../metrics.ts'
import type { Queues } from '../queue/queues.ts'
import { type AppOverrides, type BuiltApp, buildApp } from './build-app.ts'

export interface ApiOptions {
  config: Config
  databaseUrl: string
  redisUrl: string
  logger: Logger
  /** Port to listen on, instead of the configured one; 0 for any free port. */
  port?: number
  host?: string
  /** Set by tests: the prefix of Redis keys, a listening server, the wait for Redis, replaced parts. */
  prefix?: string
  server?: Server
  patienceMs?: number
  overrides?: AppOverrides
}

export interface OpenApi {
  /** The address for programs on this machine. */
  url: string
  port: number
  /** For Prometheus. */
  metrics(): Promise<string>
  /** For the tests that walk them. */
  app: Pick<BuiltApp, 'routers' | 'tools'>
  /** Turns readiness off, lets requests in flight finish and closes the connections. */
  stop(options?: { graceMs?: number; deadlineMs?: number }): Promise<void>
}

const CONNECTIONS = 16

/** Events after which an open stream may have lost its permission. */
const ENDS_RIGHTS: readonly EventType[] = ['key.revoked', 'account.plan_changed', 'account.disabled', 'account.deleted']

/** Starts the HTTP server. It is stateless: any number of them may run side by side. */
export async function openApi(options: ApiOptions): Promise<OpenApi> {
  const { config, databaseUrl, redisUrl, logger, prefix, patienceMs } = options
  const db = openDb({
    url: databaseUrl,
    max: CONNECTIONS,
    // Concurrent writes leave half of the connections to reads.
    maxTransactions: CONNECTIONS / 2,
    maxTransactionsOfOne: CONNECTIONS / 4,
    lockTimeoutMs: 2_000,
    applicationName: 'frame-library api',
    statementTimeoutMs: 10_000,
    logger,
  })
  const limits = openRateLimits({
    ...{ redisUrl, logger, patienceMs },
    scale: config.rateLimitScale,
    prefix: prefix && `${prefix}:rate`,
  })
  const health = { stopping: false }
  const streams = openEventStreams(guardStreams(db), options.overrides?.streams)
  const tail = openLogTail({
    db,
    url: databaseUrl,
    logger,
    onEvents: (events) => {
      if (events.some(({ type }) => ENDS_RIGHTS.includes(type))) streams.recheck()
    },
  })
  const jobs = openJobCounts(options)
  const registry = openProcessMetrics({ version: VERSION, part: 'api', pool: db.$client })
  const countRequest = openRequestTimes(registry)
  const app = buildApp(
    { config, logger, db, limits, health, tail, streams, countJobs: jobs.count, countRequest },
    options.overrides,
  )
  const server = options.server ?? createHttpServer()
  // Behind a proxy all connections come from its address.
  const perAddress = config.trustProxy > 0 ? Number.POSITIVE_INFINITY : undefined
  guardConnections(server, logger, { perAddress, ...options.overrides?.connections })
  const { drain } = drainable(server)
  server.on('request', app.listener)
  const closeStores = async () => {
    await app.close()
    await tail[Symbol.asyncDispose]()
    await limits[Symbol.asyncDispose]()
    await jobs.close()
    await db.$client.end()
  }
  try {
    if (!server.listening) await listen(server, options.port ?? config.port, options.host)
  } catch (error) {
    await closeStores()
    throw error
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://localhost:${port}`,
    port,
    app,
    metrics: openMetrics(registry),
    async stop({ graceMs = 0, deadlineMs = 20_000 } = {}) {
      health.stopping = true
      await drain({ graceMs, deadlineMs, endStreams: tail.end })
      await closeStores()
    },
  }
}

/** Job counts for operators. The queues are opened at the first call, because few API processes are ever asked. */
function openJobCounts({ redisUrl, prefix, logger }: ApiOptions) {
  let opened: Promise<Queues> | undefined
  return {
    async count() {
      const [{ openQueues }, { countJobs }] = await Promise.all([
        import('../queue/queues.ts'),
        import('../queue/job-counts.ts'),
      ])
      opened ??= Promise.resolve(openQueues({ url: redisUrl, logger, prefix }))
      return countJobs(await opened)
    },
    async close() {
      await (await opened)?.[Symbol.asyncDispose]()
    },
  }
}

function listen(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
}
