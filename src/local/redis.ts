import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { freePort, LocalFailure, stopChild, untilGone } from './processes.ts'

interface Running {
  pid: number
  url: string
}

/**
 * Starts redis-server on a free loopback port with a password and an append-only file in `dir`. A server that an
 * earlier run left on the same folder is stopped first. Resolves when it answers. `url`: the URL of the server that
 * ended. The new one has the same port and password.
 * @throws LocalFailure
 */
export async function startLocalRedis(options: { dir: string; persistent?: boolean; url?: string | undefined }) {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 })
  const dir = realpathSync(options.dir)
  const runningFile = `${dir}.json`
  await stopOrphan(dir, runningFile)
  for (let attempt = 1; ; attempt++) {
    const before = options.url === undefined ? undefined : new URL(options.url)
    const port = before ? Number(before.port) : await freePort()
    const password = before?.password ?? randomBytes(18).toString('base64url')
    // Detached, so that Ctrl-C does not reach it. The settings go through standard input,
    // because every user could read a password among the arguments.
    const child = spawn('redis-server', ['-'], { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
    let log = ''
    child.stdout.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-8_000)
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(settings({ dir, port, password, persistent: options.persistent ?? true }))
    let failure: NodeJS.ErrnoException | undefined
    const exited = new Promise<void>((done) => {
      child.once('exit', () => done())
      child.once('error', (error) => {
        failure = error
        done()
      })
    })
    const url = `redis://:${password}@127.0.0.1:${port}`
    // Before it answers, so that the next start recognises it if we are killed.
    if (child.pid)
      writeFileSync(runningFile, JSON.stringify({ pid: child.pid, url } satisfies Running), { mode: 0o600 })
    const ended = () => failure !== undefined || child.exitCode !== null || child.signalCode !== null
    for (const end = Date.now() + 30_000; !ended() && Date.now() < end; ) {
      if ((await inspect(url))?.pid === child.pid) {
        return {
          url,
          pid: child.pid!,
          /** Resolves when the server has ended. */
          exited,
          async stop(): Promise<void> {
            await stopChild(child, 'SIGTERM', 'SIGKILL', 8_000)
            rmSync(runningFile, { force: true })
          },
        }
      }
      await new Promise((done) => setTimeout(done, 25))
    }
    await stopChild(child, 'SIGKILL', 'SIGKILL', 1_000)
    if (failure?.code === 'ENOENT') throw new LocalFailure(MISSING)
    if (attempt < 4 && /already in use/.test(log)) continue
    const reason = log.split('\n').find((line) => line.includes('# ')) ?? failure?.message ?? 'no reason given'
    throw new LocalFailure(`redis-server did not start: ${reason.replace(/^.*?# /, '').trim()}`)
  }
}

const MISSING =
  'redis-server is missing. Install it (Debian: apt-get install redis-server, macOS: brew install redis) ' +
  'or set REDIS_URL to a running one.'

function settings(of: { dir: string; port: number; password: string; persistent: boolean }): string {
  return [
    'bind 127.0.0.1',
    `port ${of.port}`,
    `requirepass ${of.password}`,
    `dir "${of.dir.replace(/["\\]/g, '\\$&')}"`,
    'save ""',
    `appendonly ${of.persistent ? 'yes' : 'no'}`,
    'maxmemory-policy noeviction',
    'daemonize no',
    '',
  ].join('\n')
}

/** Stops a server that a killed run left behind: it accepts our password and reports our folder. */
async function stopOrphan(dir: string, runningFile: string): Promise<void> {
  let running: Running
  try {
    running = JSON.parse(readFileSync(runningFile, 'utf8')) as Running
  } catch {
    return
  }
  const found = await inspect(running.url)
  if (found && found.pid === running.pid && found.dir === dir) {
    process.kill(found.pid, 'SIGTERM')
    if (!(await untilGone(found.pid, 8_000))) process.kill(found.pid, 'SIGKILL')
    await untilGone(found.pid, 2_000)
  }
  rmSync(runningFile, { force: true })
}

async function inspect(url: string): Promise<{ pid: number; dir: string } | undefined> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const [info, dir] = await Promise.all([client.info('server'), client.config('GET', 'dir')])
    return { pid: Number(/process_id:(\d+)/.exec(info)?.[1]), dir: String((dir as string[])[1]) }
  } catch {
    return undefined
  } finally {
    client.disconnect()
  }
}
