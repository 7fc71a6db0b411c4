import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Config, ConfigError, parseConfig } from '../config.ts'
import { type Db, openDb } from '../db/client.ts'
import { createLogger, type Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import { openQueues, type Queues } from '../queue/queues.ts'

/** Something the person at the terminal can mend: one line, exit 1, no stack. */
export class CliError extends Error {}

export const RunFile = z.object({ pid: z.number(), api: z.string(), database: z.string(), redis: z.string() })
export type RunFile = z.infer<typeof RunFile>

/** The running local service of this DATA_DIR, from `run.json`; undefined when none has been started or it is gone. */
export function readRunFile(dataDir: string): RunFile | undefined {
  try {
    const parsed = RunFile.safeParse(JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')))
    if (!parsed.success) return undefined
    process.kill(parsed.data.pid, 0)
    return parsed.data
  } catch (error) {
    // A process of another user answers EPERM: it is there.
    if ((error as NodeJS.ErrnoException).code === 'EPERM')
      return RunFile.parse(JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')))
    return undefined
  }
}

/** What a command works with; opened on demand, closed at its end. */
export interface CommandContext {
  config: Config
  logger: Logger
  databaseUrl: string
  redisUrl: string
  db: Db
  queues: Queues
  store: MediaStore
}

/** @throws CliError when there is neither a running service nor DATABASE_URL */
export async function withContext<T>(act: (context: CommandContext) => Promise<T>): Promise<T> {
  const config = configOrExit()
  const logger = createLogger({ level: config.logLevel === 'info' ? 'warn' : config.logLevel }, stderrSink)
  const running = readRunFile(config.dataDir)
  const databaseUrl = config.databaseUrl ?? running?.database
  const redisUrl = config.redisUrl ?? running?.redis
  if (!databaseUrl || !redisUrl)
    throw new CliError('No running service found: run npm start or set DATABASE_URL and REDIS_URL.')
  const db = openDb({ url: databaseUrl, max: 4, applicationName: 'frames command', logger })
  let queues: Queues | undefined
  try {
    return await act({
      config,
      logger,
      databaseUrl,
      redisUrl,
      db,
      get queues() {
        queues ??= openQueues({ url: redisUrl, logger })
        return queues
      },
      store: openMediaStore(config),
    })
  } finally {
    await queues?.[Symbol.asyncDispose]()
    await db.$client.end()
  }
}

export function configOrExit(): Config {
  try {
    return parseConfig(process.env)
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(error.message)
    throw error
  }
}

/** Commands keep standard output for their answer. */
const stderrSink = { write: (line: string) => void process.stderr.write(line) }

/** One answer for a program, or lines for a person. */
export function print(json: boolean | undefined, value: unknown, lines: () => string | readonly string[]): void {
  if (json) {
    console.log(JSON.stringify(value))
    return
  }
  const text = lines()
  console.log(typeof text === 'string' ? text : text.join('\n'))
}
