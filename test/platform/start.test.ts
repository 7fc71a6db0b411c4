import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryFolder } from '../support/memory-folder.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { until } from '../support/until.ts'

// `npm start` as its user sees it: whole processes, and one library that survives every way to end. Each test continues
// where the one before it stopped. The checkout has two of the samples: reading a picture takes seconds.

const dataDir = mkdtempSync(join(memoryFolder(), 'frames-start-'))
const checkout = mkdtempSync(join(tmpdir(), 'frames-checkout-'))
let service: Service | undefined

beforeAll(checkOut)
afterAll(async () => {
  for (const pid of processesOf(dataDir)) kill(pid)
  await until(() => processesOf(dataDir).length === 0)
  for (const dir of [dataDir, checkout]) rmSync(dir, { recursive: true, force: true })
})

describe.skipIf(process.platform !== 'linux')('npm start', { timeout: 1_200_000 }, () => {
  let firstFrames: Frame[]

  test('an empty folder becomes a service with samples, an operator and a wall, also after a Ctrl-C', async () => {
    service = await start()
    await service.says(/: extracting/)
    expect(service.output()).toMatch(/Sign in as the operator, once: http:.*\n[\s\S]*: extracting/)
    service.signal('SIGINT')
    expect(await service.exit()).toBe(0)
    service = await start()
    await service.says(/Going on with \d sample videos of the last start/)
    await service.says(/The wall: http/)
    const { api } = runFile()
    expect(service.output()).toContain(`The service runs at ${api} `)
    expect(service.output()).toContain(`Add your own: DATA_DIR=${dataDir} npm run -s frames -- add`)
    expect(service.output()).toContain(`The next PORT=${new URL(api).port} DATA_DIR=${dataDir} npm start continues`)
    expect(mode('run.json')).toBe(0o600)
    expect(mode('operator-key')).toBe(0o600)
    expect(openToOthers()).toEqual([])
    const client = await connect()
    const { rows } = await client.query<{ count: number }>('select count(*)::int as count from frames')
    await client.end()
    // The database says `ready` first. The wall follows a moment later, one video after the other.
    await until(async () => {
      firstFrames = await framesOf(api)
      return firstFrames.length === rows[0]!.count
    })
    const text = expect.stringMatching(/\w/)
    const described = { caption: text, composition: text, steal: text, technique: text, annotation: { model: 'notes' } }
    for (const frame of firstFrames) expect(frame).toMatchObject(described)
    expect((await fetch(api + firstFrames[0]!.image_url)).headers.get('content-type')).toBe('image/webp')
    expect((await fetch(api)).headers.get('content-type')).toMatch(/text\/html/)
    expect((await fetch(`${api}/api/boards`, { headers: { Authorization: `Bearer ${operatorKey()}` } })).status).toBe(
      200,
    )
    expect((await fetch(`${api}/readyz`)).status).toBe(200)
  })

  test('only this machine reaches a service that has neither HOST nor PUBLIC_URL', async () => {
    const { port } = new URL(runFile().api)
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
    // All of 127.0.0.0/8 is loopback on Linux, so a service on every interface would answer here too.
    await expect(fetch(`http://127.0.0.2:${port}/livez`)).rejects.toThrow()
  })

  test('a second service on the same folder, or on its port, is refused in one line', async () => {
    expect(await refused({})).toMatch(/runs on .* already .*DATA_DIR/)
    const other = mkdtempSync(join(tmpdir(), 'frames-other-'))
    const { port } = new URL(runFile().api)
    expect(await refused({ DATA_DIR: other, PORT: port })).toMatch(new RegExp(`Port ${port} is in use.*PORT`))
    expect(processesOf(other)).toEqual([])
    rmSync(other, { recursive: true })
    expect((await fetch(`${runFile().api}/livez`)).status).toBe(200)
  })

  test('Ctrl-C, which a terminal and npm both pass on, stops everything it started and nothing else', async () => {
    const bystander = createServer((_req, res) => res.end()).listen(0)
    service!.signal('SIGINT')
    service!.signal('SIGINT')
    expect(await service!.exit()).toBe(0)
    expect(processesOf(dataDir)).toEqual([])
    expect(existsSync(join(dataDir, 'run.json'))).toBe(false)
    expect(bystander.listening).toBe(true)
    bystander.close()
  })

  test('the next start finds everything as it was', async () => {
    const key = operatorKey()
    const earlier = workersStarted()
    service = await start()
    await service.says(/The wall: http/)
    // A worker that loses a store before it has started ends and is started again.
    await until(() => workersStarted() > earlier)
    expect(service.output()).not.toMatch(/empty/)
    const { api } = runFile()
    expect(service.output()).toContain(`The wall: ${api}/`)
    expect(await framesOf(api)).toEqual(expect.arrayContaining(firstFrames))
    expect(operatorKey()).toBe(key)
    expect(openToOthers()).toEqual([])
    expect((await fetch(`${api}/api/boards`, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(200)
  })

  test('a killed Redis and a killed PostgreSQL come back at the same address, and the service goes on', async () => {
    const { api } = runFile()
    const before = await framesOf(api)
    const others = processesOf(dataDir).filter((pid) => !/postgres|redis/.test(commandOf(pid)))
    const redisPid = () => (JSON.parse(read(join(dataDir, 'redis.json')) || '{}') as { pid?: number }).pid
    const postgresPid = () => Number(read(join(dataDir, 'postgres', 'postmaster.pid')).split('\n')[0])
    const headers = { Authorization: `Bearer ${operatorKey()}`, 'Content-Type': 'application/json' }
    let made = 0
    const makeBoard = async () => {
      const body = JSON.stringify({ name: `after a kill ${++made}` })
      const answer = await fetch(`${api}/api/boards`, { method: 'POST', headers, body })
      await answer.text()
      return { status: answer.status, retryAfter: answer.headers.get('retry-after') }
    }

    const firstRedis = redisPid()!
    process.kill(firstRedis, 'SIGKILL')
    expect((await makeBoard()).status).toBe(201)
    await until(() => redisPid() !== firstRedis && redisPid() !== undefined)
    await service!.says(/local database ended, restarting \(Redis\)/)

    const firstPostgres = postgresPid()
    process.kill(firstPostgres, 'SIGKILL')
    await until(async () => {
      const { status, retryAfter } = await makeBoard()
      if (status !== 201) expect([status, Number(retryAfter)]).toEqual([503, expect.toSatisfy((sec) => sec > 0)])
      return status === 201 && postgresPid() !== firstPostgres
    })
    await until(async () => (await fetch(`${api}/readyz`)).status === 200)
    expect(await framesOf(api)).toEqual(before)
    // The service and its worker are the processes of before.
    expect(processesOf(dataDir)).toEqual(expect.arrayContaining(others))
    expect(service!.output()).not.toMatch(/worker died/)
  })

  test('a killed service takes its worker with it, and the next start clears away its stores', async () => {
    const before = processesOf(dataDir)
    service!.signal('SIGKILL')
    await service!.exit()
    const stores = () => processesOf(dataDir).filter((pid) => /postgres|redis/.test(commandOf(pid)))
    await until(() => processesOf(dataDir).length === stores().length)
    expect(stores().length).toBeGreaterThan(0)

    service = await start()
    await service.says(/The wall: http/)
    expect(processesOf(dataDir).filter((pid) => before.includes(pid))).toEqual([])
    expect(await framesOf(runFile().api)).toEqual(expect.arrayContaining(firstFrames))
  })

  test('a service whose output is no longer read, as after `npm start | head`, stops in order', async () => {
    service!.hangUp()
    service!.signal('SIGTERM')
    expect(await service!.exit()).toBe(0)
    expect(processesOf(dataDir)).toEqual([])
  })

  test('SIGTERM, sent to npm, lets an upload in flight finish, then everything ends', async () => {
    service = await start('npm', ['start'])
    await service.says(/The wall: http/)
    const { api } = runFile()
    const upload = request(`${api}/api/videos`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${operatorKey()}`, 'Content-Type': 'video/mp4', Expect: '100-continue' },
    })
    const answered = once(upload, 'response')
    upload.flushHeaders()
    // The server is reading the upload.
    await once(upload, 'continue')
    upload.write(Buffer.alloc(200_000, 1))
    service!.signal('SIGTERM')
    await service!.says(/Stopping/)
    await until(async () => (await fetch(`${api}/livez`).catch(() => undefined)) === undefined)
    upload.end(Buffer.alloc(100_000, 2))
    const [answer] = (await answered) as [import('node:http').IncomingMessage]
    expect(answer.statusCode).toBe(202)
    answer.resume()
    expect(await service!.exit()).toBe(0)
    expect(processesOf(dataDir)).toEqual([])
  })

  test('a variable that makes no sense is one line that names it', async () => {
    expect(await refused({ HOST: 'http://0.0.0.0' }, 2)).toMatch(/^HOST: must be an IP address/)
    // An address for documentation (RFC 5737) that no machine has.
    expect(await refused({ HOST: '192.0.2.1' })).toMatch(/^HOST: 192\.0\.2\.1 is no address of this machine/)
    expect(await refused({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })).toMatch(/database.*ECONNREFUSED/)
    expect(processesOf(dataDir)).toEqual([])
  })
})

const SAMPLES = (JSON.parse(read('samples/samples.json')) as { file: string }[]).filter(({ file }) =>
  ['coffee-pour.mp4', 'gitui-commit.mp4'].includes(file),
)

interface Service {
  output(): string
  says(what: RegExp): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Closes the pipes of its output. */
  hangUp(): void
  exit(): Promise<number | null>
}

/** A copy of the source beside the installed packages. What Node keeps of compiled code stays within it. */
function checkOut(): void {
  for (const name of ['src', 'scripts', 'drizzle', 'docs', 'skills', 'package.json', 'package-lock.json'])
    cpSync(name, join(checkout, name), { recursive: true })
  mkdirSync(join(checkout, 'node_modules'))
  for (const name of readdirSync('node_modules').filter((name) => name !== '.cache'))
    symlinkSync(resolve('node_modules', name), join(checkout, 'node_modules', name))
  mkdirSync(join(checkout, 'samples'))
  for (const { file } of SAMPLES) cpSync(`samples/${file}`, join(checkout, 'samples', file))
  writeFileSync(join(checkout, 'samples', 'samples.json'), JSON.stringify(SAMPLES))
}

function environment(extra: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  const cache = join(checkout, 'node_modules', '.cache', 'frames')
  return { PATH, HOME, ...NODE_SETTINGS, NODE_COMPILE_CACHE: cache, PORT: '0', DATA_DIR: dataDir, ...extra }
}

async function start(program = process.execPath, args = ['src/cli/main.ts', 'start']): Promise<Service> {
  const child: ChildProcess = spawn(program, args, {
    cwd: checkout,
    env: environment({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  return {
    output: () => output,
    async says(what) {
      await until(() => {
        if (child.exitCode !== null) throw new Error(`the service ended: ${output}`)
        return what.test(output)
      })
    },
    signal: (signal) => void child.kill(signal),
    hangUp() {
      child.stdout!.destroy()
      child.stderr!.destroy()
    },
    exit: () => exit,
  }
}

/**
 * The one line with which a start was refused. Waiting must not block this process: it would not hear that the service
 * has closed an idle connection, and would send the next request there.
 */
async function refused(extra: Record<string, string>, status = 1): Promise<string> {
  const child = spawn(process.execPath, ['src/cli/main.ts', 'start'], { cwd: checkout, env: environment(extra) })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  expect(await once(child, 'close')).toEqual([status, null])
  const lines = output.trim().split('\n')
  expect(lines).toHaveLength(1)
  return lines[0]!
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: runFile().database })
  await client.connect()
  return client
}

function runFile() {
  return JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as { api: string; database: string }
}

function operatorKey(): string {
  return readFileSync(join(dataDir, 'operator-key'), 'utf8').trim()
}

function mode(name: string): number {
  return statSync(join(dataDir, name)).mode & 0o777
}

/** What any other user of the machine could read, list or run. */
function openToOthers(): string[] {
  const { stdout } = spawnSync('find', [dataDir, '-mindepth', '1', '-perm', '/077'], { encoding: 'utf8' })
  return stdout.split('\n').filter((path) => path !== '')
}

interface Frame {
  id: string
  image_url: string
  subject: string | null
}

/** The wall's frames, with addresses as paths: the port differs from start to start. */
async function framesOf(api: string): Promise<Frame[]> {
  const response = await fetch(`${api}/api/frames`)
  expect(response.status).toBe(200)
  return (JSON.parse((await response.text()).replaceAll(api, '')) as { frames: Frame[] }).frames
}

/** Every process that was started with this data folder: its environment or its arguments name it. */
function processesOf(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        pid !== process.pid &&
        [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`].some((file) => read(file).includes(dir)),
    )
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`)
}

function workersStarted(): number {
  return read(join(dataDir, 'service.log')).split('"worker started"').length - 1
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone by itself.
  }
}
