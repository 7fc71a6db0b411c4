import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import express from 'express'
import { imageKeysOf, imageNamesOf } from '../src/media/image-name.ts'
import { openMediaStore } from '../src/media/open-store.ts'
import type { OpenApi } from '../src/server/main.ts'
import { memoryAtRest } from './support/at-rest.ts'
import { type About, optionsOf } from './support/bench.ts'
import { compareLoads, type Loads, openBare } from './support/http-load.ts'
import { configOf, openServed, openStores, type Settings, serveApi } from './support/service.ts'

const PATHS = { wall: '/api/frames', search: '/api/search?q=dark' } as const

/**
 * Aims: 0.7 of the bare route for a warm read, 0.6 for a 304. `--rest 0` leaves out the memory at rest, which takes
 * three minutes. It is read after a minute without work and the minute in which the models' process ends.
 */
export const about: About = {
  measures:
    'Requests per second of warm reads over HTTP. The memory of a service that has described the samples and rests.',
  against:
    'a bare Express route that sends the same bytes with the same headers (and compares the same ETag for the 304). ' +
    'Both servers run in one child process. They take turns.',
  figures: [
    { what: 'slowest warm read ÷ bare Express', at: ['ratio'], atLeast: 0.7 },
    { what: 'image of 12 kB ÷ `sendFile`', at: ['image_ratio'], atLeast: 0.6 },
    { what: '304 ÷ bare Express', at: ['not_modified_ratio'], atLeast: 0.6 },
    { what: 'all processes at rest, with npm, PostgreSQL and Redis', at: ['at_rest_mb'], atMost: 450, unit: 'MB' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serveApi(args[1], serveBare)
  const { frames, rest, ...values } = optionsOf(args, {
    frames: 2_000,
    rounds: 7,
    seconds: 2,
    connections: 20,
    rest: 85,
  })
  const at_rest_mb = rest > 0 ? await memoryAtRest(rest) : undefined
  await using stores = await openStores('reads', { frames })
  await using served = await openServed<Bare>('reads', stores.settings, stores.db)
  const { bare, etag, image } = served.told
  const cases: Record<string, { path: string; headers?: Record<string, string> }> = {
    wall: { path: PATHS.wall },
    'wall, brotli': { path: PATHS.wall, headers: { 'accept-encoding': 'br' } },
    search: { path: PATHS.search },
    304: { path: PATHS.wall, headers: { 'if-none-match': etag } },
    image: { path: image },
  }
  const rows: Record<string, Loads> = {}
  for (const [name, request] of Object.entries(cases)) {
    const side = (url: string) => ({ url, ask: request })
    rows[name] = await compareLoads(served, { ours: side(served.url), bare: side(bare) }, values)
  }
  console.table(rows)
  return {
    bench: 'reads',
    ratio: Math.min(...['wall', 'wall, brotli', 'search'].map((name) => rows[name]!.ratio)),
    ratio_of: 'requests per second of the slowest warm read to a bare Express route that sends the same bytes',
    not_modified_ratio: rows[304]!.ratio,
    not_modified_ratio_of: 'requests per second of a 304 to a bare Express route that compares the ETag',
    image_ratio: rows.image!.ratio,
    image_ratio_of: "requests per second of an image of 12 kB to Express's sendFile of the same file",
    at_rest_mb,
    cases: rows,
  }
}

interface Bare {
  bare: string
  /** Of the wall's first page. */
  etag: string
  /** The path of an image of 12 kB. */
  image: string
}

async function serveBare(api: OpenApi, settings: Settings) {
  const app = express()
  app.disable('etag')
  let etag = ''
  for (const path of Object.values(PATHS)) {
    const answers = new Map<string, Awaited<ReturnType<typeof rawAnswer>>>()
    for (const encoding of ['identity', 'br'])
      answers.set(encoding, await rawAnswer(`http://127.0.0.1:${api.port}${path}`, encoding))
    if (path === PATHS.wall) etag = answers.get('identity')!.etag
    app.get(path.split('?')[0]!, (req, res) => {
      const { body, ...answer } = answers.get(req.headers['accept-encoding'] ?? 'identity')!
      for (const [name, value] of answer.always) res.setHeader(name, value)
      if (req.headers['if-none-match'] === answer.etag) {
        res.statusCode = 304
        res.end()
        return
      }
      for (const [name, value] of answer.ofBody) res.setHeader(name, value)
      res.end(body)
    })
  }
  const image = await putImage(settings)
  app.get(image.path, (_req, res) => res.sendFile(image.file))
  const bare = await openBare(app)
  return { told: { bare: bare.url, etag, image: image.path }, close: bare.close }
}

async function putImage(settings: Settings): Promise<{ path: string; file: string }> {
  const [id, hash] = ['benchvideo00-1a4c', '0f3c21ab'.repeat(8)]
  const { thumb } = imageKeysOf(id, hash)
  const config = configOf(settings)
  await openMediaStore(config).put(thumb, randomBytes(12_000), 'image/webp')
  return { path: `/media/${imageNamesOf(id, hash).thumb}`, file: join(config.dataDir, 'store', thumb) }
}

/** The bytes as sent, which fetch would decode, and the headers, which Node does not write by itself. */
async function rawAnswer(url: string, encoding: string) {
  const [res] = (await once(get(url, { headers: { 'accept-encoding': encoding } }), 'response')) as [IncomingMessage]
  const headers = Object.entries(res.headers as Record<string, string>)
  const ofHop = ['date', 'connection', 'keep-alive', 'transfer-encoding']
  return {
    body: Buffer.concat(await res.toArray()),
    etag: res.headers.etag!,
    always: headers.filter(([name]) => !ofHop.includes(name) && !name.startsWith('content-')),
    ofBody: headers.filter(([name]) => name.startsWith('content-')),
  }
}
