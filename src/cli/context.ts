import { accessSync, constants, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { makeFolder } from '../backup/place.ts'
import { type Config, ConfigError, isLoopback, parseConfig } from '../config.ts'
import { type Db, openDb } from '../db/client.ts'
import { alive } from '../local/processes.ts'
import { createLogger, type Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import type { Queues } from '../queue/queues.ts'
import { CliError, EXIT, usage } from './failure.ts'
import { type Line, print } from './terminal.ts'

const RunFile = z.object({ pid: z.number(), api: z.string(), database: z.string(), redis: z.string() })
export type RunFile = z.infer<typeof RunFile>

/** The local service that runs on this DATA_DIR, from `run.json`. */
export function readRunFile(dataDir: string): RunFile | undefined {
  try {
    const running = RunFile.parse(JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')))
    return alive(running.pid) ? running : undefined
  } catch {
    return undefined
  }
}

/** The settings, and the service that runs on DATA_DIR. What a command prints names a local one by its own port. */
export function readLocal(): { config: Config; running: RunFile | undefined } {
  const config = configOrExit()
  const running = readRunFile(config.dataDir)
  const isLocal = config.databaseUrl === undefined && isLoopback(new URL(config.publicUrl).hostname)
  return { config: isLocal && running ? { ...config, publicUrl: running.api } : config, running }
}

/** A path as one types it here. */
export function nearby(path: string): string {
  const short = relative(process.cwd(), path)
  return short === '' || short.startsWith('..') ? path : short
}

export interface CommandContext {
  config: Config
  logger: Logger
  databaseUrl: string
  redisUrl: string
  db: Db
  /** Opens them when first called. */
  openQueues(): Promise<Queues>
  store: MediaStore
}

/**
 * Runs a command against the running service, or against DATABASE_URL and REDIS_URL.
 * @throws CliError when there is neither.
 */
export async function withContext<T>(act: (context: CommandContext) => Promise<T>): Promise<T> {
  const { config, running } = readLocal()
  const logger = createLogger({ level: config.logLevel === 'info' ? 'warn' : config.logLevel }, stderrSink)
  const databaseUrl = config.databaseUrl ?? running?.database
  const redisUrl = config.redisUrl ?? running?.redis
  if (!databaseUrl || !redisUrl)
    throw new CliError(
      `No running service found on ${nearby(config.dataDir)}. Run npm start, set DATA_DIR to the folder of the one ` +
        'that runs, or set DATABASE_URL and REDIS_URL.',
      EXIT.unavailable,
    )
  const db = openDb({ url: databaseUrl, max: 4, applicationName: 'frames command', logger })
  let queues: Queues | undefined
  try {
    return await act({
      config,
      logger,
      databaseUrl,
      redisUrl,
      db,
      async openQueues() {
        // Not at the top: loading it takes longer than most commands.
        const { openQueues } = await import('../queue/queues.ts')
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

/** What a command has to say: an object for programs, and lines for people. */
export type Result = [json: unknown, lines: () => Line | readonly Line[]]

/**
 * Gives a command its action, which gets its arguments, then its options. With --json it prints the object of its
 * result, else the lines.
 */
export function answers<Given extends unknown[]>(
  command: Command,
  act: (context: CommandContext, ...given: Given) => Promise<Result>,
): Command {
  return command.action((...given: [...Given, Command]) =>
    withContext(async (context) => {
      const [value, lines] = await act(context, ...(given.slice(0, -1) as Given))
      print(command.opts<{ json?: boolean }>().json, value, lines)
    }),
  )
}

export function configOrExit(): Config {
  try {
    return parseConfig(process.env)
  } catch (error) {
    if (error instanceof ConfigError) throw usage(error.message)
    throw error
  }
}

/** Logs go to standard error: standard output holds the command's answer. */
const stderrSink = { write: (line: string) => void process.stderr.write(line) }

/** One of the `known` values, or a line that lists them. `kind` is what the values are called. */
export function requireKnown<T extends string>(kind: string, given: string, known: readonly T[]): T {
  const found = known.find((value) => value === given)
  if (found === undefined) throw usage(`No ${kind} is called ${given}. Use one of ${known.join(', ')}.`)
  return found
}

/** Reads a comma-separated list of the `known` values. `offered`: what a refusal lists. */
export function listParser<T extends string>(kind: string, known: readonly T[], offered = known.join(', ')) {
  return (text: string): T[] =>
    text.split(',').map((part) => {
      const found = known.find((one) => one === part.trim())
      if (!found) throw new InvalidArgumentError(`"${part}" is not ${kind}. Use ${offered}.`)
      return found
    })
}

export function parseInteger(option: string, given: string, { min, max }: { min: number; max: number }): number {
  const value = Number(given)
  if (!Number.isInteger(value) || value < min || value > max)
    throw usage(`${option} must be a whole number from ${min} to ${max}.`)
  return value
}

/** Fails at the start, instead of with every video. @throws CliError with what to do */
export function requireWritable(folder: string): void {
  try {
    makeFolder(folder)
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    const text = describeAccess(error)
    if (text) throw new CliError(text)
    throw error
  }
}

/** One line for a file or folder that this process may not use; undefined for another failure. */
export function describeAccess(error: unknown): string | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (path === undefined) return undefined
  if (code === 'EROFS') return `${path} is on a read-only file system. Mount a folder for DATA_DIR that can be written.`
  if (syscall === 'mkdir' && ['ENOENT', 'EEXIST', 'ENOTDIR'].includes(String(code)))
    return `No folder can be made at ${path}. Set DATA_DIR to another folder.`
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const user = process.getuid?.() ?? 'unknown'
  return (
    `User ${user} may not write ${path}. Give the folder of DATA_DIR to this user: ` +
    `on the machine that holds it, run chown -R ${user} on it.`
  )
}
