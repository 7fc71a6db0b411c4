import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { useService } from '../support/service.ts'

/** Bodies of POST /api/videos: what is refused, and that nothing is left of it. */

const service = useService({ env: { MAX_UPLOAD_MB: '1' } })

async function post(body: BodyInit | undefined, type?: string) {
  const answer = await fetch(`${service.url}/api/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.operatorKey}`, ...(type ? { 'content-type': type } : {}) },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  })
  const json = (await answer.json()) as { code?: string; message: string; video: { id: string; title: string } }
  return { status: answer.status, ...json }
}

/** Every file the store holds of uploads, finished or not. */
async function stored(): Promise<string[]> {
  const entries = await readdir(service.config.dataDir, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && join(entry.parentPath, entry.name).includes('uploads'))
    .map((entry) => entry.name)
}
const queued = async (): Promise<number> =>
  (await service.stores.db.$client.query('select count(*)::int as n from videos')).rows[0].n

/** A form as clients of today write it. */
function form(...fields: [name: string, value: string | File][]): FormData {
  const made = new FormData()
  for (const [name, value] of fields) made.append(name, value)
  return made
}
const film = (bytes: BlobPart = 'x', name = 'x.mp4') => new File([bytes], name)

/** A form byte by byte: parts by their headers, which may hold anything. */
const parts = (...all: [headers: string | Buffer, value: string | Buffer][]) =>
  new Uint8Array(
    Buffer.concat([
      ...all.flatMap(([headers, value]) =>
        ['--b\r\nContent-Disposition: form-data', headers, '\r\n\r\n', value, '\r\n'].map((part) => Buffer.from(part)),
      ),
      Buffer.from('--b--\r\n'),
    ]),
  )
const MULTIPART = 'multipart/form-data; boundary=b'
const BROKEN = Buffer.from('caf\xe9', 'latin1')
const FILE: [string, string] = ['; name="file"; filename="a.mp4"', 'bytes']
const named = (name: Buffer): [Buffer, string] => [
  Buffer.concat([Buffer.from('; name="file"; filename="'), name, Buffer.from('"')]),
  `bytes of ${name}`,
]

const CODES: Record<number, string> = {
  400: 'invalid_request',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
}
const youtube = 'https://youtu.be/dQw4w9WgXcQ'
type Refused = [what: string, status: number, body: BodyInit | undefined, type?: string, says?: string]
const REFUSED: Refused[] = [
  ...['text/plain', 'image/png', 'application/x-www-form-urlencoded', 'application/json; charset=latin1'].map(
    (type): Refused => [type, 415, 'what is this', type],
  ),
  ['no body at all', 415, undefined],
  ...['', '; boundary=', '; boundary=x'].map(
    (more): Refused => [`no form: ${more}`, 400, 'what is this', `multipart/form-data${more}`],
  ),
  ['an empty file', 400, new Uint8Array(0), 'video/mp4'],
  ['an empty file in a form', 400, form(['file', film('')])],
  ['no file', 400, form(['title', 'x'])],
  ['an unknown field', 400, form(['file', film()], ['colour', 'red'])],
  ['a bad platform', 400, form(['file', film()], ['platform', 'tiktok'])],
  ['the file in another field', 400, form(['video', film()])],
  ['two files', 400, form(['file', film()], ['file', film('two')])],
  ['a title too long', 400, form(['file', film()], ['title', 'x'.repeat(301)])],
  ['a title twice', 400, form(['title', 'one'], ['title', 'two']), undefined, 'title: may be given once'],
  ['a text for the file', 400, form(['file', 'x']), undefined, 'file: must be a file with a name, not a text'],
  ['half a form', 400, '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf', MULTIPART],
  ['a field without a name', 400, parts(['', 'x']), MULTIPART, 'unknown field'],
  ['a file without a name', 400, parts(['; filename="a.mp4"', 'x']), MULTIPART, 'no name'],
  ['broken bytes in a field', 400, parts(['; name="title"', BROKEN], FILE), MULTIPART, 'title: is not UTF-8'],
  [
    'broken bytes in a field with a charset',
    400,
    parts(['; name="title"\r\nContent-Type: text/plain; charset=utf-8', BROKEN], FILE),
    MULTIPART,
    'title: is not UTF-8',
  ],
  ['broken bytes in the name of a file', 400, parts(named(BROKEN)), MULTIPART, 'file: its name is not UTF-8'],
  ['a file too large', 413, form(['file', film(new Uint8Array(1024 * 1024 + 1))])],
  ['a file too large, without a length', 413, new Blob([new Uint8Array(1_120_000)]).stream(), 'video/mp4'],
  ...[
    ...['file:///etc/passwd', 'http://127.0.0.1/x.mp4', 'https://localhost/x.mp4', 'https://[::1]/x.mp4'],
    ...['https://169.254.169.254/latest', 'javascript:alert(1)'],
  ].map((url): Refused => [url, 400, JSON.stringify({ url }), 'application/json']),
  ['a bad priority', 400, JSON.stringify({ url: youtube, priority: -1 }), 'application/json'],
  ['an unknown member', 400, JSON.stringify({ url: youtube, path: '/etc/passwd' }), 'application/json'],
  ['a prototype', 400, '{"__proto__":{"url":"x"}}', 'application/json'],
  ['deep JSON', 400, '['.repeat(30_000), 'application/json'],
  ['no JSON', 400, 'what is this', 'application/json'],
  [
    'broken bytes in JSON',
    400,
    new Uint8Array(Buffer.concat([Buffer.from(`{"url":"${youtube}","title":"`), BROKEN, Buffer.from('"}')])),
    'application/json',
    'The request body is not UTF-8',
  ],
]

test.each(REFUSED)('refused, and nothing is left of it: %s is %i', async (_, status, body, type, says = '') => {
  const { code, message, ...answer } = await post(body, type)
  expect([answer.status, code, message]).toEqual([status, CODES[status], expect.stringContaining(says)])
  await expect.poll(stored).toEqual([])
  expect(await queued()).toBe(0)
})

test.each(['nope=1', 'platform=tiktok', `title=${'x'.repeat(301)}`, 'backfill=maybe', 'title=a&title=b'])(
  'a bad parameter of a file is refused, and nothing is left of it: %s',
  async (query) => {
    expect((await service.upload(Buffer.from('bytes'), `?${query}`)).status).toBe(400)
    const body = { url: 'https://example.com/film.mp4' }
    expect((await service.call('POST', `/api/videos?${query}`, body)).status).toBe(400)
    await expect.poll(stored).toEqual([])
    expect(await queued()).toBe(0)
  },
)

test.each([
  ['/api/boards', 'application/json', '9007199254740993'],
  ['/api/mcp', 'application/json', '9007199254740993'],
  ['/api/videos', 'application/json', '9007199254740993'],
  ['/api/videos', 'video/mp4', '99999999'],
])('a body too large by its declared length is refused before it is sent: %s as %s', async (path, type, length) => {
  const socket = connect(service.api.port, '127.0.0.1')
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.operatorKey}\r\n` +
      `Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
  )
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 .*(oo large|larger than)/s)
  socket.destroy()
  expect(await stored()).toEqual([])
})

test.each([
  ['its fields are taken', 'title', 'Behind the file', 202],
  ['an unknown one is 400 and leaves nothing', 'colour', 'red', 400],
])('a form whose fields come long after its file: %s', async (_, name, value, status) => {
  const before = await queued()
  const socket = connect(service.api.port, '127.0.0.1')
  const answer = text(socket)
  socket.write(
    `POST /api/videos HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${service.operatorKey}\r\n` +
      `Transfer-Encoding: chunked\r\nContent-Type: ${MULTIPART}\r\n\r\n`,
  )
  const write = (chunk: string) => socket.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
  write(`--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n${value}\r\n--b\r\n`)
  // The file has ended and is stored under its own name.
  await expect.poll(async () => (await stored()).filter((name) => /^[0-9a-f]{32}$/.test(name))).toHaveLength(1)
  write(`Content-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`)
  socket.write('0\r\n\r\n')
  expect(await answer).toContain(`HTTP/1.1 ${status} `)
  // The form was accepted once, with all its fields, or not at all: never at the end of its file.
  expect(await queued()).toBe(before + (status === 202 ? 1 : 0))
  const { rows } = await service.stores.db.$client.query('select id from videos where title = $1', [value])
  expect(rows).toHaveLength(status === 202 ? 1 : 0)
  for (const { id } of rows) await service.call('DELETE', `/api/videos/${id}`)
  await expect.poll(stored).toEqual([])
})

test.each([
  ['raw', `Content-Type: video/mp4\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(100_000)}`],
  ['chunked', `Content-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n${'x'.repeat(100_000)}\r\n`],
  [
    'form',
    `Content-Type: ${MULTIPART}\r\nContent-Length: 500000\r\n\r\n--b\r\n` +
      `Content-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n${'x'.repeat(100_000)}`,
  ],
])('an upload that breaks off (%s) leaves nothing behind', async (_, rest) => {
  const before = await queued()
  const socket = connect(service.api.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`POST /api/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.operatorKey}\r\n${rest}`)
  // It has begun: part of it is in the store.
  await expect.poll(stored).toHaveLength(1)
  socket.destroy()
  await expect.poll(stored).toEqual([])
  expect(await queued()).toBe(before)
})

test('a title and the name of a file may hold any letter', async () => {
  const title = Buffer.from('Café Übung')
  expect((await post(parts(['; name="title"', title], FILE), MULTIPART)).video.title).toBe('Café Übung')
  const { video } = await post(parts(named(Buffer.from('Ролик про кофе.mp4'))), MULTIPART)
  expect(video.title).toBe('Ролик про кофе')
})

test('what is no video fails with a stable code and a sentence, and the worker lives on', async () => {
  for (const words of ['This is a text file.', 'Another text file.']) {
    const { id } = await service.upload(Buffer.from(words.repeat(50)), '?filename=film.mp4')
    await service.drain()
    const { json } = await service.call('GET', `/api/videos/${id}/status`)
    const message = expect.stringMatching(/^(?!.*(ffmpeg|\/tmp|Error:))[A-Z].*\.$/)
    expect(json.video).toMatchObject({ status: 'failed', failure: { code: 'not_a_video', message } })
    // None of it is public.
    expect((await service.get(`/api/videos/${id}`)).status).toBe(404)
  }
})
