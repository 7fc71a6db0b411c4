import { type RequestHandler, type Response, Router } from 'express'
import { notFound } from '../errors.ts'
import { toImageKey } from '../media/image-name.ts'

/** `/media/<frame id>-<8 hex>.webp` and `…-480.webp`: the name holds the content's hash, so what is behind it never changes. */
export function mediaRouter({
  readImage,
  limit,
}: {
  readImage: (key: string) => Promise<Buffer | undefined>
  limit: RequestHandler
}): Router {
  const router = Router()
  router.get('/media/:name', limit, async (req, res) => {
    const key = toImageKey(String(req.params.name))
    if (!key) throw notFound('image')
    if (req.headers['if-none-match'] === `"${req.params.name}"`) {
      immutable(res, String(req.params.name))
      res.status(304).end()
      return
    }
    const image = await readImage(key)
    if (!image) throw notFound('image')
    immutable(res, String(req.params.name))
    res.type('image/webp').send(image)
  })
  return router
}

function immutable(res: Response, name: string): void {
  res.set({
    'Cache-Control': 'public, max-age=31536000, immutable',
    ETag: `"${name}"`,
    'Access-Control-Allow-Origin': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'X-Content-Type-Options': 'nosniff',
  })
}
