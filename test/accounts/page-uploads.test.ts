import { request } from 'node:http'
import { expect, test } from 'vitest'
import { createKey } from '../../src/library/accounts/keys.ts'
import { seedVideo } from '../support/seed.ts'
import { openPageVisitor, usePageVisitor } from './page-visitor.ts'

const visitor = usePageVisitor({ scale: 1, env: { MAX_UPLOAD_MB: '1300' } })

test('A13: a sender who leaves within a file is no failure of ours in the log', async () => {
  const { api } = visitor
  const { cookie } = await visitor.signIn('left@example.org', { role: 'operator' })
  const file = request(`${api.url}/web/videos/file`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'multipart/form-data; boundary=b', 'content-length': 4_000_000 },
  })
  file.on('error', () => undefined)
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n'
  file.write(Buffer.concat([Buffer.from(head), Buffer.alloc(1_000_000)]), () => setImmediate(() => file.destroy()))
  const ofFiles = () => api.logs.filter((line) => line.includes('/web/videos/file')).map((line) => JSON.parse(line))
  const told = () => ofFiles().filter(({ code }) => code !== 'rate_limited')
  await expect.poll(told).toMatchObject([{ msg: 'page refused', code: 'invalid_request' }])
})

test('a file that the library has leads to its video, and the page says so', async () => {
  const { api } = visitor
  const { cookie, token, get } = await visitor.signIn('twice@example.org', { role: 'operator' })
  const send = (accept: string, details: Record<string, string> = {}) => {
    const body = new FormData()
    body.set('form', token)
    for (const [name, text] of Object.entries(details)) body.set(name, text)
    body.set('file', new Blob(['the same film']), 'same-film.mp4')
    return fetch(`${api.url}/web/videos/file`, {
      method: 'POST',
      headers: { cookie, accept },
      body,
      redirect: 'manual',
    })
  }
  for (const [name, bad] of [
    ['platform', 'tv'],
    ['published_at', 'soon'],
    ['title', 'x'.repeat(301)],
  ] as const)
    expect((await send('application/json', { [name]: bad })).status, name).toBe(400)
  const said = { title: '', author: 'Acme', platform: 'x', published_at: '2026-11-20' }
  const { video, created } = await (await send('application/json', said)).json()
  expect([created, video.title]).toEqual([true, 'same film'])
  const stored = 'select author, platform, published_at::date::text as day from videos where id = $1'
  const { rows } = await api.db.$client.query(stored, [video.id])
  expect(rows).toEqual([{ author: 'Acme', platform: 'x', day: '2026-11-20' }])
  expect(await (await send('application/json', { author: 'Other' })).json()).toMatchObject({ unchanged: ['author'] })
  expect(await (await send('application/json')).json()).toMatchObject({ video: { id: video.id }, created: false })
  const plain = await send('text/html')
  expect([plain.status, plain.headers.get('location')]).toEqual([303, `/operator/videos/${video.id}?known=1`])
  const page = await get(plain.headers.get('location')!)
  expect(page.text).toContain('The library has this file already, with the details below.')
})

/**
 * Sends a body as a slow line does, `rate` bytes a second, the rest at once after `slowMs`. What a pause of this
 * process held up follows at once, so the sender is never slower than `rate`. 0: it was cut off.
 */
function sendSlowly(
  url: string,
  init: { method: string; headers: Record<string, string | number> },
  { body, rate, slowMs }: { body: Buffer; rate: number; slowMs: number },
): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url, { ...init, headers: { ...init.headers, 'content-length': body.length } }, (res) => {
      res.resume()
      resolve(res.statusCode!)
    })
    sent.on('error', () => resolve(0))
    const startedMs = performance.now()
    let at = 0
    const line = setInterval(() => {
      const passedMs = performance.now() - startedMs
      const to = passedMs < slowMs ? Math.round((rate * passedMs) / 1_000) : body.length
      sent.write(body.subarray(at, to))
      at = to
      if (at < body.length) return
      clearInterval(line)
      sent.end()
    }, 100)
    sent.once('close', () => clearInterval(line))
  })
}

test('A3: uploads over a slow line end by form and API; what falls below the rate is cut', async () => {
  // The rate is counted over two seconds here, so that five slow seconds are more than two of its windows.
  await using slow = await openPageVisitor({ connections: { bodyMs: 1_000 } })
  const { api } = slow
  const { account, cookie, token } = await slow.signIn('line@example.org', { role: 'operator', plan: 'pro' })
  const { key } = await createKey(api.db, { accountId: account.id, name: 'line', scopes: ['videos:write'] })
  const bytes = (n: number) => Buffer.alloc(4_000_000, n)
  const fields = new FormData()
  fields.set('form', token)
  fields.set('file', new Blob([bytes(1)]), 'film.mp4')
  const asForm = new Response(fields)
  const type = asForm.headers.get('content-type')!
  const whole = { headers: { authorization: `Bearer ${key}`, 'content-type': 'video/mp4' } }
  const line = { rate: 200_000, slowMs: 5_000 }
  const ended = await Promise.all([
    sendSlowly(
      `${api.url}/web/videos/file`,
      { method: 'POST', headers: { cookie, 'content-type': type } },
      { ...line, body: Buffer.from(await asForm.arrayBuffer()) },
    ),
    sendSlowly(`${api.url}/api/videos`, { method: 'POST', ...whole }, { ...line, body: bytes(2) }),
    sendSlowly(`${api.url}/api/videos`, { method: 'POST', ...whole }, { rate: 5_000, slowMs: 60_000, body: bytes(3) }),
  ])
  expect(ended).toEqual([303, 202, 0])
})

test('an address that the library has leads to its video', async () => {
  const { api } = visitor
  const operator = await visitor.signIn('known@example.org', { role: 'operator' })
  const address = 'https://example.org/films/known.mp4'
  const { id } = await seedVideo(api.db, { sourceKey: `url:${address}`, sourceUrl: address, title: 'Known' })
  const checked = await operator.post('/web/videos/check', { addresses: address })
  const [, link] = /in the library already: <a href="([^"]+)"/.exec(checked.text)!
  const page = await operator.get(link!)
  expect(page.status).toBe(200)
  expect(page.text).toContain(`id="v-${id}"`)
})
