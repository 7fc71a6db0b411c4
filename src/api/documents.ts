import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type Request, type Response, Router } from 'express'
import { isMet } from '../http/etag.ts'
import type { ApiDocument } from '../http/openapi.ts'
import { readParameters } from '../parameters.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../vocabulary.ts'

/** `/openapi.json` and `/llms.txt`: what machines read about the service. Made at the first request, the same until the next release. */
export function documentsRouter({ document, publicUrl }: { document: () => ApiDocument; publicUrl: string }): Router {
  const router = Router()
  const openapi = keptText('application/json; charset=utf-8', () => JSON.stringify(document()))
  const llms = keptText('text/plain; charset=utf-8', () => describeForModels(publicUrl))
  router.get('/openapi.json', openapi)
  router.get('/llms.txt', llms)
  return router
}

function keptText(type: string, make: () => string) {
  let kept: { etag: string; identity: Buffer; br: Buffer; gzip: Buffer } | undefined
  return (req: Request, res: Response) => {
    readParameters(req.originalUrl, {})
    if (!kept) {
      const identity = Buffer.from(make())
      const br = brotliCompressSync(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
      kept = {
        etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
        identity,
        br,
        gzip: gzipSync(identity),
      }
    }
    res.set({
      ETag: kept.etag,
      'Cache-Control': 'public, max-age=300',
      Vary: 'Accept-Encoding',
      'Access-Control-Allow-Origin': '*',
    })
    if (isMet(req.headers['if-none-match'], kept.etag)) {
      res.status(304).end()
      return
    }
    const encoding = req.headers['accept-encoding'] ? req.acceptsEncodings('br', 'gzip') : false
    const body = encoding === 'br' || encoding === 'gzip' ? kept[encoding] : kept.identity
    if (body !== kept.identity) res.setHeader('Content-Encoding', encoding as string)
    res.setHeader('Content-Type', type)
    res.setHeader('Content-Length', body.length)
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

/** In the form of llmstxt.org: a title, a summary, and what to read next. */
function describeForModels(publicUrl: string): string {
  const list = (values: readonly string[]) => values.join(', ')
  return `# Frame Library

> A searchable library of video frames. Every frame is annotated with what it shows, how it was made and what is worth taking from it. Reads are open: no key, no sign-up.

Answers are JSON. Errors are \`{ code, message, details? }\` with the allowed values in \`details\`. Reads are cached for five minutes; send the ETag back as If-None-Match. Image addresses in the answers never change: cite them.

## Tools

- [MCP server](${publicUrl}/api/mcp): POST, JSON-RPC 2.0. Open tools: search_library, search_frames, browse_frames, get_video_frames, find_similar_frames, list_techniques. A Pro key (\`Authorization: Bearer flk_live_…\`) adds saves, boards and pins.

## Reads

- [Search](${publicUrl}/api/search?q=terminal): videos, frames, brands and techniques in one call. \`q\` (blank: the strongest of each; a video's URL: that video), \`limit\` (6, at most 20 per group).
- [The wall](${publicUrl}/api/frames?subject=ui&tone=dark): filter and page all frames. 120 a page, \`page\` from 1, \`hasMore\`. Filters combine: AND across, OR within one (repeat it, or commas). \`q\` searches caption, composition, steal and on-screen text.
- [A video's frames](${publicUrl}/api/videos): \`/api/videos/{id}/frames\` answers every frame of one video in time order.
- [Techniques](${publicUrl}/api/techniques): the vocabulary of named moves, for the filter \`technique\`.
- Frames like one: \`/api/frames/{id}/similar\`.

## Filters of the wall

- subject: ${list(SUBJECTS)}
- surface: ${list(SURFACES)}
- shot: ${list(SHOTS)}
- zone (where the face is): ${list(ZONES)}
- tone: ${list(TONES)}
- kind: ${list(KINDS)}
- platform: ${list(PLATFORMS)}
- technique: a slug; author: exact name; video: an id; color: a hex colour

## Reference

- [OpenAPI 3.1](${publicUrl}/openapi.json): every operation with its schemas
- [Reference for people](${publicUrl}/docs)
- [Keys](${publicUrl}/keys): for saves and boards
`
}
