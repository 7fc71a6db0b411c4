import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { keepAliveFile } from '../../src/cli/serve.ts'
import { listenOn } from '../support/listening.ts'

// deploy/frames is the command of the image.

const run = promisify(execFile)
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'image-command-'))
  vi.stubEnv('TMPDIR', folder)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

async function frames(args: string[], env: Record<string, string> = {}) {
  const outcome = run('sh', ['deploy/frames', ...args], { env: { ...process.env, ...env } })
  return outcome.then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  )
}

test('a leading frames is dropped, because people repeat it after docker compose run', async () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'node'), '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 })
  const PATH = `${bin}:${process.env.PATH}`
  expect((await frames(['status', '--status', 'a b'], { PATH })).stdout).toBe(
    '/app/src/cli/main.ts|status|--status|a b|',
  )
  expect((await frames(['frames', 'status'], { PATH })).stdout).toBe('/app/src/cli/main.ts|status|')
})

test('a worker is healthy while its own file is touched, and every worker has one', async () => {
  const first = keepAliveFile()
  const second = keepAliveFile()
  const folders = readdirSync(folder).map((name) => join(folder, name))
  expect(folders).toHaveLength(2)
  for (const path of folders) {
    expect(statSync(path).mode & 0o777).toBe(0o700)
    expect(statSync(join(path, 'alive')).mode & 0o777).toBe(0o600)
  }
  expect(await frames(['healthcheck'])).toMatchObject({ code: 0 })
  const longAgo = new Date(Date.now() - 600_000)
  for (const path of folders) utimesSync(join(path, 'alive'), longAgo, longAgo)
  const stalled = await frames(['healthcheck'])
  expect(stalled).toEqual({ code: 1, stdout: 'The worker has not been alive for a minute.\n' })
  first[Symbol.dispose]()
  second[Symbol.dispose]()
  expect(folders.some((path) => existsSync(path))).toBe(false)
})

test('where no worker runs, the API must answer', async () => {
  const server: Server = createServer((req, res) => res.writeHead(req.url === '/livez' ? 200 : 500).end())
  const PORT = String((await listenOn(server)).port)
  expect(await frames(['healthcheck'], { PORT })).toMatchObject({ code: 0 })
  await new Promise((done) => server.close(done))
  expect(await frames(['healthcheck'], { PORT })).toEqual({ code: 1, stdout: 'The API does not answer.\n' })
})
