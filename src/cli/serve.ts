import type { Command } from 'commander'
import { openApi } from '../api/main.ts'
import { openDb } from '../db/client.ts'
import { migrateDatabase } from '../db/migrate.ts'
import { createLogger } from '../logger.ts'
import { stopInOrder, untilSignalled } from '../shutdown.ts'
import { openWorker, ROLES, type Role } from '../workers/main.ts'
import { CliError, configOrExit } from './context.ts'

/** How long a balancer has to notice that `/readyz` says no. */
const DRAIN_GRACE_MS = 3_000

/** `frames api | worker | migrate`: the roles of the production shape, each a process of its own. */
export function addServeCommands(program: Command): void {
  program
    .command('api')
    .description('serve HTTP (needs DATABASE_URL and REDIS_URL)')
    .action(async () => {
      const { config, logger, databaseUrl, redisUrl } = settings('api')
      const api = await openApi({ config, databaseUrl, redisUrl, logger })
      logger.info({ port: api.port }, 'api listens')
      await untilSignalled()
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
        if (!(ROLES as readonly string[]).includes(role)) throw new CliError(`No role is called ${role}; there are ${ROLES.join(', ')}.`)
      const worker = await openWorker({ config, databaseUrl, redisUrl, logger, roles: wanted as Role[] })
      logger.info({ roles: wanted }, 'worker runs')
      await untilSignalled()
      await finish(logger, [['worker', () => worker.stop(20_000)]])
    })

  program
    .command('migrate')
    .description('bring the database schema up to date (needs DATABASE_URL)')
    .action(async () => {
      const config = configOrExit()
      if (!config.databaseUrl) throw new CliError('Set DATABASE_URL.')
      const db = openDb({ url: config.databaseUrl, max: 2 })
      try {
        await migrateDatabase(db)
      } finally {
        await db.$client.end()
      }
    })
}

function settings(name: string) {
  const config = configOrExit()
  if (!config.databaseUrl || !config.redisUrl) throw new CliError('Set DATABASE_URL and REDIS_URL, or run npm start, which brings its own.')
  return { config, logger: createLogger({ level: config.logLevel, name }), databaseUrl: config.databaseUrl, redisUrl: config.redisUrl }
}

async function finish(logger: ReturnType<typeof createLogger>, parts: [string, () => Promise<unknown>][]): Promise<never> {
  const clean = await stopInOrder(parts, { logger })
  process.exit(clean ? 0 : 1)
}
