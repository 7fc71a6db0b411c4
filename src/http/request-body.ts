import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { AppError, invalid } from '../errors.ts'

export const MAX_BODY_BYTES = 256 * 1024
const parse = express.json({ limit: MAX_BODY_BYTES, strict: true, verify: requireUtf8 })

/**
 * Reads a JSON body; an absent one is undefined. Comes after requireScope, so that a caller without a key learns
 * nothing about the body.
 */
export const jsonBody: RequestHandler = (req, res, next) => {
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
  if (hasBody && !req.is('application/json'))
    throw new AppError('unsupported_media_type', 'The body must be JSON. Send Content-Type: application/json.')
  refuseDeclared(req, MAX_BODY_BYTES)
  parse(req, res, next)
}

/** Reads a body with one of Express' parsers. @throws what the parser throws */
export function readBody(parser: RequestHandler, req: Request, res: Response): Promise<unknown> {
  return new Promise((resolve, reject) => {
    parser(req, res, (error?: unknown) => (error ? reject(error) : resolve(req.body)))
  })
}

/** As `verify` of Express' body parsers too. Broken bytes would be stored or searched as replacement signs. */
export function requireUtf8(_req: unknown, _res: unknown, body: Buffer, encoding = 'utf-8'): void {
  if (encoding === 'utf-8' && !isUtf8(body)) throw invalid('body', 'The request body is not UTF-8. Send it as UTF-8.')
}

/**
 * Refuses a body by its declared length. Express' parsers read a body to its end before they say that it is too large.
 * Its sender would wait for that, and a slow one is cut off without an answer.
 */
export function refuseDeclared(req: IncomingMessage, max: number): void {
  if (Number(req.headers['content-length']) > max)
    throw new AppError('payload_too_large', `The request body is too large. Send at most ${max} bytes.`)
}

const FIELDS = ['title', 'author', 'platform', 'published_at', 'backfill']

/** What errors call a part without a name, for which busboy has undefined. */
const NAMELESS = '(no name)'

export interface FormFile {
  file: Readable
  filename: string
  /** Resolves at the form's end, because fields may come before or after the file. */
  fields: Promise<Record<string, string>>
}

/**
 * Reads a form with one file and the fields of a video; `also` names more fields. `upload` starts with the file and
 * streams it. Returns the result of `upload`.
 * @throws AppError for another form, once the upload that had begun has removed its unfinished file
 */
export function receiveForm<T>(
  req: Request,
  upload: (form: FormFile) => Promise<T>,
  { also = [] }: { also?: readonly string[] } = {},
): Promise<T> {
  const allowed = [...FIELDS, ...also]
  const form = openForm(req)
  const fields: Record<string, string> = {}
  const ended = Promise.withResolvers<Record<string, string>>()
  // Avoid an unhandled rejection; the upload that awaits the fields still sees the error.
  ended.promise.catch(() => undefined)
  let file: Readable | undefined
  let uploading: Promise<T> | undefined

  return new Promise((resolve, reject) => {
    let settled = false
    const fail = (error: unknown) => {
      if (settled) return
      settled = true
      ended.reject(error)
      req.unpipe(form)
      req.resume()
      // Ends the upload in progress, which then removes its unfinished file. Answer after that.
      file?.destroy(error as Error)
      const refuse = () => reject(error)
      if (uploading) uploading.then(refuse, refuse)
      else refuse()
    }
    form.on('field', (name = NAMELESS, value) => {
      const trouble = troubleWith(name, fields, allowed) ?? troubleWithText(value)
      if (trouble !== undefined) return fail(invalid(name.slice(0, 60), `${name.slice(0, 60)}: ${trouble}`))
      // As forms send what was left empty.
      if (value !== '') fields[name] = value
    })
    form.on('file', (name = NAMELESS, stream, info) => {
      // The stream fails with the form, and the upload that reads it sees the error.
      stream.on('error', () => undefined)
      if (settled || name !== 'file') {
        stream.resume()
        fail(invalid(name.slice(0, 60), `${name.slice(0, 60)}: the file goes into the field "file"`))
        return
      }
      const filename = info.filename ?? ''
      const trouble = troubleWithText(filename)
      if (trouble !== undefined) {
        stream.resume()
        return fail(invalid('file', `file: its name ${trouble}`))
      }
      file = stream
      uploading = upload({ file, filename, fields: ended.promise })
      uploading.catch(fail)
    })
    form.on('filesLimit', () => fail(invalid('file', 'a form holds one file; send each video in its own form')))
    form.on('error', () => fail(new AppError('invalid_request', 'The form ends early or is malformed. Send it again.')))
    form.on('close', () => {
      if (settled) return
      if (!uploading) return fail(invalid('file', 'a file is required; send it in the field "file"'))
      ended.resolve(fields)
      uploading.then((value) => {
        settled = true
        resolve(value)
      }, fail)
    })
    req.on('aborted', () => fail(new AppError('invalid_request', 'The upload was interrupted. Send it again.')))
    req.pipe(form)
  })
}

function troubleWith(name: string, fields: object, allowed: readonly string[]): string | undefined {
  if (name === 'file') return 'must be a file with a name, not a text'
  if (!allowed.includes(name)) return `unknown field; allowed are file, ${allowed.join(', ')}`
  return Object.hasOwn(fields, name) ? 'may be given once' : undefined
}

/** For a text whose bytes are not at hand: a replacement sign stands where they were broken. */
function troubleWithText(text: string): string | undefined {
  return text.includes('\uFFFD') ? 'is not UTF-8; send it as UTF-8, without the replacement sign U+FFFD' : undefined
}

function openForm(req: Request): busboy.Busboy {
  try {
    return busboy({
      headers: req.headers,
      // As browsers and curl write a file's name.
      defParamCharset: 'utf8',
      limits: { files: 1, fields: 20, fieldNameSize: 100, fieldSize: 4_096, parts: 25 },
    })
  } catch {
    throw new AppError(
      'invalid_request',
      'The Content-Type lacks the form’s boundary. Send multipart/form-data with one.',
    )
  }
}
