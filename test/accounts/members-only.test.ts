import { beforeAll, describe, expect, test } from 'vitest'
import { checkConnection } from '../../src/cli/connect.ts'
import { listRoutes } from '../../src/http/routes.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { openPictureSigner } from '../../src/server/members-only.ts'
import { addVideo, openScripted, scriptedAnnotator } from '../library/support.ts'
import { postModern } from '../mcp/support.ts'
import { useOpened } from '../support/closing.ts'
import { openService } from '../support/service.ts'
import { usePageVisitor } from './page-visitor.ts'
import { seedAccount } from './seed-frames.ts'

/** READS=members: nothing of the library is read without a key or a session. */

/** What answers everyone in both modes. */
const OPEN = [
  'GET /livez',
  'GET /readyz',
  'GET /robots.txt',
  'GET /assets/:name',
  'GET /sign-in',
  'GET /sign-in/confirm',
  'POST /web/sign-in',
  'POST /web/sign-in/confirm',
  'GET /web/me',
  'GET /privacy',
  'GET /shared/:token',
  'GET /api/shared/:token',
]

const service = useOpened(() =>
  openScripted(
    scriptedAnnotator('scripted@1', () => ({})),
    { env: { READS: 'members' } },
  ),
)
const visitor = usePageVisitor({ env: { READS: 'members' } })
beforeAll(async () => {
  await addVideo(service, 6)
  await service.drain()
})

const isRefused = ({ status, headers }: Response) =>
  status === 401 || (status === 303 && headers.get('location') === '/sign-in')

test('every route asks who is there, but for signs of life, the sign-in and shared boards', async () => {
  const open: string[] = []
  for (const { path, methods } of listRoutes(service.api.app.routers)) {
    const at = service.url + path.replace(/[:*]\w+/g, 'x')
    for (const accept of ['text/html', '*/*']) {
      const answer = await fetch(at, { method: methods[0]!, redirect: 'manual', headers: { accept } })
      await answer.arrayBuffer()
      if (!isRefused(answer)) open.push(`${methods[0]} ${path}`)
    }
  }
  expect([...new Set(open)].sort()).toEqual([...OPEN].sort())
})

describe('with a key', () => {
  test('reads, documents and tools answer, and no shared cache may keep them', async () => {
    const headers = { authorization: `Bearer ${service.operatorKey}` }
    for (const path of [
      '/api/frames',
      '/api/search?q=dark',
      '/openapi.json',
      '/llms.txt',
      '/',
      '/docs',
      '/robots.txt',
    ]) {
      const answer = await fetch(service.url + path, { headers })
      expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([path, 200, expect.any(String)])
      expect([path, answer.headers.get('cache-control')]).not.toEqual([path, expect.stringMatching(/public|s-maxage/)])
      expect(answer.headers.get('vary')).toMatch(/^(?=.*Authorization)(?=.*Cookie)/)
    }
    const bad = await fetch(`${service.url}/api/frames`, { headers: { authorization: 'Bearer bad' } })
    expect([bad.status, bad.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')])
  })

  test('what describes the service says that reading needs a key', async () => {
    const headers = { authorization: `Bearer ${service.operatorKey}` }
    const text = async (path: string, given: Record<string, string> = headers) =>
      (await fetch(service.url + path, { headers: given })).text()
    expect(await text('/llms.txt')).toMatch(/^> .*reading needs a key/m)
    expect(await text('/llms.txt')).not.toMatch(/no key|never change/)
    const { info, paths } = JSON.parse(await text('/openapi.json'))
    expect(info.description).toContain('reading needs a key')
    const frames = paths['/api/frames'].get
    expect([frames.security, frames.description]).toEqual([[{ key: [] }], expect.stringContaining('Needs a key.')])
    expect(frames.responses).toHaveProperty('401')
    expect(paths['/media/{name}'].get.security).toEqual([{}, { key: [] }])
    expect(paths['/livez'].get.security).toEqual([])
    expect(await text('/sign-in', {})).toContain('This library is for its members')
    expect(await text('/connect', { ...headers, accept: 'text/html' })).toContain('Bearer flk_live_…')
    const findings = await checkConnection(service.url)
    expect(findings.find(({ what }) => what.includes('/api/mcp'))).toMatchObject({ fault: null })
    const { cookie } = await visitor.signIn('keys@example.org')
    const keys = await visitor.api.call('/keys', { headers: { accept: 'text/html', cookie } })
    expect(keys.text).toContain('Programs need one to search, too.')
  })

  test('the addresses of pictures open without one for up to an hour, and no other picture does', async () => {
    const { frames } = (await service.get('/api/frames', { authorization: `Bearer ${service.operatorKey}` })).json
    for (const address of [frames[0].image_url, frames[0].thumb_url]) {
      const url = new URL(address)
      const at = service.url + url.pathname
      const status = async (query: string, headers: Record<string, string> = {}) =>
        (await fetch(at + query, { headers })).status
      expect(await status(url.search)).toBe(200)
      expect(await status('')).toBe(401)
      expect(await status('', { authorization: `Bearer ${service.operatorKey}` })).toBe(200)
      const until = Number(url.searchParams.get('until')) * 1000
      expect([until > Date.now(), until <= Date.now() + 3_600_000]).toEqual([true, true])
      const longer = new URLSearchParams({ until: String(until / 1000 + 3_600), mac: url.searchParams.get('mac')! })
      expect(await status(`?${longer}`)).toBe(403)
      const other = new URL(frames[1].image_url)
      expect((await fetch(service.url + other.pathname + url.search)).status).toBe(403)
      const past = openPictureSigner(service.stores.db, () => Date.now() - 2 * 3_600_000)
      const ended = await fetch(service.url + (await past.signing())(url.pathname))
      expect([ended.status, (await ended.json()).message]).toEqual([403, expect.stringContaining('address has ended')])
    }
  })

  test('agents get addresses that open, and none without a key', async () => {
    const params = { name: 'browse_frames', arguments: { images: 1 } }
    const call = (headers: Record<string, string>) =>
      fetch(`${service.url}/api/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      })
    expect((await call({})).status).toBe(401)
    const { result } = await (await call({ authorization: `Bearer ${service.operatorKey}` })).json()
    const url = new URL(result.structuredContent.frames[0].image_url)
    expect((await fetch(service.url + url.pathname + url.search)).status).toBe(200)
    expect(result.content.some(({ type }: { type: string }) => type === 'image')).toBe(true)
  })

  test('a frame as a resource is not for shared caches', async () => {
    const { frames } = (await service.get('/api/frames', { authorization: `Bearer ${service.operatorKey}` })).json
    const request = { method: 'resources/read', params: { uri: `frame://${frames[0].id}` } }
    const headers = { authorization: `Bearer ${service.operatorKey}` }
    const { result } = (await postModern(`${service.url}/api/mcp`, request, headers)).json
    expect(result).toMatchObject({ cacheScope: 'private', ttlMs: 300_000 })
    expect(result.contents).toHaveLength(2)
    const { search, pathname } = new URL(/http\S+\.webp\S*/.exec(result.contents[0].text)![0])
    expect((await fetch(service.url + pathname + search)).status).toBe(200)
  })

  test('the pictures on pages open, the small ones where small ones are shown', async () => {
    const headers = { authorization: `Bearer ${service.operatorKey}`, accept: 'text/html' }
    const { videos } = (await service.get('/api/videos', { authorization: headers.authorization })).json
    for (const path of ['/', '/films', '/brands', '/techniques', `/videos/${videos[0].id}`]) {
      const page = await (await fetch(service.url + path, { headers })).text()
      const sources = [...page.matchAll(/<img[^>]+src="([^"]*\/media\/[^"]+)"/g)].map(([, src]) => src!)
      for (const src of new Set(sources)) {
        const { pathname, search } = new URL(src.replaceAll('&amp;', '&'), service.url)
        const { status } = await fetch(service.url + pathname + search, { headers })
        expect([path, pathname, status]).toEqual([path, expect.stringMatching(/-480\.webp$/), 200])
      }
      if (path === '/' || path === '/films') expect(sources.length, path).toBeGreaterThan(0)
    }
  })

  test('a shared board and its pictures open by their link', async () => {
    const { db } = service.stores
    const { account } = await seedAccount(db, { plan: 'pro' })
    const { rows } = await db.$client.query<{ id: string }>('select id from frames limit 2')
    const { id: boardId } = await createBoard(db, { accountId: account.id, name: 'b' })
    await pinFrames(db, { accountId: account.id, boardId, frameIds: rows.map(({ id }) => id) })
    const { token } = await shareBoard(db, { accountId: account.id, boardId })
    const page = await (await fetch(`${service.url}/shared/${token}`)).text()
    const src = /<img[^>]+src="([^"]*\/media\/[^"]+)"/.exec(page)![1]!.replaceAll('&amp;', '&')
    const shown = new URL(src, service.url)
    expect((await fetch(service.url + shown.pathname + shown.search)).status).toBe(200)
    const { board } = (await service.get(`/api/shared/${token}`)).json
    const url = new URL(board.items[0].image_url)
    expect((await fetch(service.url + url.pathname + url.search)).status).toBe(200)
  })
})

test('a browser is led to the sign-in and back, and reads with its session', async () => {
  const { api } = visitor
  const ask = (path: string, cookie = '') =>
    api.call(path, { headers: { accept: 'text/html', ...(cookie ? { cookie } : {}) } })
  const refused = await ask('/?q=dark')
  expect([refused.status, refused.headers.get('location')]).toEqual([303, '/sign-in'])
  expect(refused.headers.get('set-cookie')).toContain(encodeURIComponent('/?q=dark'))
  const { cookie } = await visitor.signIn('reader@example.org')
  for (const path of ['/', '/techniques', '/docs']) {
    const answer = await ask(path, cookie)
    expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([
      path,
      200,
      expect.not.stringContaining('public'),
    ])
  }
})

test('who is led to the sign-in has paid for the look-up of a session', async () => {
  // An address may spend 3 points.
  await using small = await openService({ worker: false, env: { READS: 'members', RATE_LIMIT_SCALE: '0.005' } })
  const headers = { accept: 'text/html', cookie: `session=fls_${'a'.repeat(43)}` }
  const found: number[] = []
  for (let n = 0; n < 4; n++) found.push((await fetch(`${small.url}/x`, { redirect: 'manual', headers })).status)
  expect(found).toEqual([303, 303, 303, 429])
  // A key pays for itself, whatever its address has used up.
  const { key } = await seedAccount(small.stores.db)
  const read = await fetch(`${small.url}/api/frames`, { headers: { authorization: `Bearer ${key}` } })
  expect(read.status).toBe(200)
})
