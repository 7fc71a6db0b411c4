import type { Readable } from 'node:stream'
import busboy from 'busboy'
import express, { type Request, type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { AppError, invalid } from '../errors.ts'
import { cancelVideo, deleteVideo, retryVideo } from '../library/videos/lifecycle.ts'
import { type ResolvedSource, type SubmissionDetails, submitUpload, submitUrl } from '../library/videos/submit.ts'
import { explainFrames, reportVideo } from '../library/videos/video-status.ts'
import type { MediaStore } from '../media/media-store.ts'
import { readParameters } from '../parameters.ts'
import { cleanText } from '../views/frame-query.ts'
import { PLATFORMS } from '../vocabulary.ts'

export interface VideosDeps {
  db: Db
  store: MediaStore
  maxUploadBytes: number
  resolveSource: (url: string) => ResolvedSource | undefined
  /** Why a source cannot be fetched by this installation; undefined when it can. */
  fetchable: (source: ResolvedSource) => string | undefined
  requireScope: (scope: 'videos:write') => RequestHandler
}

const title = z
  .string()
  .max(300)
  .transform(cleanText)
  .transform((value) => (value === '' ? undefined : value))
const details = {
  title: title.optional(),
  author: title.optional(),
  platform: z.enum(PLATFORMS).optional(),
}
export const VideoSubmissionBody = z.strictObject({
  url: z.string().min(1).max(2_000),
  ...details,
  backfill: z.boolean().optional(),
  priority: z.int().min(0).max(1_000).optional(),
})

/** A raw upload carries its details as parameters, a form as fields. */
export const uploadParameters = {
  filename: { schema: z.string().max(300), description: 'Name of the file; the title when none is given.' },
  title: { schema: z.string().max(300), description: 'Title; the file name otherwise.' },
  author: { schema: z.string().max(300), description: 'Brand or channel.' },
  platform: { schema: z.enum(PLATFORMS), description: 'Where it was published; `web` unless told.' },
  backfill: { schema: z.enum(['0', '1']), description: '`1` queues it behind all live work.' },
} as const

/** Operators queue videos and look after them. */
export function videosRouter(deps: VideosDeps): Router {
  const { db, store, requireScope } = deps
  const router = Router()
  const operator = requireScope('videos:write')

  router.post('/api/videos', operator, async (req, res) => {
    const { video, created } = await receive(req, deps)
    res
      .status(202)
      .set({ 'Cache-Control': 'no-store', Location: `/api/videos/${video.id}/status` })
      .json({ video: toSubmitted(video), created })
  })

  router.get('/api/videos/:id/status', operator, async (req, res) => {
    const { explain } = readParameters(req.originalUrl, statusParameters)
    const report = await reportVideo(db, String(req.params.id))
    const frames = explain === '1' ? { frames: await explainFrames(db, report.id) } : {}
    res.set('Cache-Control', 'no-store').json({ video: report, ...frames })
  })

  router.post('/api/videos/:id/retry', operator, async (req, res) => {
    const video = await retryVideo(db, String(req.params.id))
    res
      .status(202)
      .set('Cache-Control', 'no-store')
      .json({ video: toSubmitted(video) })
  })

  router.post('/api/videos/:id/cancel', operator, async (req, res) => {
    const video = await cancelVideo(db, String(req.params.id))
    res.set('Cache-Control', 'no-store').json({ video: toSubmitted(video) })
  })

  router.delete('/api/videos/:id', operator, async (req, res) => {
    await deleteVideo(db, String(req.params.id))
    res.set('Cache-Control', 'no-store').json({ ok: true })
  })

  async function receive(req: Request, { maxUploadBytes, resolveSource, fetchable }: VideosDeps) {
    if (req.is('application/json')) {
      const body = VideoSubmissionBody.parse(await jsonBody(req))
      return submitUrl(db, body.url, resolveSource, { ...body, fetchable })
    }
    const declared = Number(req.headers['content-length'] ?? 0)
    // A form's own lines come on top of the file.
    if (declared > maxUploadBytes + 64 * 1024)
      throw new AppError(
        'payload_too_large',
        `The file is larger than the ${Math.floor(maxUploadBytes / 1024 / 1024)} MB allowed.`,
      )
    if (req.is('multipart/form-data')) return receiveForm(req, db, store, maxUploadBytes)
    if (req.is(['video/*', 'application/octet-stream'])) {
      const { filename, ...rest } = readParameters(req.originalUrl, uploadParameters)
      return submitUpload(db, store, req, {
        filename: filename ?? '',
        maxBytes: maxUploadBytes,
        details: () => parsedDetails(rest),
      })
    }
    throw new AppError(
      'unsupported_media_type',
      'Send JSON with a url, a form with a file, or the video itself (video/*, application/octet-stream).',
    )
  }

  return router
}

export const statusParameters = {
  explain: { schema: z.enum(['0', '1']), description: '`1` adds why each frame was kept.' },
} as const

function toSubmitted(video: VideoRow) {
  return {
    id: video.id,
    status: video.status,
    title: video.title,
    author: video.author,
    platform: video.platform,
    source_url: video.sourceUrl,
    failure: video.failureCode === null ? null : { code: video.failureCode, message: video.failureMessage },
    added_at: video.addedAt.toISOString(),
  }
}

function parsedDetails(values: Record<string, unknown>): SubmissionDetails {
  const { backfill, ...rest } = values
  const parsed = z.object(details).parse(rest)
  return { ...parsed, ...(backfill === undefined ? {} : { backfill: backfill === '1' || backfill === 'true' }) }
}

const FIELDS = ['title', 'author', 'platform', 'backfill']

/** One form with one file, streamed through; the other fields may stand before or after it. */
function receiveForm(
  req: Request,
  db: Db,
  store: MediaStore,
  maxBytes: number,
): Promise<{ video: VideoRow; created: boolean }> {
  return new Promise((resolve, reject) => {
    let form: busboy.Busboy
    try {
      form = busboy({
        headers: req.headers,
        limits: { files: 1, fields: 20, fieldNameSize: 100, fieldSize: 4_096, parts: 25 },
      })
    } catch {
      return reject(new AppError('invalid_request', 'The form names no boundary between its parts.'))
    }
    const fields: Record<string, string> = {}
    let file: Readable | undefined
    let upload: Promise<{ video: VideoRow; created: boolean }> | undefined
    let settled = false
    const ended = Promise.withResolvers<void>()
    ended.promise.catch(() => undefined)
    const fail = (error: unknown) => {
      if (settled) return
      settled = true
      ended.reject(error)
      req.unpipe(form)
      req.resume()
      // Ends the write underway, which takes its unfinished file away. The answer waits for that.
      file?.destroy(error as Error)
      const refuse = () => reject(error)
      if (upload) upload.then(refuse, refuse)
      else refuse()
    }
    form.on('field', (name, value) => {
      if (FIELDS.includes(name)) fields[name] = value
      else fail(invalid(name.slice(0, 60), `unknown field; allowed are file, ${FIELDS.join(', ')}`))
    })
    form.on('file', (name, stream, info) => {
      // Torn down with the rest of the form; whoever reads it is told.
      stream.on('error', () => undefined)
      if (settled || name !== 'file') {
        stream.resume()
        fail(invalid(name.slice(0, 60), 'the file goes into the field "file"'))
        return
      }
      file = stream
      const details = async () => {
        await ended.promise
        return parsedDetails(fields)
      }
      upload = submitUpload(db, store, stream, { filename: info.filename ?? '', maxBytes, details })
      upload.catch(fail)
    })
    form.on('filesLimit', () => fail(invalid('file', 'one file at a time')))
    form.on('error', () => fail(new AppError('invalid_request', 'The form cannot be read to its end.')))
    form.on('close', () => {
      if (settled) return
      if (!upload) return fail(invalid('file', 'a file is needed'))
      ended.resolve()
      upload.then((value) => {
        settled = true
        resolve(value)
      }, fail)
    })
    req.on('aborted', () => fail(new AppError('invalid_request', 'The upload broke off.')))
    req.pipe(form)
  })
}

const parseJson = express.json({ limit: '64kb', strict: true })

async function jsonBody(req: Request): Promise<unknown> {
  await new Promise<void>((resolve, reject) =>
    parseJson(req, {} as never, (error?: unknown) => (error ? reject(error) : resolve())),
  )
  return req.body
}
