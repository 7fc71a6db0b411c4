import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { AppError, notFound } from '../errors.ts'
import { endpoint } from '../http/endpoint.ts'
import { isAny, isNoneMatchMet } from '../http/response-body.ts'
import { findFileKey } from '../library/videos/videos.ts'
import { toImageKey } from '../media/image-name.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { App } from './app.ts'

export const mediaEndpoints = [
  endpoint(
    {
      id: 'getImage',
      method: 'get',
      path: '/media/:name',
      tag: 'Library',
      summary: 'An image of a frame; the image behind a name never changes',
      answer: 'image/webp',
      answerHeaders: { 'Accept-Ranges': '`bytes`: `Range` is honoured' },
      ranges: true,
      errors: [404],
      cached: true,
      budget: 'media',
    },
    async ({ readImage }: App, { params: { name }, req, res }) => {
      const key = toImageKey(name)
      if (!key) throw notFound('image')
      const etag = `"${name}"`
      const condition = req.headers['if-none-match']
      // `*` asks whether there is an image at all.
      const isKnown = isNoneMatchMet(condition, etag) && !isAny(condition)
      const image = isKnown ? undefined : await readImage(key)
      if (!image && !isKnown) throw notFound('image')
      const headers = {
        'Cache-Control': 'public, max-age=31536000, immutable',
        'Access-Control-Allow-Origin': '*',
        'Cross-Origin-Resource-Policy': 'cross-origin',
      }
      const file = { etag, size: image?.length ?? 0, type: 'image/webp', headers }
      await sendFile(req, res, file, ({ start, end }) => image?.subarray(start, end + 1))
      return undefined
    },
  ),
  endpoint(
    {
      id: 'getVideoFile',
      method: 'get',
      path: '/media/videos/:id',
      tag: 'Library',
      summary: 'The file of a video',
      description: 'Only where the operator keeps the files and lets them be played (KEEP_VIDEOS); else 404.',
      answer: 'video/mp4',
      alternatives: ['video/webm', 'application/octet-stream'],
      answerHeaders: { 'Accept-Ranges': '`bytes`: `Range` is honoured' },
      ranges: true,
      errors: [404],
      cached: true,
      budget: 'media',
    },
    async (app: App, { params: { id }, req, res }) => {
      const { key, ...file } = await requireVideoFile(app, id)
      await sendFile(req, res, file, (part) => app.store.open(key, part))
      return undefined
    },
  ),
]

/** The file of a public video, where files are kept to be played. */
async function requireVideoFile({ config, db, store }: App, id: string) {
  const key = config.keepVideos ? await findFileKey(db, id) : undefined
  const file = key ? await store.stat(key) : undefined
  if (!key || !file) throw notFound('video file')
  const headers = { 'Cache-Control': 'public, max-age=300' }
  return { key, etag: `"${basename(key)}"`, size: file.bytes, type: toType(await readHead(store, key)), headers }
}

async function readHead(store: MediaStore, key: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of (await store.open(key, { start: 0, end: 11 })) ?? []) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Never one that a browser would run, whatever was uploaded. */
function toType(head: Buffer): string {
  if (head.toString('latin1', 4, 8) === 'ftyp') return 'video/mp4'
  return head.toString('hex', 0, 4) === '1a45dfa3' ? 'video/webm' : 'application/octet-stream'
}

type Part = { start: number; end: number }

interface ServedFile {
  etag: string
  size: number
  type: string
  headers: Readonly<Record<string, string>>
}

/** The file, the part of it that Range asks for, or that the reader's copy is current. */
async function sendFile(
  req: Request,
  res: Response,
  { etag, size, type, headers }: ServedFile,
  open: (part: Part) => Promise<Readable | undefined> | Buffer | undefined,
): Promise<void> {
  const isCurrent = isNoneMatchMet(req.headers['if-none-match'], etag)
  const part = isCurrent ? undefined : partOf(req, etag, size)
  if (part === 'outside') refuseRange(res, size)
  const { start, end } = part ?? { start: 0, end: size - 1 }
  const isSent = !isCurrent && req.method !== 'HEAD'
  const body = isSent ? await open({ start, end }) : undefined
  if (isSent && !body) throw notFound('file')
  res.set({ ...headers, ETag: etag, 'Accept-Ranges': 'bytes' })
  if (isCurrent) return void res.status(304).end()
  if (part) res.status(206).setHeader('Content-Range', `bytes ${start}-${end}/${size}`)
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', end + 1 - start)
  if (!body || Buffer.isBuffer(body)) return void res.end(body)
  // Players leave in the middle: they ask for another part then.
  await pipeline(body, res).catch(() => res.destroy())
}

function refuseRange(res: Response, size: number): never {
  res.setHeader('Content-Range', `bytes */${size}`)
  throw new AppError('range_not_satisfiable', `Range: the file has ${size} bytes. Ask for some of them.`)
}

/**
 * The bytes that Range asks for. Undefined means the whole file: for several parts, an unknown unit or form, and when
 * If-Range names another one (RFC 9110, 13.1.5 and 14.2).
 */
function partOf(req: Request, etag: string, size: number): Part | 'outside' | undefined {
  if (req.method !== 'GET' || req.headers.range === undefined) return undefined
  if (req.headers['if-range'] !== undefined && req.headers['if-range'] !== etag) return undefined
  // The last bytes of an image that has fewer are the whole of it (14.1.2); the parser knows none such.
  const last = Number(/^bytes=-(\d+)$/.exec(req.headers.range)?.[1] ?? 0)
  if (last > size && size > 0) return { start: 0, end: size - 1 }
  const ranges = req.range(size, { combine: true })
  if (ranges === -1) return req.headers.range.startsWith('bytes=') ? 'outside' : undefined
  if (ranges === undefined || ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined
  return ranges[0]!
}
