import { z } from 'zod'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import { endShare, findSharedBoard, shareBoard, unshareBoard } from '../library/collections/board-settings.ts'
import { BoardWithItems, toBoardWithItems } from '../views/collections.ts'
import { OK, Ok } from '../views/resources.ts'
import type { App } from './app.ts'
import { boardOf, itemParameters, sendBoardPage } from './boards.ts'
import { LINK, nextCursor } from './reads.ts'

/** Share links of boards, and what they show to everyone. */
export const sharedBoardEndpoints = [
  idempotentPost(
    {
      id: 'shareBoard',
      path: '/api/boards/:id/share',
      tag: 'Account',
      summary: 'Make a new share link; the previous one ends',
      body: z.strictObject({}),
      bodyOptional: true,
      example: {},
      answer: z.strictObject({ url: z.url(), json_url: z.url() }),
      status: 201,
      scope: 'boards:write',
      errors: [404],
    },
    async ({ publicUrl }: App, input) => {
      const { token } = await shareBoard(input.tx, boardOf(input))
      return { url: `${publicUrl}/shared/${token}`, json_url: `${publicUrl}/api/shared/${token}` }
    },
    { secret: true, locationOf: ({ json_url }) => new URL(json_url).pathname },
  ),

  endpoint(
    {
      id: 'unshareBoard',
      method: 'delete',
      path: '/api/boards/:id/share',
      tag: 'Account',
      summary: 'End the share link',
      answer: Ok,
      scope: 'boards:write',
      allowLapsedPlan: true,
      errors: [404],
    },
    async ({ db }: App, input) => {
      await unshareBoard(db, boardOf(input))
      return OK
    },
  ),

  endpoint(
    {
      id: 'endShare',
      method: 'delete',
      path: '/api/shared/:token',
      tag: 'Operators',
      summary: 'End a share link, whoever owns the board',
      answer: Ok,
      scope: 'accounts:write',
      errors: [404],
    },
    async ({ db }: App, { params }) => {
      await endShare(db, params.token)
      return OK
    },
  ),

  endpoint(
    {
      id: 'getSharedBoard',
      method: 'get',
      path: '/api/shared/:token',
      tag: 'Account',
      summary: 'A shared board, for everyone who has the link',
      parameters: itemParameters,
      price: 'search',
      answer: z.strictObject({ board: BoardWithItems.omit({ shared_at: true }), next: nextCursor }),
      answerHeaders: LINK,
      errors: [404],
      // Not cached: the link ends as soon as it is revoked.
      headers: { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex' },
    },
    async (deps: App, input) =>
      sendBoardPage(deps, input, {
        kind: 'shared',
        look: () => findSharedBoard(deps.db, input.params.token),
        async view(stored) {
          const { shared_at: _, ...board } = await toBoardWithItems(deps, stored)
          return board
        },
      }),
  ),
]
