import { z } from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import type { Parameters } from './parameters.ts'
import {
  brandsParameters,
  frameByIdParameters,
  frameParameters,
  searchParameters,
  similarParameters,
  techniquesParameters,
  videoFramesParameters,
  videosParameters,
} from './read-parameters.ts'
import { CorrectionBody, MergeBody, NewTechniqueBody, TechniquePatchBody } from './routes/library.ts'
import { statusParameters, uploadParameters, VideoSubmissionBody } from './routes/videos.ts'
import {
  BrandsAnswer,
  FrameAnswer,
  FramesAnswer,
  Ok,
  Problem,
  SearchAnswer,
  SimilarAnswer,
  SubmittedVideo,
  Suggestions,
  TechniquesAnswer,
  Unauthenticated,
  VideoAnswer,
  VideoFramesAnswer,
  VideoStatusReport,
  VideosAnswer,
  VocabularyEntry,
} from './schemas.ts'

export interface OperationEntry {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As mounted: `/api/videos/:id/frames`. */
  path: string
  tag: string
  summary: string
  parameters?: Parameters
  /** JSON body, or `upload`: JSON with a URL, a form with a file, or the bytes. */
  body?: z.ZodType | 'upload'
  answer: z.ZodType
  status?: number
  /** Absent: open to everybody. */
  scope?: string
  errors?: readonly number[]
  /** Other media types of the 200, by name (exports, pages). */
  alternatives?: readonly string[]
}

/** Every operation of this file's areas. Accounts add theirs (`account-operations.ts`); a test holds the whole against the mounted routes. */
export const READ_OPERATIONS: readonly OperationEntry[] = [
  {
    method: 'get',
    path: '/api/search',
    tag: 'Library',
    summary: 'Search videos, frames, brands and techniques in one call',
    parameters: searchParameters,
    answer: SearchAnswer,
  },
  {
    method: 'get',
    path: '/api/frames',
    tag: 'Library',
    summary: 'The frame wall: filter and page',
    parameters: frameParameters,
    answer: FramesAnswer,
  },
  {
    method: 'get',
    path: '/api/frames/:id',
    tag: 'Library',
    summary: 'One frame with its neighbours in the video',
    parameters: frameByIdParameters,
    answer: FrameAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/frames/:id/similar',
    tag: 'Library',
    summary: 'Frames like this one',
    parameters: similarParameters,
    answer: SimilarAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/videos',
    tag: 'Library',
    summary: 'Videos, newest first',
    parameters: videosParameters,
    answer: VideosAnswer,
  },
  { method: 'get', path: '/api/videos/:id', tag: 'Library', summary: 'One video', answer: VideoAnswer, errors: [404] },
  {
    method: 'get',
    path: '/api/videos/:id/frames',
    tag: 'Library',
    summary: 'Every frame of one video in time order',
    parameters: videoFramesParameters,
    answer: VideoFramesAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/techniques',
    tag: 'Library',
    summary: 'The vocabulary of techniques',
    parameters: techniquesParameters,
    answer: TechniquesAnswer,
  },
  {
    method: 'get',
    path: '/api/brands',
    tag: 'Library',
    summary: 'Brands and channels by name',
    parameters: brandsParameters,
    answer: BrandsAnswer,
  },
]

const submitted = z.strictObject({ video: SubmittedVideo })
export const OPERATOR_OPERATIONS: readonly OperationEntry[] = [
  {
    method: 'post',
    path: '/api/videos',
    tag: 'Operators',
    summary: 'Queue a video: a URL, or a streamed upload. The same source twice is one video',
    parameters: uploadParameters,
    body: 'upload',
    answer: z.strictObject({ video: SubmittedVideo, created: z.boolean() }),
    status: 202,
    scope: 'videos:write',
    errors: [413, 415],
  },
  {
    method: 'get',
    path: '/api/videos/:id/status',
    tag: 'Operators',
    summary: 'Where a video stands, stage by stage',
    parameters: statusParameters,
    answer: z.strictObject({
      video: VideoStatusReport,
      frames: z
        .array(
          z.strictObject({
            id: z.string(),
            t_ms: z.int(),
            sample_ms: z.int(),
            kind: z.string(),
            reason: z.string(),
            sharpness: z.number(),
            motion: z.number(),
          }),
        )
        .optional(),
    }),
    scope: 'videos:write',
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/videos/:id/retry',
    tag: 'Operators',
    summary: 'Queue a failed or cancelled video again',
    answer: submitted,
    status: 202,
    scope: 'videos:write',
    errors: [404, 409],
  },
  {
    method: 'post',
    path: '/api/videos/:id/cancel',
    tag: 'Operators',
    summary: 'Stop the work on a video',
    answer: submitted,
    scope: 'videos:write',
    errors: [404, 409],
  },
  {
    method: 'delete',
    path: '/api/videos/:id',
    tag: 'Operators',
    summary: 'Take a video, its frames, their saves and pins out of the library',
    answer: Ok,
    scope: 'videos:write',
    errors: [404],
  },
  {
    method: 'patch',
    path: '/api/frames/:id/annotation',
    tag: 'Operators',
    summary: 'Set and lock values of a frame; null unlocks',
    body: CorrectionBody,
    answer: Ok,
    scope: 'library:write',
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/techniques',
    tag: 'Operators',
    summary: 'Add a technique',
    body: NewTechniqueBody,
    answer: z.strictObject({ technique: VocabularyEntry }),
    status: 201,
    scope: 'library:write',
    errors: [409],
  },
  {
    method: 'patch',
    path: '/api/techniques/:slug',
    tag: 'Operators',
    summary: 'Rename (the old slug goes on working), edit, retire or restore a technique',
    body: TechniquePatchBody,
    answer: z.strictObject({ technique: VocabularyEntry }),
    scope: 'library:write',
    errors: [404, 409],
  },
  {
    method: 'post',
    path: '/api/techniques/:slug/merge',
    tag: 'Operators',
    summary: 'Make all frames of one technique frames of another',
    body: MergeBody,
    answer: z.strictObject({ technique: VocabularyEntry }),
    scope: 'library:write',
    errors: [404, 409],
  },
  {
    method: 'get',
    path: '/api/technique-suggestions',
    tag: 'Operators',
    summary: 'What models proposed outside the vocabulary, with counts and frames',
    answer: Suggestions,
    scope: 'library:write',
  },
  {
    method: 'delete',
    path: '/api/technique-suggestions/:slug',
    tag: 'Operators',
    summary: 'Turn a proposal down',
    answer: Ok,
    scope: 'library:write',
  },
]

const ERRORS: Record<number, { description: string; schema: z.ZodType }> = {
  400: { description: 'A value is not allowed; `details` says what is', schema: Problem },
  401: { description: 'No key, or one that does not work', schema: Unauthenticated },
  403: { description: 'The plan or the key’s scopes do not include this', schema: Problem },
  404: { description: 'No such thing', schema: Problem },
  409: { description: 'Not possible in this state', schema: Problem },
  413: { description: 'Too large', schema: Problem },
  415: { description: 'Another content type is needed', schema: Problem },
  422: { description: 'This Idempotency-Key came with another body', schema: Problem },
  429: { description: 'Too many requests; see Retry-After', schema: Problem },
  503: { description: 'A store is away; see Retry-After', schema: Problem },
}

/** The OpenAPI 3.1 document, from the same schemas and tables that read the requests. */
export function describeApi({
  publicUrl,
  version,
  operations,
}: {
  publicUrl: string
  version: string
  operations: readonly OperationEntry[]
}) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const entry of operations) {
    const path = entry.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][entry.method] = toOperation(entry)
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Frame Library',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'A searchable library of video frames. Reads are open and cached for five minutes; saves and boards need the key of a Pro account. The same library is a tool server at `POST /api/mcp`.',
    },
    servers: [{ url: publicUrl }],
    tags: [
      { name: 'Library', description: 'Open reads. Equal questions in any order share one answer; ETag and 304 save the rest.' },
      { name: 'Account', description: 'Saves, boards and keys of the calling account.' },
      { name: 'Operators', description: 'Queueing videos, corrections, the vocabulary.' },
    ],
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `flk_live_…`, from the page /keys.' } },
    },
    paths: paths as ZodOpenApiPathsObject,
  })
}

function toOperation(entry: OperationEntry): ZodOpenApiOperationObject {
  const errors = [...new Set([400, ...(entry.scope ? [401, 403] : []), ...(entry.errors ?? []), 429, 503])].sort()
  const id = `${entry.method}${entry.path.replace(/^\/api/, '').replace(/[/:-]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`
  const names = [...entry.path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  return {
    operationId: id,
    tags: [entry.tag],
    summary: entry.summary,
    ...(entry.scope ? { security: [{ key: [] }], description: `Needs a key with the scope \`${entry.scope}\`.` } : { security: [] }),
    parameters: [
      ...names.map((name) => ({ name, in: 'path' as const, required: true, schema: { type: 'string' as const } })),
      ...Object.entries(entry.parameters ?? {}).map(([name, parameter]) => {
        const { $schema: _, ...schema } = z.toJSONSchema(parameter.schema, { io: 'input' }) as Record<string, unknown>
        return {
          name,
          in: 'query' as const,
          description: parameter.description,
          ...(parameter.example === undefined ? {} : { example: parameter.example }),
          ...(parameter.many ? { style: 'form' as const, explode: true, schema: { type: 'array' as const, items: schema } } : { schema }),
        }
      }),
    ] as NonNullable<ZodOpenApiOperationObject['parameters']>,
    ...(entry.body ? { requestBody: toBody(entry.body) } : {}),
    responses: {
      [String(entry.status ?? 200)]: {
        description: entry.summary,
        content: {
          'application/json': { schema: entry.answer },
          ...Object.fromEntries((entry.alternatives ?? []).map((type) => [type, { schema: { type: 'string' } }])),
        },
      },
      ...Object.fromEntries(
        errors.map((status) => [
          String(status),
          { description: ERRORS[status]!.description, content: { 'application/json': { schema: ERRORS[status]!.schema } } },
        ]),
      ),
    },
  } as ZodOpenApiOperationObject
}

function toBody(body: z.ZodType | 'upload') {
  if (body !== 'upload') return { required: true, content: { 'application/json': { schema: body } } }
  const file = { type: 'string' as const, format: 'binary' }
  return {
    required: true,
    content: {
      'application/json': { schema: VideoSubmissionBody },
      'multipart/form-data': {
        schema: {
          type: 'object' as const,
          required: ['file'],
          properties: {
            file,
            title: { type: 'string' as const },
            author: { type: 'string' as const },
            platform: { type: 'string' as const },
            backfill: { type: 'string' as const },
          },
        },
      },
      'application/octet-stream': { schema: file },
    },
  }
}
