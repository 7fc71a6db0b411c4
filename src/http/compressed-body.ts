import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, Response } from 'express'

const compress = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
}
type Encoding = keyof typeof compress

/** Smaller bodies are sent as they are. */
const COMPRESS_FROM_BYTES = 1024

/** A finished body. Its compressed forms are made when first asked for, once, and kept beside it. */
export class CompressibleBody {
  readonly bytes: Buffer
  readonly #forms: { [encoding in Encoding]?: Buffer | Promise<Buffer> } = {}

  constructor(text: string) {
    this.bytes = Buffer.from(text)
  }

  as(encoding: Encoding): Buffer | Promise<Buffer> {
    this.#forms[encoding] ??= compress[encoding](this.bytes).then((form) => {
      this.#forms[encoding] = form
      return form
    })
    return this.#forms[encoding]
  }
}

/** Sends a body in the encoding that the client prefers: at once, unless that form has to be made first. */
export function sendCompressed(
  req: Request,
  res: Response,
  body: CompressibleBody,
  type: string,
): void | Promise<void> {
  const encoding = body.bytes.length < COMPRESS_FROM_BYTES ? undefined : preferredEncoding(req)
  const form = encoding === undefined ? body.bytes : body.as(encoding)
  if (form instanceof Promise) return form.then((bytes) => sendBytes(req, res, bytes, type, encoding))
  sendBytes(req, res, form, type, encoding)
}

function sendBytes(req: Request, res: Response, bytes: Buffer, type: string, encoding: Encoding | undefined): void {
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', bytes.length)
  if (encoding !== undefined) res.setHeader('Content-Encoding', encoding)
  res.end(req.method === 'HEAD' ? undefined : bytes)
}

function preferredEncoding(req: Request): Encoding | undefined {
  if (!req.headers['accept-encoding']) return undefined
  const best = req.acceptsEncodings('br', 'gzip')
  return best === 'br' || best === 'gzip' ? best : undefined
}
