import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, parseConfig } from '../../src/config.ts'
import type { Db } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createLogger, type Logger } from '../../src/logger.ts'
import type { AppOverrides } from '../../src/server/build-app.ts'
import { type OpenApi, openApi } from '../../src/server/main.ts'
import type { Annotator } from '../../src/vision/annotator.ts'
import { type OpenWorker, openWorker, type WorkerOptions } from '../../src/workers/main.ts'
import { useOpened } from './closing.ts'
import { listeningServer } from './listening.ts'
import { type Answer, readAnswer } from './openapi.ts'
import { openStores, type Stores } from './stores.ts'

export interface Service {
  stores: Stores
  config: Config
  logger: Logger
  api: OpenApi
  worker: OpenWorker
  url: string
  /** Every log line of API and worker. */
  logs: string[]
  /** An operator's key with every scope. */
  operatorKey: string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Queues a file over HTTP, as an operator does. */
  upload(bytes: Uint8Array, query?: string): Promise<{ status: number; id: string; created: boolean }>
  drain(): Promise<void>
  /** Stops API and worker, and leaves the stores open until it is disposed of. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** API and worker in this process, wired and logging as in production, on stores and a data folder of their own. */
export async function openService(
  options: {
    annotator?: Annotator
    env?: Record<string, string>
    worker?: boolean
    /** Another Redis than that of the stores. */
    redisUrl?: string
    /** How long its limits wait for Redis. */
    patienceMs?: number
    workerOptions?: Partial<WorkerOptions>
    overrides?: AppOverrides
    /** Serves pages: PUBLIC_URL is the address that a browser opens. */
    pages?: boolean
    /** Its stores have the name of a host instead of an address. */
    storesByName?: boolean
  } = {},
): Promise<Service> {
  const stores = await openStores()
  const dataDir = await mkdtemp(join(tmpdir(), 'frames-service-'))
  const logs: string[] = []
  const listening = options.pages ? await listeningServer() : undefined
  const config = parseConfig({
    DATA_DIR: dataDir,
    RATE_LIMIT_SCALE: '1000',
    EMBED: 'off',
    PUBLIC_URL: listening?.url ?? 'http://frames.test',
    ...options.env,
  })
  const logger = createLogger({ level: config.logLevel }, { write: (line: string) => void logs.push(line) })
  if (config.meili) config.meili.prefix = stores.prefix
  const named = (url: string) => (options.storesByName ? url.replace('127.0.0.1', 'localhost') : url)
  const { databaseUrl, redisUrl, prefix } = stores
  const redisUrlOf = options.redisUrl ?? named(redisUrl)
  const shared = { config, databaseUrl: named(databaseUrl), redisUrl: redisUrlOf, logger, prefix }
  const worker =
    options.worker === false
      ? NO_WORKER
      : await openWorker({
          ...shared,
          ...(options.annotator ? { annotator: options.annotator } : {}),
          ...options.workerOptions,
        })
  const api = await openApi({
    ...shared,
    port: 0,
    host: '127.0.0.1',
    ...(listening ? { server: listening.server } : {}),
    patienceMs: options.patienceMs,
    overrides: { versionTtlMs: 0, ...options.overrides },
  })
  const operatorKey = await keyOfOperator(stores.db)
  let stopped: Promise<void> | undefined
  const stopBoth = async () => {
    await api.stop()
    await worker.stop(5_000)
  }
  const stop = () => (stopped ??= stopBoth())

  const call: Service['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${api.port}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        authorization: `Bearer ${operatorKey}`,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return readAnswer(method, path, response, body)
  }
  return {
    stores,
    config,
    logger,
    api,
    worker,
    url: `http://127.0.0.1:${api.port}`,
    logs,
    operatorKey,
    call,
    get: async (path, headers = {}) =>
      readAnswer('GET', path, await fetch(`http://127.0.0.1:${api.port}${path}`, { headers })),
    async upload(bytes, query = '') {
      const response = await fetch(`http://127.0.0.1:${api.port}/api/videos${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream', authorization: `Bearer ${operatorKey}` },
        body: bytes as unknown as ArrayBuffer,
      })
      const { status, json } = await readAnswer('POST', '/api/videos', response)
      return { status, id: json.video?.id ?? '', created: json.created ?? false }
    },
    drain: () => worker.drain(),
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      await stores[Symbol.asyncDispose]()
      // A worker that was left behind may still write there.
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** One for all tests of a file. */
export const useService = (options?: Parameters<typeof openService>[0]) => useOpened(() => openService(options))

async function keyOfOperator(db: Db): Promise<string> {
  const account = await createAccount(db, { email: 'operator@example.com', role: 'operator', plan: 'pro' })
  return (await createKey(db, { accountId: account.id, name: 'tests' })).key
}

const NO_WORKER: OpenWorker = {
  metrics: async () => '',
  drain: async () => undefined,
  healthy: async () => true,
  stop: async () => undefined,
}
