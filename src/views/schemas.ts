import { z } from 'zod'
import { KINDS, PLATFORMS, SHOTS, SOURCES, SUBJECTS, SURFACES, TONES, ZONES } from '../vocabulary.ts'

/** The public resources as schemas: the OpenAPI document shows them and the tests hold every answer against them. */

const time = z.iso.datetime()
const confidence = z.number().min(0).max(1)

export const VideoRef = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    author: z.string().nullable(),
    platform: z.enum(PLATFORMS),
    source_url: z.string().nullable(),
    duration_sec: z.number().nullable(),
  })
  .meta({ id: 'VideoRef', description: 'The video a frame belongs to.' })

const provenance = z
  .strictObject({
    source: z.enum(SOURCES),
    confidence: confidence.nullable(),
    by: z.string(),
    at: time,
    reason: z.string().optional(),
  })
  .nullable()

const frame = {
  id: z.string(),
  video_id: z.string(),
  t_sec: z.number().min(0).describe('Seconds into the video, at most three decimals.'),
  kind: z.enum(KINDS),
  subject: z.enum(SUBJECTS).nullable(),
  surface: z.enum(SURFACES).nullable(),
  shot: z.enum(SHOTS).nullable(),
  technique: z.string().nullable(),
  zone: z.enum(ZONES).nullable(),
  tone: z.enum(TONES),
  author: z.string().nullable(),
  platform: z.enum(PLATFORMS),
  caption: z.string().nullable(),
  composition: z.string().nullable(),
  steal: z.string().nullable().describe('What is worth taking from it.'),
  on_screen_text: z.string().nullable(),
  palette: z
    .array(z.string().regex(/^#[0-9a-f]{6}$/))
    .max(5)
    .describe('Up to five colours, largest area first.'),
  image_url: z.url(),
  thumb_url: z.url(),
  placeholder: z.string().describe('thumbhash, base64.'),
  width: z.int(),
  height: z.int(),
  save_count: z.int().min(0),
  source_url: z.string().nullable().describe('The source at this second, where the platform has such links.'),
  annotation: z.strictObject({
    model: z.string().nullable(),
    confidence: z.record(z.string(), confidence),
    reviewed: z.boolean().describe('A person has set at least one value.'),
  }),
  video: VideoRef,
  provenance: z.record(z.string(), provenance).optional().describe('Only with `provenance=1`.'),
}
const FRAME_EXAMPLE = {
  id: 'k3v9x0aq7m2d-1a4c',
  video_id: 'k3v9x0aq7m2d',
  t_sec: 12.5,
  kind: 'cut',
  subject: 'terminal',
  surface: 'screen-recording',
  shot: 'no-face',
  technique: 'cursor-zoom',
  zone: 'none',
  tone: 'dark',
  author: 'Northwind Labs',
  platform: 'youtube',
  caption: 'A dark terminal runs the install command',
  composition: 'The window fills the frame, one line of text in the middle',
  steal: 'Show one command and nothing else',
  on_screen_text: 'npm start',
  palette: ['#101820', '#f2aa4c', '#ffffff', '#5a5a5a', '#2f6f9f'],
  image_url: 'https://frames.example/media/k3v9x0aq7m2d-1a4c-0f3c21ab.webp',
  thumb_url: 'https://frames.example/media/k3v9x0aq7m2d-1a4c-0f3c21ab-480.webp',
  placeholder: 'YTkGJwaRhWUIt4lbgnhZl3ath2BUBGYA',
  width: 1280,
  height: 720,
  save_count: 3,
  source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=12s',
  annotation: { model: 'measured-1', confidence: { subject: 0.9 }, reviewed: false },
  video: {
    id: 'k3v9x0aq7m2d',
    title: 'One command to start',
    author: 'Northwind Labs',
    platform: 'youtube',
    source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
    duration_sec: 61.2,
  },
}
export const Frame = z
  .strictObject(frame)
  .meta({ id: 'Frame', description: 'A value that nobody measured or named is null.', examples: [FRAME_EXAMPLE] })

const match = {
  score: z.number().min(0).max(1),
  matched: z.record(z.string(), z.string()).describe('Field → escaped text with `<em>` around what matched.'),
}

const video = {
  id: z.string(),
  title: z.string(),
  author: z.string().nullable(),
  platform: z.enum(PLATFORMS),
  source_url: z.string().nullable(),
  duration_sec: z.number().nullable(),
  width: z.int().nullable(),
  height: z.int().nullable(),
  fps: z.number().nullable(),
  frame_count: z.int(),
  published_at: time.nullable(),
  added_at: time,
  image_url: z.url().nullable().describe('Its strongest frame.'),
}
const brand = { name: z.string(), video_count: z.int(), frame_count: z.int(), image_url: z.url().nullable() }
const technique = {
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  frame_count: z.int(),
  image_url: z.url().nullable(),
}

export const Video = z.strictObject(video).meta({
  id: 'Video',
  examples: [
    {
      ...FRAME_EXAMPLE.video,
      width: 1280,
      height: 720,
      fps: 30,
      frame_count: 24,
      published_at: null,
      added_at: '2026-11-20T12:00:00.000Z',
      image_url: FRAME_EXAMPLE.image_url,
    },
  ],
})
export const Brand = z.strictObject(brand).meta({
  id: 'Brand',
  examples: [{ name: 'Northwind Labs', video_count: 2, frame_count: 41, image_url: FRAME_EXAMPLE.image_url }],
})
export const Technique = z.strictObject(technique).meta({
  id: 'Technique',
  examples: [
    {
      slug: 'cursor-zoom',
      name: 'Cursor zoom',
      description: 'The picture moves in on where the cursor clicks.',
      frame_count: 12,
      image_url: FRAME_EXAMPLE.image_url,
    },
  ],
})
export const FrameHit = z.strictObject({ ...frame, ...match }).meta({
  id: 'FrameHit',
  examples: [
    { ...FRAME_EXAMPLE, score: 0.92, matched: { caption: 'A dark <em>terminal</em> runs the install command' } },
  ],
})
export const VideoHit = z.strictObject({ ...video, ...match }).meta({ id: 'VideoHit' })
export const BrandHit = z.strictObject({ ...brand, ...match }).meta({ id: 'BrandHit' })
export const TechniqueHit = z.strictObject({ ...technique, ...match }).meta({ id: 'TechniqueHit' })

const debug = z
  .strictObject({ engine: z.enum(['postgres', 'meilisearch']), took_ms: z.number(), as_of: time.nullable() })
  .optional()
  .describe('Only with `debug=1`.')
const next = z.string().nullable().describe('Pass it as `after` for the next page; null at the end.')

export const SearchAnswer = z
  .strictObject({
    videos: z.array(VideoHit),
    frames: z.array(FrameHit),
    brands: z.array(BrandHit),
    techniques: z.array(TechniqueHit),
    debug,
  })
  .meta({ id: 'SearchAnswer' })
export const FramesAnswer = z
  .strictObject({
    page: z.int().min(1),
    frames: z.array(z.union([Frame, FrameHit])),
    hasMore: z.boolean().describe('A full page (120 frames) came back.'),
    facets: z.record(z.string(), z.record(z.string(), z.int())).optional().describe('Only with `facets=1`.'),
    total: z.int().optional().describe('Only with `facets=1`.'),
    debug,
  })
  .meta({ id: 'FramesAnswer' })
export const VideoFramesAnswer = z.strictObject({ frames: z.array(Frame), debug }).meta({ id: 'VideoFramesAnswer' })
export const VideosAnswer = z.strictObject({ videos: z.array(Video), next }).meta({ id: 'VideosAnswer' })
export const VideoAnswer = z.strictObject({ video: Video }).meta({ id: 'VideoAnswer' })
export const FrameAnswer = z
  .strictObject({ frame: Frame, previous: Frame.nullable(), next: Frame.nullable() })
  .meta({ id: 'FrameAnswer' })
export const SimilarAnswer = z.strictObject({ frames: z.array(FrameHit) }).meta({ id: 'SimilarAnswer' })
export const TechniquesAnswer = z.strictObject({ techniques: z.array(Technique) }).meta({ id: 'TechniquesAnswer' })
export const BrandsAnswer = z.strictObject({ brands: z.array(Brand), next }).meta({ id: 'BrandsAnswer' })
export const Ok = z.strictObject({ ok: z.literal(true) }).meta({ id: 'Ok' })

export const Problem = z
  .strictObject({
    code: z.enum([
      'invalid_request',
      'plan_required',
      'forbidden',
      'not_found',
      'method_not_allowed',
      'conflict',
      'payload_too_large',
      'unsupported_media_type',
      'idempotency_key_reused',
      'rate_limited',
      'internal',
      'unavailable',
    ]),
    message: z.string(),
    details: z
      .array(z.strictObject({ path: z.string(), message: z.string(), allowed: z.array(z.string()).optional() }))
      .optional(),
  })
  .meta({
    id: 'Problem',
    description: 'Every error but 401. The request id is in `X-Request-Id`.',
    examples: [
      {
        code: 'invalid_request',
        message: 'tone: "dim" is not allowed; must be one of dark, bright',
        details: [
          { path: 'tone', message: '"dim" is not allowed; must be one of dark, bright', allowed: ['dark', 'bright'] },
        ],
      },
    ],
  })
export const Unauthenticated = z
  .strictObject({ code: z.literal('unauthenticated') })
  .meta({ id: 'Unauthenticated', examples: [{ code: 'unauthenticated' }] })

const stage = z.strictObject({
  stage: z.enum(['fetching', 'extracting', 'annotating']),
  started_at: time,
  finished_at: time.nullable(),
  done: z.number(),
  total: z.number().nullable(),
  rate_per_sec: z.number().nullable(),
  left_sec: z.number().nullable(),
})
const status = z.enum(['queued', 'fetching', 'extracting', 'annotating', 'ready', 'failed', 'cancelled'])
const failure = z.strictObject({ code: z.string(), message: z.string() }).nullable()
export const SubmittedVideo = z
  .strictObject({
    id: z.string(),
    status,
    title: z.string(),
    author: z.string().nullable(),
    platform: z.enum(PLATFORMS),
    source_url: z.string().nullable(),
    failure,
    added_at: time,
  })
  .meta({ id: 'SubmittedVideo' })
export const VideoStatusReport = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    author: z.string().nullable(),
    platform: z.enum(PLATFORMS),
    source_url: z.string().nullable(),
    status,
    failure,
    stages: z.array(stage),
    attempts: z.int(),
    backfill: z.boolean(),
    frame_count: z.int(),
    reannotating: z.int(),
    costs: z.strictObject({ calls: z.int(), input_tokens: z.int(), output_tokens: z.int(), cost_usd: z.number() }),
    added_at: time,
    ready_at: time.nullable(),
    detector: z.strictObject({ version: z.string(), parameters: z.record(z.string(), z.number()) }).nullable(),
    annotator: z.string().nullable(),
  })
  .meta({ id: 'VideoStatusReport' })
export const VocabularyEntry = z
  .strictObject({
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    recognise: z.string(),
    aliases: z.array(z.string()),
    retired: z.boolean(),
  })
  .meta({ id: 'VocabularyEntry' })
export const Suggestions = z
  .strictObject({
    suggestions: z.array(z.strictObject({ slug: z.string(), count: z.int(), frame_ids: z.array(z.string()) })),
  })
  .meta({ id: 'Suggestions' })

const board = {
  id: z.string(),
  name: z.string(),
  item_count: z.int().min(0),
  created_at: time,
  updated_at: time,
  shared_at: time.nullable().describe('When its present share link was made; null while there is none.'),
  cover_urls: z.array(z.url()).max(4),
}
export const Board = z.strictObject(board).meta({
  id: 'Board',
  examples: [
    {
      id: 'b7q2m9x4',
      name: 'Logo reveals',
      item_count: 1,
      created_at: '2026-11-20T12:00:00.000Z',
      updated_at: '2026-11-20T12:05:00.000Z',
      shared_at: null,
      cover_urls: [FRAME_EXAMPLE.thumb_url],
    },
  ],
})
export const SavedFrame = z.strictObject({ ...frame, saved_at: time }).meta({ id: 'SavedFrame' })
export const PinnedFrame = z
  .strictObject({ ...frame, note: z.string().nullable(), pinned_at: time })
  .meta({ id: 'PinnedFrame' })
export const BoardWithItems = z
  .strictObject({ ...board, items: z.array(PinnedFrame).describe('In the owner’s order.') })
  .meta({ id: 'BoardWithItems' })

const exported = {
  exported_at: time,
  items: z.array(
    z.strictObject({
      frame_id: z.string(),
      credit: z.string(),
      video_title: z.string(),
      author: z.string().nullable(),
      platform: z.enum(PLATFORMS),
      t_sec: z.number(),
      source_url: z.string().nullable(),
      image_url: z.url(),
      caption: z.string().nullable(),
      steal: z.string().nullable(),
      note: z.string().nullable(),
      added_at: time,
    }),
  ),
}
export const SavesExport = z.strictObject(exported).meta({ id: 'SavesExport' })
export const BoardExport = z.strictObject({ board: Board, ...exported }).meta({ id: 'BoardExport' })

export const Account = z
  .strictObject({
    id: z.string(),
    email: z.string().nullable(),
    role: z.enum(['member', 'operator']),
    plan: z.enum(['free', 'pro']),
    created_at: time,
  })
  .meta({ id: 'Account' })

export const Event = z
  .strictObject({
    specversion: z.literal('1.0'),
    id: z.string(),
    source: z.string(),
    type: z.string(),
    subject: z.string(),
    time,
    datacontenttype: z.literal('application/json'),
    version: z.int(),
    account_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({
    id: 'Event',
    description: 'A CloudEvents 1.0 event.',
    examples: [
      {
        specversion: '1.0',
        id: '01979c3e-5d6f-7c1a-9d0e-3f6f6f0c8a11',
        source: 'https://frames.example',
        type: 'frame.saved',
        subject: FRAME_EXAMPLE.id,
        time: '2026-11-20T12:00:00.000Z',
        datacontenttype: 'application/json',
        version: 1,
        account_id: 'a1b2c3d4',
        data: {
          frame_id: FRAME_EXAMPLE.id,
          video_id: 'k3v9x0aq7m2d',
          author: 'Northwind Labs',
          technique: 'cursor-zoom',
          subject: 'terminal',
        },
      },
    ],
  })

export const ReadinessAnswer = z
  .strictObject({
    status: z.enum(['ok', 'unavailable', 'stopping']),
    checks: z.record(z.string(), z.enum(['ok', 'away'])),
  })
  .meta({ id: 'Readiness' })

const rpcId = z.union([z.string(), z.number(), z.null()])
export const RpcRequest = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId.optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'RpcRequest' })
export const RpcResponse = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId,
    result: z.looseObject({}).optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'RpcResponse' })
