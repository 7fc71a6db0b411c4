import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Config, childEnv, isLoopback } from '../config.ts'
import { openDb } from '../db/client.ts'
import { migrateDatabase } from '../db/migrate.ts'
import { startLocalPostgres } from '../local/postgres.ts'
import { claimDataDir, freePort, portTrouble, stopChild } from '../local/processes.ts'
import { startLocalRedis } from '../local/redis.ts'
import { createLogger, type Logger } from '../logger.ts'
import { openMediaStore } from '../media/open-store.ts'
import { openApi } from '../server/main.ts'
import { STOP_DEADLINE_MS, stopInOrder, untilSignalled } from '../server/shutdown.ts'
import { nearby, type RunFile, readRunFile, requireWritable } from './context.ts'
import { CliError } from './failure.ts'
import { addSamples, ensureOperator, operatorLink } from './first-start.ts'
import { hostToListenOn, isReachable, localUrl, openMetricsPort, refuseMetricsPort } from './listening.ts'
import { openServiceLog } from './service-log.ts'
import { type Supervision, superviseServer } from './supervise.ts'
import { complain, say } from './terminal.ts'

/** For requests in flight and for jobs. The databases stop after them. */
const STOP_MS = 20_000

const cli = fileURLToPath(new URL('./main.ts', import.meta.url))

/**
 * Runs the whole service on this machine: migrations, the API, the worker, and samples for an empty library. PostgreSQL
 * and Redis run too, unless their variables are set. The worker is a child process, so that jobs do not slow down
 * answers. Resolves with the exit code after a signal, or when a part that it needs has ended.
 * @throws CliError, LocalFailure
 */
export async function startService(config: Config): Promise<number> {
  requireWritable(config.dataDir)
  const claim = claimDataDir(config.dataDir)
  if (!claim) throw new CliError(alreadyRunning(config.dataDir))
  const log = openServiceLog(config.dataDir)
  const logger = createLogger({ level: config.logLevel, name: 'api' }, { write: log.write })
  /** Stopped from the last to the first. */
  const parts: [name: string, stop: () => Promise<unknown>][] = []
  const ending = new AbortController()
  const end = (why: string) => ending.abort(why)
  const pids = new Set<number>()
  untilSignalled(() => killAll(pids)).then(end)
  let clean = true
  try {
    await run(config, { logger, logFd: log.fd, parts, pids, signal: ending.signal, end })
    if (!ending.signal.aborted) await once(ending.signal, 'abort')
  } catch (error) {
    // Ctrl-C ends what a start has begun, such as initdb: that is no failure.
    if (!ending.signal.aborted) throw error
    logger.debug({ err: error }, 'start broken off')
  } finally {
    if (ending.signal.aborted) say('Stopping …')
    log.silence()
    clean = await stopInOrder(parts.reverse(), { logger, deadlineMs: STOP_DEADLINE_MS - 2_000 })
    log.close()
    claim.release()
  }
  const lost = /ended unexpectedly/.test(String(ending.signal.reason))
  if (lost) complain(`${ending.signal.reason}. See the log: ${nearby(log.file)}`)
  return clean && !lost ? 0 : 1
}

interface Running {
  logger: Logger
  logFd: number
  parts: [name: string, stop: () => Promise<unknown>][]
  /** Processes to kill at once when a second signal asks for it. */
  pids: Set<number>
  signal: AbortSignal
  end: (why: string) => void
}

async function run(given: Config, { logger, logFd, parts, pids, signal, end }: Running): Promise<void> {
  const host = hostToListenOn(given)
  await refuseBusyPort(given.port, host)
  for (const metrics of Object.values(given.metrics)) await refuseMetricsPort(metrics)
  const { databaseUrl, redisUrl } = await openStores(given, { logger, parts, pids, end })
  // Left by killed workers. No other service uses the folder, because this process has locked it.
  rmSync(join(given.dataDir, 'scratch'), { recursive: true, force: true })
  if (signal.aborted) return

  const db = openDb({ url: databaseUrl, max: 4, applicationName: 'frames start', logger })
  parts.push(['database connections', () => db.$client.end()])
  try {
    await migrateDatabase(db)
  } catch (error) {
    throw new CliError(`The database cannot be used: ${reasonOf(error)}. Check DATABASE_URL.`)
  }
  await ensureOperator(db, given.dataDir)
  if (signal.aborted) return

  // Checked late: another program could take a free port while the databases start.
  const config = await settlePort(given)
  const api = await openApi({ config, databaseUrl, redisUrl, logger, host })
  const metrics = await openMetricsPort(config.metrics.api, { text: api.metrics, logger })
  if (metrics) parts.push(['metrics', metrics.stop])
  const worker = superviseWorker(config, { databaseUrl, redisUrl, logFd, logger, pids })
  // Both at once, so that requests and jobs finish side by side.
  parts.push(['API and worker', () => Promise.all([api.stop({ deadlineMs: STOP_MS }), worker.stop()])])
  const url = localUrl(host, config.port)
  writeRunFile(config.dataDir, { pid: process.pid, api: url, database: databaseUrl, redis: redisUrl })
  parts.push(['run file', async () => rmSync(join(config.dataDir, 'run.json'), { force: true })])

  say(`The service runs at ${url} (log: ${nearby(join(config.dataDir, 'service.log'))})`)
  if (!isLoopback(host)) say(`Other machines can reach it on ${host ?? 'every interface'}. ${KEEP_LOCAL}`)
  if (config.reads === 'open' && isReachable({ ...config, host }))
    say('Everyone who reaches it can read the library. READS=members asks for a key or a session.')
  const link = await operatorLink(db, { config, host })
  if (link !== undefined) say(`Sign in as the operator, once: ${link}`)
  await addSamples({ db, store: openMediaStore(config), config }, signal)
  if (signal.aborted) return
  say(welcome(url, config))
}

/** Starts a local database for each URL that is not set, and again if it ends by itself. */
async function openStores(config: Config, { logger, parts, pids, end }: Omit<Running, 'logFd' | 'signal'>) {
  const local = async (name: string, start: Supervision['start']) => {
    const server = await superviseServer({ name, start, logger, pids, giveUp: end })
    parts.push([name, server.stop])
    return server.url
  }
  const postgres: Supervision['start'] = (before) =>
    startLocalPostgres({ dir: join(config.dataDir, 'postgres'), port: before && Number(new URL(before.url).port) })
  const redis: Supervision['start'] = (before) =>
    startLocalRedis({ dir: join(config.dataDir, 'redis'), url: before?.url })
  const both = await Promise.allSettled([
    config.databaseUrl ?? local('PostgreSQL', postgres),
    config.redisUrl ?? local('Redis', redis),
  ])
  const failed = both.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  const [databaseUrl, redisUrl] = both.map((result) => (result.status === 'fulfilled' ? result.value : ''))
  return { databaseUrl: databaseUrl!, redisUrl: redisUrl! }
}

/** Restarts the worker when it dies or cannot be started. Its jobs are retried. */
function superviseWorker(
  config: Config,
  {
    databaseUrl,
    redisUrl,
    logFd,
    logger,
    pids,
  }: { databaseUrl: string; redisUrl: string; logFd: number; logger: Logger; pids: Set<number> },
): { stop(): Promise<void> } {
  let child: ChildProcess | undefined
  let stopping = false
  let restart: NodeJS.Timeout | undefined
  let deaths = 0

  function launch(): void {
    const startedAt = Date.now()
    const ended = (why: object) => {
      if (stopping) return
      deaths++
      const quick = Date.now() - startedAt < 10_000
      logger.error({ ...why, deaths }, 'worker died, restarting')
      restart = setTimeout(launch, quick ? Math.min(1_000 * deaths, 30_000) : 200)
    }
    const env = childEnv(process.env, { config, databaseUrl, redisUrl })
    try {
      // Detached, so that Ctrl-C does not reach it. If we are killed, the closed channel makes the worker exit.
      child = spawn(process.execPath, [cli, 'worker'], {
        env,
        detached: true,
        stdio: ['ignore', logFd, logFd, 'ipc'],
      })
    } catch (error) {
      // Without memory or descriptors Node throws some errors and emits others.
      ended({ err: error })
      return
    }
    const { pid } = child
    if (pid) pids.add(pid)
    child.on('error', (error) => {
      if (pid === undefined) ended({ err: error })
      else logger.error({ err: error }, 'worker cannot be reached')
    })
    child.once('exit', (code, signal) => {
      if (pid === undefined) return
      pids.delete(pid)
      ended({ code, signal })
    })
  }

  launch()
  return {
    async stop() {
      stopping = true
      clearTimeout(restart)
      if (child) await stopChild(child, 'SIGTERM', 'SIGKILL', STOP_MS)
    },
  }
}

function killAll(pids: Iterable<number>): void {
  for (const pid of pids) {
    try {
      // PostgreSQL takes it as an immediate shutdown; the others die.
      process.kill(pid, 'SIGQUIT')
    } catch {
      // It has ended already.
    }
  }
}

async function settlePort(config: Config): Promise<Config> {
  if (config.port !== 0) return config
  const port = await freePort()
  return {
    ...config,
    port,
    publicUrl: config.publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : config.publicUrl,
  }
}

const KEEP_LOCAL = 'Set HOST=127.0.0.1 to keep it on this machine.'

async function refuseBusyPort(port: number, host: string | undefined): Promise<void> {
  const trouble = await portTrouble(port, host)
  if (trouble === 'EADDRINUSE')
    throw new CliError(`Port ${port} is in use. Stop the program that uses it, or set PORT to another port.`)
  if (trouble === 'EACCES')
    throw new CliError(`Port ${port} needs more rights than this user has. Set PORT to a port above 1023.`)
  if (trouble === 'EADDRNOTAVAIL' || trouble === 'ENOTFOUND')
    throw new CliError(`HOST: ${host} is no address of this machine. Set it to one, or leave it unset.`)
  if (trouble) throw new CliError(`Port ${port} cannot be used (${trouble}). Set PORT to another port.`)
}

function alreadyRunning(dataDir: string): string {
  const running = readRunFile(dataDir)
  const which = running ? ` (process ${running.pid}, ${running.api})` : ''
  return `A service runs on ${nearby(dataDir)} already${which}. Stop it, or set DATA_DIR to another folder.`
}

function writeRunFile(dataDir: string, content: RunFile): void {
  const file = join(dataDir, 'run.json')
  writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function welcome(url: string, { dataDir, port, reads }: Config): string {
  const keyFile = join(dataDir, 'operator-key')
  const key = existsSync(keyFile) ? `-H "Authorization: Bearer $(cat ${nearby(keyFile)})" ` : ''
  const reading = reads === 'open' ? '' : key
  const here = nearby(dataDir) === '.data' ? '' : `DATA_DIR=${nearby(dataDir)} `
  return `
The wall: ${url}/

  curl -s ${reading}'${url}/api/search?q=presenter'
  curl -s ${reading}'${url}/api/frames?kind=cut&tone=dark'${key && `\n  curl -s ${key}${url}/api/boards`}

Add your own: ${here}npm run -s frames -- add <file> --wait
Stop with Ctrl-C. The next ${port === 3000 ? '' : `PORT=${port} `}${here}npm start continues with the same library.`
}

function reasonOf(error: unknown): string {
  let deepest: unknown = error
  while (deepest instanceof Error && deepest.cause instanceof Error) deepest = deepest.cause
  const { message, code } = deepest as { message?: string; code?: string }
  return message || code || String(error)
}
