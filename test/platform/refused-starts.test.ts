import { spawnSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { warnOfOtherHost } from '../../src/http/server.ts'
import { createLogger } from '../../src/logger.ts'

function frames(command: string, env: Record<string, string>): { code: number | null; lines: string[] } {
  const { status, stderr } = spawnSync(process.execPath, ['src/cli.ts', command], {
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, REDIS_URL: inject('redisUrl'), DATABASE_URL: inject('postgresUrl'), ...env },
  })
  return { code: status, lines: stderr.trim().split('\n') }
}

test('a folder that may not be written is named with its user, before anything else happens', () => {
  // Not even root may create something there.
  for (const command of ['migrate', 'worker', 'api']) {
    const { code, lines } = frames(command, { DATA_DIR: '/sys/frames' })
    expect(lines, command).toHaveLength(1)
    expect(lines[0], command).toMatch(/may not write \/sys\/frames.* chown -R \d+/)
    expect(code, command).toBe(1)
  }
})

test('a folder that can never be made is one line at once, also where Node would try for ever', () => {
  for (const command of ['start', 'migrate', 'worker', 'api'])
    for (const place of ['/proc/frames/data', '/dev/null/data']) {
      const { code, lines } = frames(command, { DATA_DIR: place })
      expect(lines, command).toEqual([
        expect.stringMatching(/^No folder can be made at \/\S+\. Set DATA_DIR to another/),
      ])
      expect(code, command).toBe(1)
    }
})

test('a database that refuses the password, or is missing, is one line with the next step', () => {
  for (const command of ['migrate', 'worker']) {
    const wrong = frames(command, { DATABASE_URL: inject('postgresUrl').replace(/:[^:@]+@/, ':wrong@') })
    expect(wrong.lines, command).toHaveLength(1)
    expect(wrong.lines[0], command).toMatch(
      /refuses the user or the password of DATABASE_URL.* at the first start of a database only/,
    )
    // A worker that stayed would never be started again.
    expect(wrong.code, command).toBe(1)
  }
  const DATABASE_URL = inject('postgresUrl').replace(/postgres$/, 'never_made')
  const { code, lines } = frames('migrate', { DATABASE_URL })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/no database of the name in DATABASE_URL. Create it/)
  expect(code).toBe(1)
})

let server: Server
const logs: string[] = []
beforeAll(async () => {
  server = createServer((_req, res) => res.end())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterAll(() => new Promise((done) => server.close(done)))

async function ask(path: string, headers: Record<string, string>): Promise<void> {
  const { request } = await import('node:http')
  const { port } = server.address() as AddressInfo
  await new Promise<void>((done) => {
    request({ host: '127.0.0.1', port, path, headers }, (answer) => answer.resume().once('end', done)).end()
  })
}

test('a PUBLIC_URL that no request names is warned of once; one match ends the watch', async () => {
  const logger = createLogger({ level: 'info' }, { write: (line: string) => void logs.push(line) })
  const options = { publicUrl: 'https://frames.example', trustProxy: 0, logger }
  warnOfOtherHost(server, options)
  for (const path of ['/livez', '/readyz', '/livez', '/readyz']) await ask(path, { host: '10.0.0.7:3000' })
  for (let n = 0; n < 2; n++) await ask('/', { host: 'localhost:8080' })
  expect(logs).toEqual([])
  for (let n = 0; n < 3; n++) await ask('/', { host: 'localhost:8080' })
  expect(logs.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      msg: 'requests name another host than PUBLIC_URL',
      host: 'localhost:8080',
      publicUrl: 'https://frames.example',
    },
  ])
  logs.length = 0
  warnOfOtherHost(server, options)
  await ask('/', { host: 'frames.example:443' })
  for (let n = 0; n < 5; n++) await ask('/', { host: 'scanner' })
  warnOfOtherHost(server, { ...options, trustProxy: 1 })
  await ask('/', { host: 'api:3000', 'x-forwarded-host': 'Frames.example' })
  for (let n = 0; n < 5; n++) await ask('/', { host: 'scanner' })
  expect(logs).toEqual([])
})
