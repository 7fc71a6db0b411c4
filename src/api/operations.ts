import { z } from 'zod'
import type { Scope } from '../library/accounts/keys.ts'
import type { Parameters } from '../parameters.ts'
import {
  brandsParameters,
  frameByIdParameters,
  frameParameters,
  searchParameters,
  similarParameters,
  techniquesParameters,
  videoFramesParameters,
  videosParameters,
} from '../views/frame-query.ts'
import {
  Account,
  Board,
  BoardExport,
  BoardWithItems,
  BrandsAnswer,
  Event,
  FrameAnswer,
  FramesAnswer,
  Ok,
  ReadinessAnswer,
  RpcRequest,
  RpcResponse,
  SavedFrame,
  SavesExport,
  SearchAnswer,
  SimilarAnswer,
  SubmittedVideo,
  Suggestions,
  TechniquesAnswer,
  VideoAnswer,
  VideoFramesAnswer,
  VideoStatusReport,
  VideosAnswer,
  VocabularyEntry,
} from '../views/schemas.ts'
import { AccountBody } from './accounts.ts'
import { BoardBody, PinBody, PinManyBody } from './boards.ts'
import { eventParameters, exportParameters, pageParameters } from './collection-parameters.ts'
import { SaveBody } from './favourites.ts'
import { CorrectionBody, MergeBody, NewTechniqueBody, TechniquePatchBody } from './library.ts'
import { statusParameters, uploadParameters } from './videos.ts'

export interface OperationEntry {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As mounted: `/api/videos/:id/frames`. */
  path: string
  tag: 'Library' | 'Tool server' | 'Account' | 'Operators' | 'Service'
  summary: string
  description?: string
  parameters?: Parameters
  /** JSON body, or `upload`: JSON with a URL, a form with a file, or the bytes. */
  body?: z.ZodType | 'upload'
  /** Of the body. */
  example?: unknown
  /** JSON of this shape, or the media type of anything else. */
  answer: z.ZodType | string
  status?: number
  /** Absent: open to everybody. */
  scope?: Scope
  /** Beyond what every operation of its kind may answer. */
  errors?: readonly number[]
  /** Other media types of the same answer. */
  alternatives?: readonly string[]
  /** Answers carry an ETag and may be kept; 304 spares the body. */
  cached?: boolean
  /** Takes an Idempotency-Key. */
  idempotent?: boolean
  /** Errors in another shape than everywhere else. */
  problem?: z.ZodType
  /** Neither reads a query nor counts against a limit. */
  plain?: boolean
}

const READS: readonly OperationEntry[] = [
  {
    method: 'get',
    path: '/api/search',
    tag: 'Library',
    summary: 'Search videos, frames, brands and techniques in one call',
    description:
      'Forgives typing mistakes, finds beginnings of words, and phrases in quotes; Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese by any part of a text. A blank term gives the strongest rows of each kind; the URL of a video, in any common form, gives that one video.',
    parameters: searchParameters,
    cached: true,
    answer: SearchAnswer,
  },
  {
    method: 'get',
    path: '/api/frames',
    tag: 'Library',
    summary: 'The frame wall: filter and page',
    description:
      'Filters combine: AND across attributes, OR within one. 120 frames a page; `hasMore` is true when a full page came back.',
    parameters: frameParameters,
    cached: true,
    answer: FramesAnswer,
  },
  {
    method: 'get',
    path: '/api/frames/:id',
    tag: 'Library',
    summary: 'One frame with its neighbours in the video',
    parameters: frameByIdParameters,
    cached: true,
    answer: FrameAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/frames/:id/similar',
    tag: 'Library',
    summary: 'Frames like this one',
    parameters: similarParameters,
    cached: true,
    answer: SimilarAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/videos',
    tag: 'Library',
    summary: 'Videos, newest first',
    parameters: videosParameters,
    cached: true,
    answer: VideosAnswer,
  },
  {
    method: 'get',
    path: '/api/videos/:id',
    tag: 'Library',
    summary: 'One video',
    cached: true,
    answer: VideoAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/videos/:id/frames',
    tag: 'Library',
    summary: 'Every frame of one video in time order',
    parameters: videoFramesParameters,
    cached: true,
    answer: VideoFramesAnswer,
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/techniques',
    tag: 'Library',
    summary: 'The vocabulary of techniques',
    parameters: techniquesParameters,
    cached: true,
    answer: TechniquesAnswer,
  },
  {
    method: 'get',
    path: '/api/brands',
    tag: 'Library',
    summary: 'Brands and channels by name',
    parameters: brandsParameters,
    cached: true,
    answer: BrandsAnswer,
  },
]

const submitted = z.strictObject({ video: SubmittedVideo })
const OPERATORS: readonly OperationEntry[] = [
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
    example: { subject: 'ui', technique: 'cursor-zoom', caption: null },
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
    example: {
      slug: 'cursor-zoom',
      name: 'Cursor zoom',
      description: 'The picture moves in on where the cursor clicks.',
    },
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
    example: { name: 'Zoom to the cursor' },
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
    example: { into: 'cursor-zoom' },
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

const frameId = 'k3v9x0aq7m2d-1a4c'
const ACCOUNT: readonly OperationEntry[] = [
  {
    method: 'get',
    path: '/api/favourites',
    tag: 'Account',
    summary: 'Every frame this account has saved, newest save first',
    description: 'Everything at once; with `limit` the rest is announced in `Link: <…>; rel="next"`.',
    parameters: pageParameters,
    answer: z.strictObject({ frames: z.array(SavedFrame) }),
    scope: 'saves:read',
  },
  {
    method: 'post',
    path: '/api/favourites',
    tag: 'Account',
    summary: 'Save a frame; a second time changes nothing',
    body: SaveBody,
    example: { frameId },
    answer: Ok,
    scope: 'saves:write',
    errors: [404],
    idempotent: true,
  },
  {
    method: 'get',
    path: '/api/favourites/export',
    tag: 'Account',
    summary: 'All saves with their credits, to take away',
    parameters: exportParameters,
    answer: SavesExport,
    alternatives: ['text/csv'],
    scope: 'saves:read',
  },
  {
    method: 'delete',
    path: '/api/favourites/:frameId',
    tag: 'Account',
    summary: 'Take a save back; a second time changes nothing',
    answer: Ok,
    scope: 'saves:write',
  },
  {
    method: 'get',
    path: '/api/boards',
    tag: 'Account',
    summary: 'This account’s boards with their item counts',
    parameters: pageParameters,
    answer: z.strictObject({ boards: z.array(Board) }),
    scope: 'boards:read',
  },
  {
    method: 'post',
    path: '/api/boards',
    tag: 'Account',
    summary: 'Create a board',
    body: BoardBody,
    example: { name: 'Logo reveals' },
    answer: z.strictObject({ board: Board }),
    status: 201,
    scope: 'boards:write',
    errors: [409],
    idempotent: true,
  },
  {
    method: 'get',
    path: '/api/boards/:id',
    tag: 'Account',
    summary: 'One board with its frames in the owner’s order',
    answer: z.strictObject({ board: BoardWithItems }),
    scope: 'boards:read',
    errors: [404],
  },
  {
    method: 'patch',
    path: '/api/boards/:id',
    tag: 'Account',
    summary: 'Rename a board',
    body: BoardBody,
    example: { name: 'Best logo reveals' },
    answer: z.strictObject({ board: Board }),
    scope: 'boards:write',
    errors: [404],
  },
  {
    method: 'delete',
    path: '/api/boards/:id',
    tag: 'Account',
    summary: 'Delete a board and its pins',
    answer: Ok,
    scope: 'boards:write',
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/boards/:id/frames',
    tag: 'Account',
    summary: 'Pin many frames at once',
    body: PinManyBody,
    example: { frameIds: [frameId], note: 'For the opening' },
    answer: z.strictObject({ ok: z.literal(true), pinned: z.array(z.string()), already: z.array(z.string()) }),
    scope: 'boards:write',
    errors: [404, 409],
    idempotent: true,
  },
  {
    method: 'put',
    path: '/api/boards/:id/frames/:frameId',
    tag: 'Account',
    summary: 'Pin a frame, move its pin, or change its note',
    body: PinBody,
    example: { note: 'For the opening', position: 0 },
    answer: z.strictObject({ ok: z.literal(true), position: z.int() }),
    scope: 'boards:write',
    errors: [404, 409],
  },
  {
    method: 'delete',
    path: '/api/boards/:id/frames/:frameId',
    tag: 'Account',
    summary: 'Unpin a frame; a second time changes nothing',
    answer: Ok,
    scope: 'boards:write',
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/boards/:id/export',
    tag: 'Account',
    summary: 'A board with its credits, to take away',
    parameters: exportParameters,
    answer: BoardExport,
    alternatives: ['text/csv'],
    scope: 'boards:read',
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/boards/:id/share',
    tag: 'Account',
    summary: 'Make a new share link; the one before it ends',
    body: z.strictObject({}),
    example: {},
    answer: z.strictObject({ url: z.url(), json_url: z.url() }),
    status: 201,
    scope: 'boards:write',
    errors: [404],
    idempotent: true,
  },
  {
    method: 'delete',
    path: '/api/boards/:id/share',
    tag: 'Account',
    summary: 'End the share link',
    answer: Ok,
    scope: 'boards:write',
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/shared/:token',
    tag: 'Account',
    summary: 'A shared board, for whoever has the link',
    answer: z.strictObject({ board: BoardWithItems.omit({ shared_at: true }) }),
    errors: [404],
  },
]

const SERVICE: readonly OperationEntry[] = [
  {
    method: 'post',
    path: '/api/mcp',
    tag: 'Tool server',
    summary: 'The Model Context Protocol: JSON-RPC 2.0, one request per call, no session',
    description:
      'Six library tools are open; a Pro key adds saves, boards and pins. Revisions 2026-07-28 (stateless) and 2025-03-26 to 2025-11-25 are spoken. Errors are JSON-RPC errors, but for a 401 and a 405.',
    body: RpcRequest,
    example: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_frames', arguments: { query: 'dark terminal' } },
    },
    answer: RpcResponse,
    errors: [401, 403, 404],
    problem: RpcResponse,
  },
  {
    method: 'patch',
    path: '/api/accounts/:id',
    tag: 'Operators',
    summary: 'Change an account’s plan; it holds from the next request on',
    body: AccountBody,
    example: { plan: 'pro' },
    answer: z.strictObject({ account: Account }),
    scope: 'accounts:write',
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/events',
    tag: 'Operators',
    summary: 'The event log, oldest first, as CloudEvents',
    parameters: eventParameters,
    answer: z.strictObject({ events: z.array(Event), next: z.string() }),
    scope: 'events:read',
  },
  {
    method: 'get',
    path: '/media/:name',
    tag: 'Library',
    summary: 'An image of a frame; what is behind a name never changes',
    answer: 'image/webp',
    errors: [404],
    cached: true,
  },
  {
    method: 'get',
    path: '/livez',
    tag: 'Service',
    summary: 'The process runs',
    answer: z.strictObject({ status: z.literal('ok') }),
    plain: true,
  },
  {
    method: 'get',
    path: '/readyz',
    tag: 'Service',
    summary: 'This instance should get traffic; 503 with the same shape when it should not',
    answer: ReadinessAnswer,
    problem: ReadinessAnswer,
    errors: [503],
    plain: true,
  },
  {
    method: 'get',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'This document',
    answer: z.looseObject({ openapi: z.string() }),
    errors: [400],
    plain: true,
    cached: true,
  },
  {
    method: 'get',
    path: '/llms.txt',
    tag: 'Service',
    summary: 'What a language model needs to know to use this service',
    answer: 'text/plain',
    errors: [400],
    plain: true,
    cached: true,
  },
]

/** Everything that is mounted for programs; a test holds it against the routers, both ways. Pages for people are not in it. */
export const OPERATIONS: readonly OperationEntry[] = [...READS, ...ACCOUNT, ...OPERATORS, ...SERVICE]
