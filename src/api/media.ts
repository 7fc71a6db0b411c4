import { notFound } from '../errors.ts'
import { endpoint } from '../http/endpoint.ts'
import { toImageKey } from '../media/image-name.ts'

export interface MediaDeps {
  readImage: (key: string) => Promise<Buffer | undefined>
}

export const mediaEndpoints = [
  endpoint(
    {
      id: 'getImage',
      method: 'get',
      path: '/media/:name',
      tag: 'Library',
      summary: 'An image of a frame; the image behind a name never changes',
      answer: 'image/webp',
      errors: [404],
      cached: true,
      cost: { budget: 'media' },
    },
    async ({ readImage }: MediaDeps, { params: { name }, req, res }) => {
      const key = toImageKey(name)
      if (!key) throw notFound('image')
      const isUnchanged = req.headers['if-none-match'] === `"${name}"`
      const image = isUnchanged ? undefined : await readImage(key)
      if (!isUnchanged && !image) throw notFound('image')
      res.set({
        'Cache-Control': 'public, max-age=31536000, immutable',
        ETag: `"${name}"`,
        'Access-Control-Allow-Origin': '*',
        'Cross-Origin-Resource-Policy': 'cross-origin',
        'X-Content-Type-Options': 'nosniff',
      })
      if (isUnchanged) res.status(304).end()
      else res.type('image/webp').send(image)
      return undefined
    },
  ),
]
