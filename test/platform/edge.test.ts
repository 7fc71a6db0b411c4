import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../src/local/processes.ts'
import { useFolder } from '../support/folder.ts'
import { listenOn } from '../support/listening.ts'
import { openService, type Service } from '../support/service.ts'

// The examples of deploy/ in front of a real API, where Caddy and nginx are installed.

const has = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0
const hasCaddy = has('caddy', 'version')
const hasNginx = has('nginx', '-v')

let service: Service
const folder = useFolder()
beforeAll(async () => {
  if (hasCaddy || hasNginx) service = await openService({ worker: false, env: { TRUST_PROXY: '1' } })
})
afterAll(() => service?.[Symbol.asyncDispose]())

/** Runs a proxy until `act` has ended. */
async function during(proxy: ChildProcess, url: string, act: () => Promise<void>): Promise<void> {
  const ended = new Promise((done) => proxy.once('exit', done))
  let said = ''
  proxy.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const status = () =>
    fetch(`${url}/livez`).then(
      (answer) => answer.status,
      () => said,
    )
  try {
    await expect.poll(status).toBe(200)
    await act()
  } finally {
    proxy.kill('SIGTERM')
    await ended
  }
}

/** An API that tells which addresses it was handed. */
const tellAddress: RequestListener = (req, res) => res.end(String(req.headers['x-forwarded-for']))

/** A proxy hands on the address that it saw, whatever the client claims. */
async function expectOwnAddress(url: string): Promise<void> {
  const answer = await fetch(url, { headers: { 'x-forwarded-for': '192.0.2.1, 192.0.2.2' } })
  expect(await answer.text()).toBe('127.0.0.1')
}

describe('deploy/Caddyfile', () => {
  test.skipIf(!hasCaddy)('is valid and passes requests on (skipped where Caddy is not installed)', async () => {
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const valid = spawnSync('caddy', ['validate', '--config', 'deploy/Caddyfile'], { encoding: 'utf8', env })
    expect(valid.stdout + valid.stderr).toContain('Valid configuration')
    // Without Caddy's own API, which would need a port.
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${readFileSync('deploy/Caddyfile', 'utf8')}`)
    const args = ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
    await using api = await listenOn(createServer(tellAddress))
    const { port: stub } = api
    for (const origin of [service.api.port, stub]) {
      const site = `http://127.0.0.1:${await freePort()}`
      const proxied = { ...env, SITE: site, API: `127.0.0.1:${origin}` }
      await during(spawn('caddy', args, { env: proxied, stdio: ['ignore', 'ignore', 'pipe'] }), site, async () => {
        if (origin === stub) return expectOwnAddress(site)
        const wall = await fetch(`${site}/api/frames`)
        expect(wall.headers.get('cache-control')).toContain('s-maxage=300')
        expect(await wall.json()).toMatchObject({ page: 1 })
      })
    }
  })
})

describe('deploy/nginx.conf', () => {
  /** The example with the ports and folders of this test. */
  function startNginx(name: string, { port, origin }: { port: number; origin: number }): ChildProcess {
    const home = join(folder, name)
    mkdirSync(home)
    const example = readFileSync('deploy/nginx.conf', 'utf8')
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace('listen [::]:80;', '')
      .replace('server 127.0.0.1:3000', `server 127.0.0.1:${origin}`)
      .replace('/var/cache/nginx/frames', join(home, 'cache'))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${join(home, kind)};`,
    )
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const config = [
      `daemon off; master_process off; ${user} pid ${join(home, 'pid')}; error_log stderr warn;`,
      `events {} http { access_log off; ${temporary.join(' ')}`,
      example,
      '}',
    ]
    writeFileSync(join(home, 'nginx.conf'), config.join('\n'))
    return spawn('nginx', ['-e', 'stderr', '-c', join(home, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  }

  async function ask(url: string, headers: Record<string, string> = {}) {
    const answer = await fetch(url, { headers })
    return { status: answer.status, cache: answer.headers.get('x-cache'), etag: answer.headers.get('etag') ?? '' }
  }

  test.skipIf(!hasNginx)('keeps open reads and nothing else (skipped where nginx is not installed)', async () => {
    const port = await freePort()
    const site = `http://127.0.0.1:${port}`
    await during(startNginx('real', { port, origin: service.api.port }), site, async () => {
      const first = await ask(`${site}/api/frames`)
      expect(first).toMatchObject({ status: 200, cache: 'MISS' })
      expect(await ask(`${site}/api/frames`)).toMatchObject({ status: 200, cache: 'HIT' })
      expect(await ask(`${site}/api/frames`, { 'if-none-match': first.etag })).toMatchObject({ status: 304 })
      expect(await ask(`${site}/api/frames?page=2`)).toMatchObject({ cache: 'MISS' })
      for (const path of ['/api/favourites', '/readyz', '/api/frames?page=0'])
        for (let n = 0; n < 2; n++) expect((await ask(`${site}${path}`)).cache, path).toMatch(/^(MISS|BYPASS)$/)
      // What one caller may see never reaches another.
      const key = { authorization: `Bearer ${service.operatorKey}` }
      expect(await ask(`${site}/api/favourites`, key)).toMatchObject({ status: 200, cache: 'MISS' })
      expect(await ask(`${site}/api/favourites`)).toMatchObject({ status: 401, cache: 'MISS' })
    })
  })

  test.skipIf(!hasNginx)('answers from the cache while the API is away', async () => {
    const server = createServer((req, res) => {
      if (req.url === '/address') return tellAddress(req, res)
      const kept = 'public, max-age=1, s-maxage=1, stale-while-revalidate=60, stale-if-error=600'
      res.writeHead(200, { 'Cache-Control': req.url === '/kept' ? kept : 'no-store' }).end('answer')
    })
    const api = await listenOn(server)
    const origin = api.port
    const port = await freePort()
    const site = `http://127.0.0.1:${port}`
    await during(startNginx('away', { port, origin }), site, async () => {
      expect(await ask(`${site}/kept`)).toMatchObject({ status: 200, cache: 'MISS' })
      expect((await ask(`${site}/never`)).status).toBe(200)
      await expectOwnAddress(`${site}/address`)
      await api[Symbol.asyncDispose]()
      const seen = new Set<string>()
      await expect
        .poll(async () => {
          const { status, cache } = await ask(`${site}/kept`)
          seen.add(String(status))
          return cache
        })
        .toMatch(/^(STALE|UPDATING)$/)
      expect([...seen]).toEqual(['200'])
      expect((await ask(`${site}/never`)).status).toBe(502)
    })
  })
})
