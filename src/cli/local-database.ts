import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Config } from '../config.ts'
import { claimDataDir } from '../local/claim.ts'
import { startLocalPostgres } from '../local/postgres.ts'
import { untilSignalled } from '../server/shutdown.ts'
import { readRunFile } from './context.ts'
import { CliError } from './failure.ts'
import { requireWritable } from './require-writable.ts'

/**
 * Opens the database for a command that needs nothing else: DATABASE_URL, the running service's, or the one in
 * DATA_DIR. The last one is started for the time of the command. With `idle` a running service is refused, and a
 * missing database is created.
 * @throws CliError, LocalFailure
 */
export async function withDatabase<T>(
  config: Config,
  { idle }: { idle: boolean },
  act: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const running = readRunFile(config.dataDir)
  if (idle && running) throw new CliError(`A service runs on DATA_DIR (process ${running.pid}). Stop it first.`)
  const url = config.databaseUrl ?? running?.database
  if (url) return act(url)
  const dir = join(config.dataDir, 'postgres')
  if (!idle && !existsSync(join(dir, 'PG_VERSION')))
    throw new CliError(
      `There is no library in ${relative(process.cwd(), config.dataDir) || '.'}. Set DATA_DIR or DATABASE_URL.`,
    )
  requireWritable(config.dataDir)
  const claim = claimDataDir(config.dataDir)
  if (!claim) throw new CliError('Another command or service uses DATA_DIR. Wait for its end, or stop it.')
  try {
    const server = await startLocalPostgres({ dir })
    untilSignalled().then(async () => {
      await server.stop()
      process.exit(130)
    })
    try {
      return await act(server.url)
    } finally {
      await server.stop()
    }
  } finally {
    claim.release()
  }
}
