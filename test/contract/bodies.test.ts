import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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

describe('uploads', () => {
  let service: Service
  const auth = () => ({ authorization: `Bearer ${service.operatorKey}` })
  beforeAll(async () => {
    service = await openService({ env: { MAX_UPLOAD_MB: '1' } })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  /** Every file the store holds of uploads, finished or not. */
  async function stored(): Promise<string[]> {
    const entries = await readdir(service.config.dataDir, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile() && join(entry.parentPath, entry.name).includes('uploads'))
      .map((entry) => entry.name)
  }
  const queued = async (): Promise<number> =>
    (await service.stores.db.$client.query('select count(*)::int as n from videos')).rows[0].n
  const video = async (id: string) => (await service.call('GET', `/api/videos/${id}/status`)).json.video

  test.each([
    ['text/plain', 415, 'unsupported_media_type'],
    ['image/png', 415, 'unsupported_media_type'],
    ['application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['multipart/form-data', 400, 'invalid_request'],
    ['multipart/form-data; boundary=', 400, 'invalid_request'],
    ['multipart/form-data; boundary=x', 400, 'invalid_request'],
    ['application/json', 400, 'invalid_request'],
    ['application/json; charset=latin1', 415, 'unsupported_media_type'],
  ])('a body of type %s is %i', async (type, status, code) => {
    const before = await stored()
    const answer = await fetch(`${service.url}/api/videos`, {
      method: 'POST',
      headers: { ...auth(), 'content-type': type },
      body: 'what is this',
    })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([status, code])
    expect(await stored()).toEqual(before)
  })

  test('no body at all is 415', async () => {
    const answer = await fetch(`${service.url}/api/videos`, { method: 'POST', headers: auth() })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([415, 'unsupported_media_type'])
  })

  test('a file too large by its declared length is 413 before it is read', async () => {
    const status = await new Promise<string>((resolve, reject) => {
      const socket = connect(service.api.port, '127.0.0.1', () =>
        socket.write(
          `POST /api/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.operatorKey}\r\n` +
            'Content-Type: video/mp4\r\nContent-Length: 99999999\r\n\r\n',
        ),
      )
      socket.once('data', (chunk) => {
        resolve(String(chunk).split('\r\n')[0]!)
        socket.destroy()
      })
      socket.on('error', reject)
    })
    expect(status).toContain('413')
    expect(await stored()).toEqual([])
  })

  test.each(['video/mp4', 'form'])(
    'a file that turns out too large on its way (%s) is 413 and leaves nothing',
    async (kind) => {
      const big = new Blob([new Uint8Array(1024 * 1024 + 70 * 1024)])
      const answer =
        kind === 'form'
          ? await fetch(`${service.url}/api/videos`, {
              method: 'POST',
              headers: auth(),
              body: toForm({ file: new File([new Uint8Array(1024 * 1024 + 1)], 'a.mp4') }),
            })
          : await fetch(`${service.url}/api/videos`, {
              method: 'POST',
              headers: { ...auth(), 'content-type': kind },
              body: big.stream(),
              duplex: 'half',
            } as RequestInit)
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([413, 'payload_too_large'])
      await expect.poll(stored).toEqual([])
    },
  )

  test.each([
    ['its fields are taken', 'title', 'Behind the file', 202],
    ['an unknown one is 400 and leaves nothing', 'colour', 'red', 400],
  ])('a form whose fields come long after its file: %s', async (_, name, value, status) => {
    const before = await queued()
    const socket = connect(service.api.port, '127.0.0.1')
    const answer = text(socket)
    socket.write(
      `POST /api/videos HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${service.operatorKey}\r\n` +
        `Transfer-Encoding: chunked\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\n\r\n`,
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

  test('an empty file is 400', async () => {
    for (const body of [new Uint8Array(0), toForm({ file: new File([], 'empty.mp4') })]) {
      const headers = body instanceof FormData ? auth() : { ...auth(), 'content-type': 'video/mp4' }
      const answer = await fetch(`${service.url}/api/videos`, { method: 'POST', headers, body })
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'invalid_request'])
    }
    expect(await stored()).toEqual([])
  })

  test.each([
    ['no file', { title: 'x' }],
    ['an unknown field', { file: new File(['x'], 'x.mp4'), colour: 'red' }],
    ['a bad platform', { file: new File(['x'], 'x.mp4'), platform: 'tiktok' }],
    ['the file in another field', { video: new File(['x'], 'x.mp4') }],
    ['a title too long', { file: new File(['x'], 'x.mp4'), title: 'x'.repeat(301) }],
  ])('a form with %s is 400 and leaves nothing', async (_, fields) => {
    const answer = await fetch(`${service.url}/api/videos`, {
      method: 'POST',
      headers: auth(),
      body: toForm(fields as unknown as Record<string, string | File>),
    })
    const json = (await answer.json()) as { code: string }
    expect([answer.status, json.code]).toEqual([400, 'invalid_request'])
    await expect.poll(stored).toEqual([])
  })

  test('a field given twice is named, and one for the file that is a text', async () => {
    const form = toForm({ title: 'one' })
    form.append('title', 'two')
    const said: unknown[] = []
    for (const body of [form, toForm({ file: 'x.mp4' })]) {
      const answer = await fetch(`${service.url}/api/videos`, { method: 'POST', headers: auth(), body })
      said.push(((await answer.json()) as { message: string }).message)
    }
    expect(said).toEqual(['title: may be given once', 'file: must be a file with a name, not a text'])
  })

  test('two files in one form are 400', async () => {
    const form = toForm({ file: new File(['one'], 'a.mp4') })
    form.append('file', new File(['two'], 'b.mp4'))
    const answer = await fetch(`${service.url}/api/videos`, { method: 'POST', headers: auth(), body: form })
    expect(answer.status).toBe(400)
    await expect.poll(stored).toEqual([])
  })

  test.each([
    ['raw', `Content-Type: video/mp4\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(100_000)}`],
    ['chunked', `Content-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n${'x'.repeat(100_000)}\r\n`],
    [
      'form',
      `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 500000\r\n\r\n--b\r\n` +
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

  test('a form that ends in the middle is 400 and leaves nothing', async () => {
    const body = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\nhalf of it'
    const answer = await fetch(`${service.url}/api/videos`, {
      method: 'POST',
      headers: { ...auth(), 'content-type': 'multipart/form-data; boundary=b' },
      body,
    })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'invalid_request'])
    await expect.poll(stored).toEqual([])
  })

  test.each([
    ['{"url":"file:///etc/passwd"}'],
    ['{"url":"http://127.0.0.1/x.mp4"}'],
    ['{"url":"https://localhost/x.mp4"}'],
    ['{"url":"https://[::1]/x.mp4"}'],
    ['{"url":"https://169.254.169.254/latest"}'],
    ['{"url":"javascript:alert(1)"}'],
    ['{"url":"https://youtu.be/dQw4w9WgXcQ","priority":-1}'],
    ['{"url":"https://youtu.be/dQw4w9WgXcQ","path":"/etc/passwd"}'],
    ['{"__proto__":{"url":"x"}}'],
    ['['.repeat(30_000)],
  ])('JSON that names no video we may fetch is 400: %s', async (body) => {
    const answer = await fetch(`${service.url}/api/videos`, {
      method: 'POST',
      headers: { ...auth(), 'content-type': 'application/json' },
      body,
    })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'invalid_request'])
  })

  test('what is no video fails with a stable code and a sentence, and the worker lives on', async () => {
    const sample = await readFile(new URL('../../samples/relay-launch.mp4', import.meta.url))
    const text = await service.upload(
      Buffer.from('This is a text file that somebody called film.mp4.\n'.repeat(20)),
      '?filename=film.mp4',
    )
    const truncated = await service.upload(sample.subarray(0, 20_000), '?filename=cut.mp4')
    const sound = await service.upload(await silence(), '?filename=sound.mp4')
    expect([text.status, truncated.status, sound.status]).toEqual([202, 202, 202])
    await service.drain()
    const failures = await Promise.all(
      [text, truncated, sound].map(
        async ({ id }) => (await video(id)) as { status: string; failure: { code: string; message: string } },
      ),
    )
    for (const { status, failure } of failures) {
      expect(status).toBe('failed')
      expect(failure.code).toMatch(/^[a-z_]+$/)
      expect(failure.message).toMatch(/^[A-Z].*\.$/)
      expect(failure.message).not.toMatch(/ffmpeg|\/tmp|Error:/i)
    }
    expect(failures[2]!.failure.code).toBe('no_video_stream')
    // None of it is public, and the next job is worked on.
    for (const { id } of [text, truncated, sound]) expect((await service.get(`/api/videos/${id}`)).status).toBe(404)
    const again = await service.upload(Buffer.from('Another text file.'), '?filename=b.mp4')
    await service.drain()
    expect((await video(again.id)).status).toBe('failed')
  })
})

function toForm(fields: Record<string, string | File>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

/** One second of silence as an MP4. */
function silence(): Promise<Buffer> {
  const args = '-v error -f lavfi -i anullsrc -t 1 -c:a aac -movflags frag_keyframe+empty_moov -f mp4 -'.split(' ')
  return promisify(execFile)('ffmpeg', args, { encoding: 'buffer' }).then(({ stdout }) => stdout)
}
