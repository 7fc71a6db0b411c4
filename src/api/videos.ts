import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { VIDEO_STATUSES } from '../db/schema/videos.ts'
import { notFound } from '../errors.ts'
import { cachedRead } from '../http/cached-reads.ts'
import { endpoint } from '../http/endpoint.ts'
import type { Caller } from '../library/accounts/key-checks.ts'
import { DETAILS, DetailEdit, editVideo, mergeBrands } from '../library/videos/details.ts'
import { cancelVideo, deleteVideo, retryVideo } from '../library/videos/lifecycle.ts'
import { explainFrames, reportVideo, toSubmitted } from '../library/videos/video-status.ts'
import { Frame, videoShape } from '../views/frame.ts'
import { flag, frameParameters, plainName } from '../views/parameters.ts'
import { Brand, OK, Ok, toBrand, toVideo, Video } from '../views/resources.ts'
import { PLATFORMS } from '../vocabulary.ts'
import type { App } from './app.ts'
import { afterParameter, checkId, listLimit, nextCursor, viewOf } from './reads.ts'

const VideoFramesAnswer = z.strictObject({ frames: z.array(Frame) }).meta({ id: 'VideoFramesResponse' })

/** Why a frame was kept: with `explain=1` only. */
const ExplainedFrame = z.strictObject({
  id: z.string(),
  t_ms: z.int(),
  kind: z.string(),
  reason: z.string(),
  rest: z
    .strictObject({
      fromMs: z.number(),
      toMs: z.number(),
      builtFromMs: z.number(),
      steps: z.int(),
      edges: z.int(),
      isAtRest: z.boolean(),
    })
    .nullable()
    .describe('The rest it was taken from; null in a camera’s shot.'),
  sharpness: z.number(),
  motion: z.number(),
})

/** Videos as operators see them: queued, worked on, done or failed. */

const stage = z.strictObject({
  stage: z.enum(['fetching', 'extracting', 'annotating']),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  done: z.number(),
  total: z.number().nullable(),
  rate_per_sec: z.number().nullable(),
  left_sec: z.number().nullable(),
})
const status = z.enum(VIDEO_STATUSES)
const failure = z.strictObject({ code: z.string(), message: z.string() }).nullable()
export const SubmittedVideo = z
  .strictObject({
    ...videoShape,
    status,
    failure,
    published_at: z.iso.datetime().nullable(),
    added_at: z.iso.datetime(),
  })
  .meta({ id: 'SubmittedVideo' })
const VideoPatchBody = DetailEdit.refine(
  (body) => Object.keys(body).length > 0,
  `name at least one of ${Object.keys(DETAILS).join(', ')}`,
).meta({ minProperties: 1 })
const VideoStatusReport = z
  .strictObject({
    ...SubmittedVideo.shape,
    stages: z.array(stage),
    attempts: z.int(),
    backfill: z.boolean(),
    frame_count: z.int(),
    reannotating: z.int(),
    costs: z.strictObject({ calls: z.int(), input_tokens: z.int(), output_tokens: z.int(), cost_usd: z.number() }),
    ready_at: z.iso.datetime().nullable(),
    detector: z.strictObject({ version: z.string(), parameters: z.record(z.string(), z.number()) }).nullable(),
    annotator: z.string().nullable(),
  })
  .meta({ id: 'VideoStatusReport' })

/** Null for the command line, which has no account. */
const accountOf = (caller: Caller | undefined) => caller?.account.id ?? null

/** Pictures that were considered and not kept: with `explain=1` only, at most 200. */
const PassedOver = z.array(z.strictObject({ t_ms: z.int(), reason: z.string() }))

const submittedAnswer = z.strictObject({ video: SubmittedVideo })

const openReads = [
  cachedRead(
    {
      id: 'listVideos',
      path: '/api/videos',
      tag: 'Library',
      summary: 'Videos, newest first',
      parameters: {
        after: afterParameter,
        limit: listLimit(60, 120),
        author: { schema: plainName(300), description: 'Brand or channel name, exact.' },
        platform: { schema: z.enum(PLATFORMS), description: 'Where the video was published.' },
      },
      answer: z.strictObject({ videos: z.array(Video), next: nextCursor }).meta({ id: 'VideosResponse' }),
    },
    async ({ search, publicUrl }: App, { query: { after, limit = 60, author, platform } }) => {
      const { items, next } = await search.videos({ after, limit, author, platform })
      return { videos: items.map((document) => toVideo(document, publicUrl)), next }
    },
  ),

  cachedRead(
    {
      id: 'getVideo',
      path: '/api/videos/:id',
      tag: 'Library',
      summary: 'One video',
      parameters: {},
      answer: z.strictObject({ video: Video }).meta({ id: 'VideoResponse' }),
      errors: [404],
    },
    async ({ search, publicUrl }: App, { params }) => {
      const document = await search.video(params.id)
      if (!document) throw notFound('video')
      return { video: toVideo(document, publicUrl) }
    },
    { check: checkId('video') },
  ),

  cachedRead(
    {
      id: 'listVideoFrames',
      path: '/api/videos/:id/frames',
      tag: 'Library',
      summary: 'Every frame of one video in time order',
      parameters: { provenance: frameParameters.provenance },
      answer: VideoFramesAnswer,
      price: 'search',
      errors: [404],
    },
    async ({ search, publicUrl }: App, { params, query }) => {
      const documents = await search.videoFrames(params.id)
      if (!documents) throw notFound('video')
      return { frames: documents.map(viewOf(publicUrl, query)) }
    },
    { check: checkId('video') },
  ),
]

const operating = { tag: 'Operators', scope: 'videos:write' } as const

const operators = [
  endpoint(
    {
      ...operating,
      id: 'getVideoStatus',
      method: 'get',
      path: '/api/videos/:id/status',
      summary: 'The progress of a video, stage by stage',
      parameters: {
        explain: { schema: flag, description: '`1` adds why each frame was kept, and what was not.' },
      },
      answer: z.strictObject({
        video: VideoStatusReport,
        frames: z.array(ExplainedFrame).optional(),
        passed_over: PassedOver.optional(),
      }),
      errors: [404],
    },
    async ({ db }: { db: Db }, { params, query }) => {
      const report = await reportVideo(db, params.id)
      return { video: report, ...(query.explain ? await explainFrames(db, report.id) : {}) }
    },
  ),

  endpoint(
    {
      ...operating,
      id: 'retryVideo',
      method: 'post',
      path: '/api/videos/:id/retry',
      summary: 'Queue a failed or cancelled video again',
      answer: submittedAnswer,
      status: 202,
      errors: [404, 409],
    },
    async ({ db }: { db: Db }, { params }) => ({ video: toSubmitted(await retryVideo(db, params.id)) }),
  ),

  endpoint(
    {
      ...operating,
      id: 'cancelVideo',
      method: 'post',
      path: '/api/videos/:id/cancel',
      summary: 'Stop the work on a video',
      answer: submittedAnswer,
      errors: [404, 409],
    },
    async ({ db }: { db: Db }, { params }) => ({ video: toSubmitted(await cancelVideo(db, params.id)) }),
  ),

  endpoint(
    {
      ...operating,
      id: 'editVideo',
      method: 'patch',
      path: '/api/videos/:id',
      summary: 'Change the title, brand, platform or date of a video; null removes the brand or the date',
      body: VideoPatchBody,
      example: { author: 'Northwind Labs', published_at: '2026-11-20' },
      answer: submittedAnswer,
      errors: [404],
    },
    async ({ db }: { db: Db }, { params, body, caller }) => {
      const edit = { id: params.id, accountId: accountOf(caller), details: body }
      return { video: toSubmitted(await editVideo(db, edit)) }
    },
  ),

  endpoint(
    {
      ...operating,
      id: 'deleteVideo',
      method: 'delete',
      path: '/api/videos/:id',
      summary: 'Remove a video with its frames, their saves and their pins',
      answer: Ok,
      price: 'heavy',
      errors: [404],
    },
    async ({ db }: { db: Db }, { params }) => {
      await deleteVideo(db, params.id)
      return OK
    },
  ),
]

export const videoEndpoints = [...openReads, ...operators]

export const brandEndpoints = [
  cachedRead(
    {
      id: 'listBrands',
      path: '/api/brands',
      tag: 'Library',
      summary: 'Brands and channels by name',
      parameters: { after: afterParameter, limit: listLimit(60, 120) },
      answer: z.strictObject({ brands: z.array(Brand), next: nextCursor }).meta({ id: 'BrandsResponse' }),
    },
    async ({ search, publicUrl }: App, { query: { after, limit = 60 } }) => {
      const { items, next } = await search.brands({ after, limit })
      return { brands: items.map((document) => toBrand(document, publicUrl)), next }
    },
  ),

  endpoint(
    {
      ...operating,
      id: 'mergeBrands',
      method: 'post',
      path: '/api/brands/merge',
      summary: 'Give every video of one brand the name of another, for example where it is spelt in two ways',
      body: z.strictObject({
        from: DETAILS.author.describe('The name that goes.'),
        into: DETAILS.author.describe('The name that stays.'),
      }),
      example: { from: 'Northwind labs', into: 'Northwind Labs' },
      answer: z.strictObject({ videos: z.int().describe('How many videos changed their brand.') }),
      price: 'heavy',
    },
    async ({ db }: { db: Db }, { body, caller }) => ({
      videos: await mergeBrands(db, { ...body, accountId: accountOf(caller) }),
    }),
  ),
]
