import { z } from 'zod'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import { pointsForFrames } from '../http/rate-limit/budgets.ts'
import { MAX_NOTE, MAX_PINS, pinFrame, pinFrames, unpinFrames } from '../library/collections/pins.ts'
import { frameIdSchema } from '../views/frame.ts'
import { OK, Ok } from '../views/ok.ts'
import { type BoardsDeps, boardOf } from './board-page.ts'

const note = z.string().max(MAX_NOTE).nullable().optional()

/** Frames on the boards of the calling account. */
export const pinEndpoints = [
  idempotentPost(
    {
      id: 'pinFrames',
      method: 'post',
      path: '/api/boards/:id/frames',
      tag: 'Account',
      summary: 'Pin many frames at once',
      body: z.strictObject({ frameIds: z.array(frameIdSchema).min(1).max(500), note }),
      example: { frameIds: ['k3v9x0aq7m2d-1a4c'], note: 'For the opening' },
      answer: z.strictObject({ ok: z.literal(true), pinned: z.array(z.string()), already: z.array(z.string()) }),
      scope: 'boards:write',
      errors: [404, 409],
    },
    async (_deps: BoardsDeps, input) => {
      const { pinned, already } = await pinFrames(input.tx, { ...boardOf(input), ...input.body })
      return { ok: true as const, pinned, already }
    },
    { pointsOf: ({ frameIds }) => pointsForFrames(frameIds.length) },
  ),

  endpoint(
    {
      id: 'pinFrame',
      method: 'put',
      path: '/api/boards/:id/frames/:frameId',
      tag: 'Account',
      summary: 'Pin a frame, move its pin, or change its note',
      body: z.strictObject({ note, position: z.int().min(0).max(MAX_PINS).optional() }),
      bodyOptional: true,
      example: { note: 'For the opening', position: 0 },
      answer: z.strictObject({ ok: z.literal(true), position: z.int() }),
      scope: 'boards:write',
      errors: [404, 409],
    },
    async ({ db }: BoardsDeps, input) => {
      const { note, position } = input.body
      const pin = await pinFrame(db, { ...boardOf(input), frameId: input.params.frameId, note, position })
      return { ok: true as const, position: pin.position }
    },
  ),

  endpoint(
    {
      id: 'unpinFrame',
      method: 'delete',
      path: '/api/boards/:id/frames/:frameId',
      tag: 'Account',
      summary: 'Unpin a frame; a second time changes nothing',
      answer: Ok,
      scope: 'boards:write',
      everyPlan: true,
      errors: [404],
    },
    async ({ db }: BoardsDeps, input) => {
      await unpinFrames(db, { ...boardOf(input), frameIds: [input.params.frameId] })
      return OK
    },
  ),
]
