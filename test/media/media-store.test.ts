import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { isConnectionLoss } from '../../src/db/client.ts'
import { openDiskStore, StorageFull } from '../../src/media/disk-store.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openS3Store } from '../../src/media/s3-store.ts'
import { S3_KEY, startS3 } from '../support/bucket.ts'
import { useOpened } from '../support/closing.ts'
import { useFolder } from '../support/folder.ts'
import { listenOn } from '../support/listening.ts'

const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function keys(store: MediaStore, prefix: string): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of store.list(prefix)) found.push(key)
  return found.sort()
}

/** The contract of both stores. */
function contract(open: () => MediaStore, leftovers: () => Promise<string[]>) {
  let store: MediaStore
  beforeAll(() => {
    store = open()
  })

  test('what was put is got, whole and as a stream; a repeat replaces', async () => {
    const first = randomBytes(50_000)
    expect(await store.put('frames/aaa/1-abcdef01.webp', first, 'image/webp')).toEqual({ bytes: 50_000 })
    expect((await store.get('frames/aaa/1-abcdef01.webp'))?.equals(first)).toBe(true)
    expect(await store.stat('frames/aaa/1-abcdef01.webp')).toEqual({ bytes: 50_000 })
    const second = randomBytes(10)
    await store.put('frames/aaa/1-abcdef01.webp', second, 'image/webp')
    expect((await readAll((await store.open('frames/aaa/1-abcdef01.webp'))!)).equals(second)).toBe(true)
  })

  test('what is not there is undefined, and deleting it is no error', async () => {
    expect(await store.get('frames/absent/x.webp')).toBeUndefined()
    expect(await store.open('frames/absent/x.webp')).toBeUndefined()
    expect(await store.stat('frames/absent/x.webp')).toBeUndefined()
    await store.delete('frames/absent/x.webp')
    await store.deletePrefix('frames/absent/')
    expect(await keys(store, 'frames/absent/')).toEqual([])
  })

  test('a stream of unknown length, larger than one part, goes through unchanged', async () => {
    const block = randomBytes(1_000_003)
    const body = Readable.from(
      (function* () {
        for (let i = 0; i < 20; i++) yield block
      })(),
      { objectMode: false },
    )
    expect(await store.put('uploads/large', body, 'video/mp4')).toEqual({ bytes: 20_000_060 })
    expect(await store.stat('uploads/large')).toEqual({ bytes: 20_000_060 })
    expect(sha(await readAll((await store.open('uploads/large'))!))).toBe(
      sha(Buffer.concat(Array.from({ length: 20 }, () => block))),
    )
    await store.put('uploads/empty', Readable.from([], { objectMode: false }), 'video/mp4')
    expect(await store.stat('uploads/empty')).toEqual({ bytes: 0 })
  })

  test('a body beyond the limit is refused and leaves nothing', async () => {
    const endless = () => Readable.from(forever(), { objectMode: false })
    await expect(
      store.put('uploads/too-large', endless(), 'video/mp4', { maxBytes: 12_000_000 }),
    ).rejects.toMatchObject({
      code: 'payload_too_large',
    })
    await expect(store.put('uploads/too-large', Buffer.alloc(11), 'video/mp4', { maxBytes: 10 })).rejects.toMatchObject(
      {
        code: 'payload_too_large',
      },
    )
    expect(await store.stat('uploads/too-large')).toBeUndefined()
    expect(await leftovers()).toEqual([])
  })

  test('a body that breaks off leaves what was there before', async () => {
    await store.put('uploads/kept', Buffer.from('before'), 'video/mp4')
    const broken = Readable.from(breaksOff(), { objectMode: false })
    await expect(store.put('uploads/kept', broken, 'video/mp4')).rejects.toThrow('line cut')
    expect((await store.get('uploads/kept'))?.toString()).toBe('before')
    expect(await leftovers()).toEqual([])
  })

  test('lists and deletes by folder, not by letters', async () => {
    for (const key of ['frames/abc/1.webp', 'frames/abc/2.webp', 'frames/abcd/1.webp', 'frames/b/1.webp'])
      await store.put(key, Buffer.from(key), 'image/webp')
    expect(await keys(store, 'frames/abc/')).toEqual(['frames/abc/1.webp', 'frames/abc/2.webp'])
    expect(await keys(store, 'frames/ab')).toEqual(['frames/abc/1.webp', 'frames/abc/2.webp', 'frames/abcd/1.webp'])
    for await (const entry of store.list('frames/abc/'))
      expect(entry).toMatchObject({ bytes: 17, modifiedAt: expect.any(Date) })
    await store.deletePrefix('frames/abc/')
    expect(await keys(store, 'frames/ab')).toEqual(['frames/abcd/1.webp'])
    await expect(store.deletePrefix('frames/ab')).rejects.toThrow()
  })

  test.each([
    '',
    '/',
    '../x',
    'frames/../../etc/passwd',
    '/etc/passwd',
    'frames//x',
    'frames/.hidden',
    'frames/a\u0000b',
    'frames\\x',
    'frames/a b',
    'frames/%2e%2e/x',
    'frames/..',
    'C:/x',
    'frames/x/',
    'a'.repeat(400),
  ])('a key that is none of ours is refused: %j', async (key) => {
    await expect(Promise.resolve().then(() => store.put(key, Buffer.from('x'), 'image/webp'))).rejects.toThrow(
      'bad storage key',
    )
    await expect(Promise.resolve().then(() => store.get(key))).rejects.toThrow('bad storage key')
    await expect(Promise.resolve().then(() => store.delete(key))).rejects.toThrow('bad storage key')
    await expect(Promise.resolve().then(() => store.deletePrefix(`${key}/`))).rejects.toThrow()
  })
}

function* forever() {
  const block = Buffer.alloc(1_000_000, 3)
  while (true) yield block
}

function* breaksOff() {
  for (let i = 0; i < 12; i++) yield Buffer.alloc(1_000_000, 4)
  throw new Error('line cut')
}

const root = useFolder()

describe('on disk', () => {
  contract(
    () => openDiskStore(join(root, 'disk')),
    async () =>
      readdirSync(join(root, 'disk'), { recursive: true })
        .map(String)
        .filter((name) => name.endsWith('.part')),
  )

  test('two that put the same key at once leave one of the two, whole', async () => {
    const store = openDiskStore(join(root, 'disk'))
    const [a, b] = [Buffer.alloc(300_000, 1), Buffer.alloc(200_000, 2)]
    await Promise.all([
      store.put('frames/race/1.webp', a, 'image/webp'),
      store.put('frames/race/1.webp', b, 'image/webp'),
    ])
    const got = (await store.get('frames/race/1.webp'))!
    expect(got.equals(a) || got.equals(b)).toBe(true)
  })

  test('nothing outside the folder is listed or reached', async () => {
    writeFileSync(join(root, 'secret.txt'), 'no')
    const store = openDiskStore(join(root, 'disk'))
    expect((await keys(store, '')).some((key) => key.includes('secret'))).toBe(false)
  })
})

describe('in an S3 bucket', () => {
  const bucket = 'frames'
  const s3 = useOpened(() => startS3({ buckets: [bucket] }))
  let endpoint: string
  beforeAll(async () => {
    ;({ endpoint } = s3)
  })

  contract(
    () => openS3Store({ endpoint, bucket, region: 'us-east-1', ...S3_KEY }),
    // This server cannot abort a multipart upload, so its leftovers are not checked here.
    async () => [],
  )

  test('a wrong key or a missing bucket is an error, not an absence', async () => {
    const wrong = openS3Store({ endpoint, bucket, region: 'us-east-1', accessKey: 'NOBODY', secretKey: 'wrong' })
    await expect(wrong.get('frames/b/1.webp')).rejects.toThrow()
    const missing = openS3Store({ endpoint, bucket: 'absent', region: 'us-east-1', ...S3_KEY })
    await expect(missing.put('frames/b/1.webp', Buffer.from('x'), 'image/webp')).rejects.toThrow()
  })
})

describe('a bucket that is away', () => {
  /** So long a store waits for a server that is silent. One that answers may be slow on a busy machine. */
  const SHORT_MS = 100
  /** The outcome of each operation on a store whose server behaves like this. */
  async function failuresOf(answer: RequestListener, idleTimeoutMs?: number): Promise<unknown[]> {
    await using server = await listenOn(createServer(answer))
    const endpoint = server.url
    const given = { endpoint, bucket: 'frames', region: 'us-east-1', accessKey: 'a', secretKey: 'b' }
    const store = openS3Store({ ...given, ...(idleTimeoutMs ? { idleTimeoutMs } : {}) })
    const acts = [
      () => store.get('frames/b/1.webp'),
      async () => readAll((await store.open('frames/b/1.webp'))!),
      () => store.stat('frames/b/1.webp'),
      () => store.put('frames/b/1.webp', Buffer.from('x'), 'image/webp'),
      () => store.put('uploads/b', Readable.from([Buffer.from('x')], { objectMode: false }), 'video/mp4'),
      () => keys(store, 'frames/b/'),
    ]
    return await Promise.all(
      acts.map((act) =>
        act().then(
          () => 'no failure',
          (error: unknown) => error,
        ),
      ),
    )
  }

  test.each<[string, RequestListener, number?]>([
    ['unavailable', (_, res) => res.writeHead(503).end('<html>unavailable</html>')],
    ['overloaded', (_, res) => res.writeHead(429).end()],
    [
      'broken',
      (_, res) => res.writeHead(500).end('<Error><Code>InternalError</Code><Message>try again</Message></Error>'),
    ],
    ['silent', () => undefined, SHORT_MS],
  ])('%s: every act ends as an outage', async (_, answer, idle) => {
    for (const failure of await failuresOf(answer, idle)) expect(isConnectionLoss(failure), String(failure)).toBe(true)
  })

  const named = (status: number, code: string): RequestListener => {
    return (_, res) => res.writeHead(status).end(`<Error><Code>${code}</Code><Message>full</Message></Error>`)
  }
  test.each<[string, RequestListener]>([
    ['507', (_, res) => res.writeHead(507).end()],
    ['of MinIO', named(507, 'XMinioStorageFull')],
    ['by its quota', named(403, 'QuotaExceeded')],
  ])('full %s: what is added is refused with what to do', async (_, answer) => {
    const [, , , image, upload] = await failuresOf(answer)
    for (const failure of [image, upload]) {
      expect(failure).toBeInstanceOf(StorageFull)
      expect((failure as Error).message).toMatch(/The bucket of the library is full.*Free some space/)
    }
  })

  test('silent in the middle of an image: reading it ends as an outage', async () => {
    const half: RequestListener = (_, res) => res.writeHead(200, { 'Content-Length': '100' }).write('half')
    const [got, opened] = await failuresOf(half, SHORT_MS)
    for (const failure of [got, opened]) expect(isConnectionLoss(failure), String(failure)).toBe(true)
  })

  test('many films whose readers stand still hold up no image', async () => {
    let readers = 0
    await using server = await listenOn(
      createServer(({ url }, res) => {
        if (!url!.includes('uploads')) return void res.end('image')
        readers++
        res.writeHead(200, { 'Content-Length': '100' }).write('half')
      }),
    )
    const given = { endpoint: server.url, bucket: 'frames', region: 'us-east-1', accessKey: 'a', secretKey: 'b' }
    const store = openS3Store(given)
    // Those beyond the sockets of a client wait, and fail when the server ends.
    for (let n = 0; n < 60; n++) store.open('uploads/film').catch(() => undefined)
    await expect.poll(() => readers).toBeGreaterThanOrEqual(50)
    expect(String(await store.get('frames/b/1.webp'))).toBe('image')
  })

  test('what is refused, or not implemented, is no outage', async () => {
    for (const status of [403, 501])
      for (const failure of await failuresOf((_, res) => res.writeHead(status).end())) {
        expect(failure).toBeInstanceOf(Error)
        expect(isConnectionLoss(failure), String(failure)).toBe(false)
      }
  })
})
