import type { Request, Response } from 'express'
import { AppError, notFound } from '../errors.ts'
import { endpoint } from '../http/endpoint.ts'
import { isAny, isNoneMatchMet } from '../http/response-body.ts'
import { toImageKey } from '../media/image-name.ts'
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
      const isCurrent = isNoneMatchMet(req.headers['if-none-match'], etag)
      // `*` asks whether there is an image at all.
      const image = isCurrent && !isAny(req.headers['if-none-match']) ? undefined : await readImage(key)
      if (!image && (!isCurrent || isAny(req.headers['if-none-match']))) throw notFound('image')
      const part = isCurrent || !image ? undefined : partOf(req, etag, image.length)
      if (part === 'outside') refuseRange(res, image!.length)
      res.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
      res.setHeader('ETag', etag)
      res.setHeader('Access-Control-Allow-Origin', '*')
      res.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
      res.setHeader('Accept-Ranges', 'bytes')
      if (isCurrent) res.status(304).end()
      else sendImage(req, res, image!, part)
      return undefined
    },
  ),
]

type Part = { start: number; end: number }

function sendImage(req: Request, res: Response, image: Buffer, part: Part | undefined): void {
  const { start, end } = part ?? { start: 0, end: image.length - 1 }
  if (part) res.status(206).setHeader('Content-Range', `bytes ${start}-${end}/${image.length}`)
  res.setHeader('Content-Type', 'image/webp')
  res.setHeader('Content-Length', end + 1 - start)
  res.end(req.method === 'HEAD' ? undefined : image.subarray(start, end + 1))
}

function refuseRange(res: Response, size: number): never {
  res.setHeader('Content-Range', `bytes */${size}`)
  throw new AppError('range_not_satisfiable', `Range: the image has ${size} bytes. Ask for some of them.`)
}

/**
 * The bytes that Range asks for. Undefined means the whole image: for several parts, an unknown unit or form, and when
 * If-Range names another image (RFC 9110, 13.1.5 and 14.2).
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
