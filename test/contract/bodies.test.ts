import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'

// What is refused of a body: text that is not UTF-8, which would be stored with replacement signs, and one too large.

let service: Service
beforeAll(async () => {
  service = await openService({ worker: false })
})
afterAll(() => service[Symbol.asyncDispose]())

async function post(type: string, body: Buffer) {
  const headers = { authorization: `Bearer ${service.operatorKey}`, 'content-type': type }
  const answer = await fetch(`${service.url}/api/videos`, { method: 'POST', headers, body: new Uint8Array(body) })
  return { status: answer.status, json: (await answer.json()) as { message: string; video: { title: string } } }
}

/** A form as browsers and curl write it. `more` are headers of the title. */
function form(title: Buffer, filename: Buffer, more = ''): Buffer {
  const part = (header: string | Buffer, value: Buffer | string, end: string) =>
    Buffer.concat([Buffer.from(header), Buffer.from('\r\n\r\n'), Buffer.from(value), Buffer.from(end)])
  const file = Buffer.concat([
    Buffer.from('Content-Disposition: form-data; name="file"; filename="'),
    filename,
    Buffer.from('"\r\nContent-Type: video/mp4'),
  ])
  const fields =
    title.length === 0 ? [] : [part(`--b\r\nContent-Disposition: form-data; name="title"${more}`, title, '\r\n')]
  return Buffer.concat([...fields, Buffer.from('--b\r\n'), part(file, `bytes of ${filename}`, '\r\n--b--\r\n')])
}

const MULTIPART = 'multipart/form-data; boundary=b'
const broken = Buffer.from('caf\xe9', 'latin1')
const whole = Buffer.from('Café Übung')

test.each([
  ['a form’s field', MULTIPART, form(broken, Buffer.from('a.mp4')), 'title: is not UTF-8'],
  [
    'a form’s field with a charset',
    MULTIPART,
    form(broken, Buffer.from('a.mp4'), '\r\nContent-Type: text/plain; charset=utf-8'),
    'title: is not UTF-8',
  ],
  ['the name of a file', MULTIPART, form(whole, broken), 'file: its name is not UTF-8'],
  [
    'JSON',
    'application/json',
    Buffer.concat([Buffer.from('{"url":"https://cdn.acme.com/a.mp4","title":"'), broken, Buffer.from('"}')]),
    'The request body is not UTF-8',
  ],
])('broken bytes in %s are 400, and the answer says what is allowed', async (_, type, body, message) => {
  const { status, json } = await post(type, body)
  expect([status, json.message]).toEqual([400, expect.stringContaining(message)])
  const { rows } = await service.stores.db.$client.query('select from videos')
  expect(rows).toEqual([])
})

test.each([
  ['a field', '', 'unknown field'],
  ['a file', '; filename="a.mp4"', 'the file goes into the field "file"'],
])('%s of a form without a name is told so', async (_, more, message) => {
  const body = `--b\r\nContent-Disposition: form-data${more}\r\n\r\nx\r\n--b--\r\n`
  const { status, json } = await post(MULTIPART, Buffer.from(body))
  expect([status, json.message]).toEqual([400, expect.stringContaining(message)])
  expect(json.message).toContain('no name')
})

test('a body too large by its declared length is refused before it is sent', async () => {
  for (const path of ['/api/boards', '/api/videos', '/api/mcp']) {
    const socket = connect(service.api.port, '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.operatorKey}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 9007199254740993\r\n\r\n{}',
    )
    const [answer] = await once(socket, 'data')
    expect(String(answer), path).toMatch(/^HTTP\/1\.1 413 .*oo large/s)
    socket.destroy()
  }
})

test('a title and the name of a file may hold any letter', async () => {
  const { json } = await post(MULTIPART, form(whole, Buffer.from('a.mp4')))
  expect(json.video.title).toBe('Café Übung')
  const named = await post(MULTIPART, form(Buffer.alloc(0), Buffer.from('Ролик про кофе.mp4')))
  expect(named.json.video.title).toBe('Ролик про кофе')
})
