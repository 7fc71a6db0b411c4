import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'

/** Name servers that never answer, asked for the documents of apps. */

const silent = createSocket('udp4')
const asked = new Set<string>()
let service: Service
beforeAll(async () => {
  silent.on('message', (question) => asked.add(/h\d+/.exec(question.toString('latin1'))![0]))
  silent.bind(0, '127.0.0.1')
  await once(silent, 'listening')
  service = await openService({
    pages: true,
    worker: false,
    storesByName: true,
    env: { TRUST_PROXY: '1', RATE_LIMIT_SCALE: '1' },
    overrides: { wire: { nameServers: [`127.0.0.1:${silent.address().port}`] } },
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  silent.close()
})

const ask = async (n: number, from: number) => {
  const query = new URLSearchParams({ client_id: `https://h${n}.films.org/app`, response_type: 'code' })
  const answer = await fetch(`${service.url}/oauth/authorize?${query}`, {
    headers: { 'x-forwarded-for': `192.0.2.${from}` },
  })
  return { status: answer.status, text: await answer.text() }
}

test('twenty documents on silent hosts hold up no read, and one address has four of them', async () => {
  const hanging = Promise.all(Array.from({ length: 20 }, (_, n) => ask(n, n % 5)))
  await expect.poll(() => asked.size).toBe(20)
  const refused = await ask(20, 0)
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('At most 4 documents of apps')])
  const paths = ['/readyz', ...Array.from({ length: 12 }, (_, n) => `/api/frames?page=${n + 1}`)]
  const read = await Promise.all(paths.map((path) => service.get(path, { 'x-forwarded-for': '192.0.2.99' })))
  expect(read.map(({ status }) => status)).toEqual(paths.map(() => 200))
  for (const { status, text } of await hanging) expect([status, text]).toEqual([400, expect.stringContaining('fetch')])
  expect((await ask(0, 0)).status).toBe(400)
  expect(asked.size).toBe(20)
})
