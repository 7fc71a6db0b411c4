import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { openDb } from '../db/client.ts'
import { migrateDatabase } from '../db/migrate.ts'
import { createLogger } from '../logger.ts'
import { ROLES, type Role } from '../queue/roles.ts'
import { stopInOrder, untilSignalled } from '../shutdown.ts'
import { CliError, configOrExit } from './context.ts'
import { ensureOperator } from './operator.ts'

/** How long a balancer has to notice that `/readyz` says no. */
const DRAIN_GRACE_MS = 3_000
const ALIVE_EVERY_MS = 10_000

// The servers are loaded by the commands that run them: every other command answers sooner.

/** `frames start` is the whole service on one machine; `api | worker | migrate` are the roles of the production shape, each a process of its own. */
export function addServeCommands(program: Command): void {
  program
    .command('start')
    .description(
      'run the whole service on this machine, with a PostgreSQL and a Redis of its own unless DATABASE_URL and REDIS_URL are set',
    )
    .action(async () => {
      const { startService } = await import('./start.ts')
      process.exit(await startService(configOrExit()))
    })

  program
    .command('api')
    .description('serve HTTP (needs DATABASE_URL and REDIS_URL)')
    .action(async () => {
      const { config, logger, databaseUrl, redisUrl } = settings('api')
      const signalled = untilSignalled()
      const { openApi } = await import('../server/main.ts')
      const api = await openApi({ config, databaseUrl, redisUrl, logger })
      logger.info({ port: api.port }, 'api listens')
      await signalled
      await finish(logger, [['api', () => api.stop({ graceMs: DRAIN_GRACE_MS, deadlineMs: 20_000 })]])
    })

  program
    .command('worker')
    .description('take jobs and project events (needs DATABASE_URL and REDIS_URL)')
    .option('--roles <list>', `of ${ROLES.join(', ')}, comma-separated`, ROLES.join(','))
    .action(async ({ roles }: { roles: string }) => {
      const { config, logger, databaseUrl, redisUrl } = settings('worker')
      const wanted = roles.split(',').map((role) => role.trim())
      for (const role of wanted)
        if (!(ROLES as readonly string[]).includes(role))
          throw new CliError(`No role is called ${role}; there are ${ROLES.join(', ')}.`)
      // The `frames start` that we are part of was killed and its stores go with it: as good as killed ourselves, and every step bears that.
      process.once('disconnect', () => process.exit(1))
      const signalled = untilSignalled()
      const { openWorker } = await import('../workers/main.ts')
      const worker = await openWorker({ config, databaseUrl, redisUrl, logger, roles: wanted as Role[] })
      logger.info({ roles: wanted }, 'worker runs')
      const alive = setInterval(touchAliveFile, ALIVE_EVERY_MS)
      touchAliveFile()
      await signalled
      clearInterval(alive)
      await finish(logger, [['worker', () => worker.stop(20_000)]])
    })

  program
    .command('migrate')
    .description(
      'bring the database up to date; on its first run also make the operator and a key in DATA_DIR (needs DATABASE_URL)',
    )
    .action(async () => {
      const config = configOrExit()
      if (!config.databaseUrl) throw new CliError('Set DATABASE_URL.')
      const db = openDb({ url: config.databaseUrl, max: 2 })
      try {
        await migrateDatabase(db)
        await ensureOperator(db, config.dataDir)
      } finally {
        await db.$client.end()
      }
    })
}

/** What a container's health check can look at where no port is: a file that is touched while the event loop turns. */
function touchAliveFile(): void {
  try {
    writeFileSync(join(tmpdir(), 'worker.alive'), String(Date.now()))
  } catch {
    // A health check's business, not the work's.
  }
}

function settings(name: string) {
  const config = configOrExit()
  if (!config.databaseUrl || !config.redisUrl)
    throw new CliError('Set DATABASE_URL and REDIS_URL, or run npm start, which brings its own.')
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
