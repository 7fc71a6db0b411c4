import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { openDb } from '../db/client.ts'
import { migrateDatabase } from '../db/migrate.ts'
import { createLogger } from '../logger.ts'
import { ROLES } from '../queue/jobs.ts'
import { stopInOrder, untilSignalled } from '../server/shutdown.ts'
import { configOrExit, requireKnown, requireWritable } from './context.ts'
import { usage } from './failure.ts'
import { intoApi, isReachable, isUnknowinglyPublic, openMetricsPort } from './listening.ts'
import { addExamples, complain, say } from './terminal.ts'

/** Time for a load balancer to notice that `/readyz` fails. */
const DRAIN_GRACE_MS = 3_000

// `frames start` runs everything on one machine. `api | worker | migrate` run one part each, as production does.
// Each imports its servers when it runs.

export function defineStart(command: Command): void {
  addExamples(command, 'start').action(async () => {
    const config = configOrExit()
    const { startService } = await import('./start.ts')
    process.exit(await startService(config))
  })
}

export function defineApi(command: Command): void {
  addExamples(command, 'api').action(async () => {
    const { config, logger, databaseUrl, redisUrl } = settings('api')
    if (!config.s3) requireWritable(config.dataDir)
    const signalled = untilSignalled()
    const { openApi } = await import('../server/main.ts')
    const api = await orExit(openApi({ config, databaseUrl, redisUrl, logger, host: config.host }))
    const metrics = await orExit(openMetricsPort(config.metrics.api, { text: api.metrics, logger }))
    logger.info({ port: api.port, metricsPort: metrics?.port }, 'API listening')
    if (isUnknowinglyPublic(config))
      logger.warn('the API listens on every interface, but PUBLIC_URL is loopback: set HOST or PUBLIC_URL')
    if (config.reads === 'open' && isReachable(config))
      logger.warn('everyone who reaches this address can read the library: READS=members asks for a key or a session')
    await signalled
    await finish(logger, [['api', () => api.stop({ graceMs: DRAIN_GRACE_MS, deadlineMs: 20_000 })]])
  })
}

export function defineWorker(command: Command): void {
  addExamples(command, 'worker', 'worker --roles ingest', 'worker --roles annotate,events')
    .option('--roles <list>', `comma-separated list of ${ROLES.join(', ')}`, ROLES.join(','))
    .action(async ({ roles }: { roles: string }) => {
      const { config, logger, databaseUrl, redisUrl } = settings('worker')
      requireWritable(config.dataDir)
      const wanted = roles.split(',').map((role) => requireKnown('role', role.trim(), ROLES))
      // Our `frames start` was killed and its database goes with it. Exit at once: every step survives a kill.
      process.once('disconnect', () => process.exit(1))
      const signalled = untilSignalled()
      const { openWorker } = await import('../workers/main.ts')
      const worker = await orExit(openWorker({ config, databaseUrl, redisUrl, logger, roles: wanted }))
      const metrics = await orExit(openMetricsPort(config.metrics.worker, { text: worker.metrics, logger }))
      logger.info({ roles: wanted, metricsPort: metrics?.port }, 'worker started')
      const alive = keepAliveFile()
      await signalled
      alive[Symbol.dispose]()
      await finish(logger, [['worker', () => worker.stop(20_000)]])
    })
}

export function defineMigrate(command: Command): void {
  addExamples(command, 'migrate').action(async () => {
    const config = configOrExit()
    if (!config.databaseUrl) throw usage('Set DATABASE_URL.')
    requireWritable(config.dataDir)
    const db = openDb({ url: config.databaseUrl, max: 2 })
    try {
      await migrateDatabase(db)
      const { ensureOperator, OPERATOR_EMAIL } = await import('./first-start.ts')
      const { created } = await ensureOperator(db, config.dataDir)
      const command = `${intoApi()}frames accounts link ${OPERATOR_EMAIL}`
      if (created) say(`Sign in as the operator with the link that this prints: ${command}`)
    } finally {
      await db.$client.end()
    }
  })
}

/** Ends the process when a server cannot start: the connections that it has opened would keep it alive. */
async function orExit<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    const { describeFailure } = await import('./describe-failure.ts')
    const { text, exitCode } = describeFailure(error)
    complain(text)
    process.exit(exitCode)
  }
}

function settings(name: string) {
  const config = configOrExit()
  if (!config.databaseUrl || !config.redisUrl)
    throw usage('Set DATABASE_URL and REDIS_URL, or run npm start, which starts both.')
  return {
    config,
    logger: createLogger({ level: config.logLevel, name }),
    databaseUrl: config.databaseUrl,
    redisUrl: config.redisUrl,
  }
}

async function finish(
  logger: ReturnType<typeof createLogger>,
  parts: [string, () => Promise<unknown>][],
): Promise<never> {
  const clean = await stopInOrder(parts, { logger })
  process.exit(clean ? 0 : 1)
}

const ALIVE_EVERY_MS = 10_000

/**
 * Touches a file every ten seconds while the event loop runs, for a health check: a worker has no port. The file is in
 * a new folder that only this user can open. So the worker follows no prepared link and shares the file with no other
 * worker.
 */
export function keepAliveFile(): Disposable {
  let folder: string | undefined
  const touch = () => {
    try {
      folder ??= mkdtempSync(join(tmpdir(), 'frames-worker-'))
      writeFileSync(join(folder, 'alive'), String(Date.now()), { mode: 0o600 })
    } catch {
      // The health check fails; the work goes on.
    }
  }
  touch()
  const timer = setInterval(touch, ALIVE_EVERY_MS)
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      if (folder) rmSync(folder, { recursive: true, force: true })
    },
  }
}
