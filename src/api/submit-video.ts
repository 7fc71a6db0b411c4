import express, { type Request } from 'express'
import { z } from 'zod'
import { AppError, namingFields } from '../errors.ts'
import { endpoint, type Input, type Operation } from '../http/endpoint.ts'
import { readBody, receiveForm, refuseDeclared, requireUtf8 } from '../http/request-body.ts'
import { DETAILS, NewDetails } from '../library/videos/details.ts'
import { type SubmissionDetails, type Submitted, submitUpload, submitUrl } from '../library/videos/submit.ts'
import { toSubmitted } from '../library/videos/video-status.ts'
import { type Parameters, readParameters } from '../parameters.ts'
import { flag } from '../views/parameters.ts'
import type { App } from './app.ts'
import { SubmittedVideo } from './videos.ts'

const UrlBody = z.strictObject({
  url: z.string().min(1).max(2_000),
  ...NewDetails.shape,
  backfill: z.boolean().optional(),
  priority: z.int().min(0).max(1_000).optional(),
})

/** The details of a raw upload. A form has them as fields. */
const uploadParameters = {
  filename: { schema: z.string().max(300), description: 'Name of the file; the default title.' },
  title: { schema: DETAILS.title, description: 'Title; by default the file name.' },
  author: { schema: DETAILS.author, description: 'Brand or channel.' },
  platform: { schema: DETAILS.platform, description: 'Where it was published; `web` by default.' },
  published_at: { schema: DETAILS.published_at, description: 'When it was published: a date or a time.' },
  backfill: { schema: flag, description: '`1` queues it behind all live work.' },
} as const satisfies Parameters

const field = { type: 'string' as const }
const binary = { type: 'string' as const, format: 'binary' }

export const submitEndpoints = [
  endpoint(
    {
      id: 'submitVideo',
      method: 'post',
      path: '/api/videos',
      tag: 'Operators',
      summary: 'Queue a video: a URL, or a streamed upload. The same source twice is one video',
      parameters: uploadParameters,
      otherBody: {
        'application/json': { schema: UrlBody, example: { url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ' } },
        'multipart/form-data': {
          schema: {
            type: 'object' as const,
            required: ['file'],
            properties: {
              file: binary,
              ...{ title: field, author: field, platform: field, published_at: field, backfill: field },
            },
          },
        },
        'application/octet-stream': { schema: binary },
        'video/*': { schema: binary },
      },
      answer: z.strictObject({
        video: SubmittedVideo,
        created: z.boolean(),
        unchanged: z
          .array(z.string())
          .describe('Details you sent that differ from those of a video that was there. Change them with editVideo.'),
      }),
      status: 202,
      answerHeaders: { Location: 'The path of its status.' },
      scope: 'videos:write',
      price: 'heavy',
    },
    async (deps: App, given) => {
      const { video, ...answer } = await receiveVideo(deps, given)
      given.res.set('Location', `/api/videos/${video.id}/status`)
      return { video: toSubmitted(video), ...answer }
    },
  ),
]

const MAX_JSON_BYTES = 64 * 1024
const parseJson = express.json({ limit: MAX_JSON_BYTES, strict: true, verify: requireUtf8 })

/** Receives a video: JSON with an address, a form with a file, or the film itself. */
async function receiveVideo(
  { db, store, config: { maxUploadBytes: maxBytes }, ytdlp }: App,
  { req, res, hold }: Pick<Input<Operation>, 'req' | 'res' | 'hold'>,
): Promise<Submitted> {
  const isFilm = req.is(['video/*', 'application/octet-stream'])
  // The details of an address and of a form stand in the body.
  if (!isFilm) readParameters(req.originalUrl, {})
  if (req.is('application/json')) {
    refuseDeclared(req, MAX_JSON_BYTES)
    const asked = UrlBody.parse(await readBody(parseJson, req, res), { error: namingFields })
    return submitUrl(db, asked.url, { ...asked, ytdlp })
  }
  hold('uploads')
  refuseTooLarge(req, maxBytes)
  if (req.is('multipart/form-data'))
    return receiveForm(req, ({ file, filename, fields }) =>
      submitUpload(db, store, file, { filename, maxBytes, details: async () => parsedDetails(await fields) }),
    )
  if (isFilm) {
    const { filename = '', ...rest } = readParameters(req.originalUrl, uploadParameters)
    return submitUpload(db, store, req, { filename, maxBytes, details: () => rest })
  }
  throw new AppError(
    'unsupported_media_type',
    'Send JSON with a url, a form with a file, or the video itself (video/*, application/octet-stream).',
  )
}

/** Most bytes of a form beside its file. */
const FORM_BYTES = 64 * 1024

/** Refuses a body whose declared length is too large before it is read. */
function refuseTooLarge(req: Request, maxBytes: number): void {
  if (Number(req.headers['content-length'] ?? 0) <= maxBytes + FORM_BYTES) return
  const maxMb = Math.floor(maxBytes / 1024 / 1024)
  throw new AppError('payload_too_large', `The file is larger than the ${maxMb} MB allowed. Use a smaller one.`)
}

function parsedDetails({ backfill, ...rest }: Record<string, string>): SubmissionDetails {
  return { ...NewDetails.parse(rest), backfill: backfill === '1' || backfill === 'true' }
}
