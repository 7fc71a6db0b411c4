import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'

/** Brotli's effort for bodies that a client waits for. Its default, 11, is meant for files compressed once. */
export const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

const compress = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
}
export type Encoding = keyof typeof compress

/** Smaller bodies are sent as they are. */
const COMPRESS_FROM_BYTES = 1024

/** A finished body. Each compressed form is made once, when it is first asked for, and kept with it. */
export class CompressibleBody {
  readonly bytes: Buffer
  readonly #forms: { [encoding in Encoding]?: Buffer | Promise<Buffer> } = {}

  constructor(content: string | Buffer) {
    this.bytes = typeof content === 'string' ? Buffer.from(content) : content
  }

  as(encoding: Encoding): Buffer | Promise<Buffer> {
    this.#forms[encoding] ??= compress[encoding](this.bytes).then((form) => {
      this.#forms[encoding] = form
      return form
    })
    return this.#forms[encoding]
  }
}

/** The encoding that a client prefers; undefined for a body as it is. */
export function preferredEncoding(req: Request): Encoding | undefined {
  if (!req.headers['accept-encoding']) return undefined
  const best = req.acceptsEncodings('br', 'gzip')
  return best === 'br' || best === 'gzip' ? best : undefined
}

/** `preferredEncoding` with a bounded memory of the headers seen, for warm reads: parsing one costs. */
export function encodingReader(): (req: Request) => Encoding | undefined {
  const preferences = new LRUCache<string, Encoding | 'identity'>({
    maxSize: 256 * 1024,
    sizeCalculation: (_, header) => header.length + 64,
  })
  return (req) => {
    const header = req.headers['accept-encoding'] as string | undefined
    if (!header) return undefined
    let preferred = preferences.get(header)
    if (preferred === undefined) {
      preferred = preferredEncoding(req) ?? 'identity'
      preferences.set(header, preferred)
    }
    return preferred === 'identity' ? undefined : preferred
  }
}

/** Sends a body in an encoding: at once, unless that form has to be made first. */
export function sendBody(
  req: Request,
  res: Response,
  body: CompressibleBody,
  { type, encoding }: { type: string; encoding: Encoding | undefined },
): void | Promise<void> {
  const used = body.bytes.length < COMPRESS_FROM_BYTES ? undefined : encoding
  const form = used === undefined ? body.bytes : body.as(used)
  if (form instanceof Promise) return form.then((bytes) => sendBytes(req, res, bytes, type, used))
  sendBytes(req, res, form, type, used)
}

/** Sends JSON in the encoding that the client prefers. */
export async function sendJson(req: Request, res: Response, body: CompressibleBody): Promise<void> {
  res.vary('Accept-Encoding')
  await sendBody(req, res, body, { type: 'application/json; charset=utf-8', encoding: preferredEncoding(req) })
}

function sendBytes(req: Request, res: Response, bytes: Buffer, type: string, encoding: Encoding | undefined): void {
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', bytes.length)
  if (encoding !== undefined) res.setHeader('Content-Encoding', encoding)
  res.end(req.method === 'HEAD' ? undefined : bytes)
}
