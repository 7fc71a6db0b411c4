import { request } from 'node:http'
import { expect, test } from 'vitest'
import { form, usePageVisitor } from './page-visitor.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What a stranger may put into a request, and what must not come of it. */

const visitor = usePageVisitor()
const { api } = visitor

const EVIL = 'evil.example'

interface Sent {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** Asks under another host's name; `fetch` would send the real one. */
function askAsEvil({ method = 'GET', path, headers = {}, body }: Sent): Promise<{ status: number; text: string }> {
  const named = { host: EVIL, 'x-forwarded-host': EVIL, 'x-forwarded-proto': 'https', forwarded: `host=${EVIL}` }
  return new Promise((resolve, reject) => {
    const { port } = new URL(api.url)
    const sent = request({ port, host: '127.0.0.1', method, path, headers: { ...named, ...headers } }, (answer) => {
      let text = JSON.stringify(answer.headers)
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      answer.on('end', () => resolve({ status: answer.statusCode!, text }))
    })
    sent.on('error', reject).end(body)
  })
}

test('no answer and no sign-in link is made of the name under which the service is called', async () => {
  const { key } = await seedAccount(api.db)
  const { frameIds } = await seedFrames(api.db)
  const json = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const paths = ['/', '/docs', '/sign-in', '/openapi.json', '/llms.txt', '/api/frames', '/api/nothing']
  const asked: [Sent, number][] = [
    ...paths.map((path): [Sent, number] => [{ path }, path === '/api/nothing' ? 404 : 200]),
    // A proxy may send the absolute form.
    [{ path: `http://${EVIL}/api/frames` }, 200],
    [{ path: '/keys' }, 303],
    [{ method: 'POST', path: '/api/favourites', headers: json, body: JSON.stringify({ frameId: frameIds[0] }) }, 200],
    [{ path: '/api/favourites', headers: json }, 200],
    [{ method: 'POST', path: '/api/boards', headers: json, body: '{"name":"Mine"}' }, 201],
    [{ method: 'POST', ...tools('tools/list') }, 200],
    [
      {
        method: 'POST',
        path: '/web/sign-in',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'email=named%40example.org',
      },
      200,
    ],
  ]
  for (const [sent, status] of asked) {
    const answer = await askAsEvil(sent)
    expect([sent.path, answer.status]).toEqual([sent.path, status])
    expect(answer.text, sent.path).not.toContain(EVIL)
  }
  const saved = await askAsEvil({ path: '/api/favourites', headers: json })
  expect(saved.text).toContain(`"image_url":"${api.url}/media/`)
  await visitor.linkFor('named@example.org')
  expect(visitor.links.join()).toContain(`: ${api.url}/sign-in/confirm#`)
  expect(visitor.links.join()).not.toContain(EVIL)
})

const tools = (method: string) => ({
  path: '/api/mcp',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
})

test('a session that was planted before the sign-in is worth nothing after it', async () => {
  const keys = (cookie: string) => api.call('/keys', { headers: { cookie } })
  const invented = `session=fls_${'1'.repeat(43)}`
  const { cookie: attackers } = await visitor.signIn('attacker@example.org')
  for (const planted of [invented, attackers]) {
    await api.call('/web/sign-in', form({ email: 'victim@example.org' }))
    const code = await visitor.linkFor('victim@example.org')
    visitor.links.length = 0
    const confirmed = await api.call('/web/sign-in/confirm', form({ code }, { cookie: planted }))
    const given = confirmed.headers.get('set-cookie')!.split(';')[0]!
    expect(given).not.toBe(planted)
    expect((await keys(given)).text).toContain('victim@example.org')
    expect((await keys(planted)).headers.get('location')).toBe('/sign-in')
  }
})

test('the refusals of one address do not fill the log, and those of others are logged', async () => {
  const refused = () => api.logs.filter((line) => line.includes('"request refused"')).length
  const ask = (address: string, path: string) => api.call(path, { headers: { 'x-forwarded-for': address } })
  const before = refused()
  for (let n = 0; n < 100; n++) await ask('203.0.113.90', n % 2 ? '/nothing-here' : '/api/frames?page=0')
  const logged = refused()
  expect(logged - before).toBeGreaterThanOrEqual(20)
  // Twice 20 where a minute ends meanwhile.
  expect(logged - before).toBeLessThanOrEqual(40)
  await ask('203.0.113.91', '/nothing-here')
  expect(refused()).toBe(logged + 1)
})
