import type { Request } from 'express'
import { z } from 'zod'
import { AppError, invalid } from '../../errors.ts'
import { pointsForBytes } from '../../http/rate-limit/budgets.ts'
import { findKnown } from '../../library/videos/submit.ts'
import {
  cancelUpload,
  findUpload,
  finishUpload,
  listUploads,
  openUpload,
  putPart,
  type Upload,
} from '../../library/videos/uploads.ts'
import { type Actions, type Asked, field } from '../actions.ts'
import type { PageDeps } from '../page-deps.ts'

const short = field.filled.pipe(z.string().max(300).optional())
const NewUpload = z.object({
  filename: field.text.pipe(z.string().max(300)),
  bytes: field.text.pipe(z.coerce.number<string>().int().min(0)),
  sha256: field.filled.pipe(
    z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  ),
  title: short,
  author: short,
})

function toJson({ id, filename, bytes, partBytes, parts, received, videoId }: Upload): object {
  return { id, filename, bytes, part_bytes: partBytes, parts, received, video_id: videoId }
}

/**
 * Files in parts, for operators' scripts: begin, put each part, finish. An unfinished upload of the same bytes goes on
 * where it stopped, in any process. No request is larger than a part.
 */
export function addUploadActions(actions: Actions, deps: PageDeps): void {
  const { db, store, maxUploadBytes: maxBytes } = deps
  const who = 'operator'
  const whose = ({ visitor, param }: Asked) => ({ accountId: visitor.account.id, id: param('id') })

  // The page learns before a byte is sent which files the library has already.
  actions.action({ path: '/web/uploads', who, body: NewUpload }, async ({ visitor, body }) => {
    const { title, author, ...file } = body
    const known = file.sha256 && (await findKnown(db, [`sha256:${file.sha256}`])).get(`sha256:${file.sha256}`)
    if (known) return { json: { known }, to: '/operator' }
    const details = { title, author }
    const upload = await openUpload(db, { accountId: visitor.account.id, maxBytes, details, ...file })
    return { json: { upload: toJson(upload) }, to: '/operator' }
  })

  actions.page('/web/uploads', who, { parameters: {} }, async ({ visitor, res }) => {
    const uploads = await listUploads(db, visitor.account.id)
    res.set('Cache-Control', 'no-store').json({ uploads: uploads.map(toJson), max_bytes: maxBytes })
    return undefined
  })

  actions.page('/web/uploads/:id', who, { parameters: {} }, async (asked) => {
    const upload = await findUpload(db, whose(asked))
    asked.res.set('Cache-Control', 'no-store').json({ upload: toJson(upload) })
    return undefined
  })

  const cost = (req: Request) => pointsForBytes(lengthOf(req))
  actions.put({ path: '/web/uploads/:id/parts/:n', who, cost, holds: 'uploads' }, async (asked) => {
    const n = Number(asked.param('n'))
    await putPart(db, store, { ...whose(asked), n, body: asked.req })
    return { part: n }
  })

  actions.action({ path: '/web/uploads/:id/finish', who }, async (asked) => {
    const { bytes, videoId } = await findUpload(db, whose(asked))
    // Joining reads every byte again. A repeated finish only finds the video.
    if (videoId === null) await asked.charge(pointsForBytes(bytes))
    const { video, created } = await finishUpload(db, store, { ...whose(asked), maxBytes })
    return { json: { video: { id: video.id, title: video.title, status: video.status }, created }, to: '/operator' }
  })

  actions.action({ path: '/web/uploads/:id/cancel', who }, async (asked) => {
    await cancelUpload(db, store, whose(asked))
    return { json: { ok: true }, to: '/operator' }
  })
}

/** A part announces its length, so that it is paid for before it is read. */
function lengthOf(req: Request): number {
  const length = Number(req.headers['content-length'])
  if (!Number.isInteger(length)) throw invalid('part', 'Content-Length is missing. Send the part with its length.')
  if (length > MAX_PART_BYTES)
    throw new AppError('payload_too_large', `A part has at most ${MAX_PART_BYTES} bytes. Send smaller ones.`)
  return length
}

/** Below what any proxy lets through. */
const MAX_PART_BYTES = 64 * 1024 * 1024
