import { z } from 'zod'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import { listSaves, saveFrame, unsaveFrames } from '../library/collections/saves.ts'
import { SavedFrame, savedBatches, toSavedFrames } from '../views/collections.ts'
import { exportParameters, exportShape, sendDownload, sendList } from '../views/export.ts'
import { frameIdSchema } from '../views/frame.ts'
import { OK, Ok } from '../views/resources.ts'
import type { App } from './app.ts'
import { LINK, linkNext, MAX_LIMIT, nextCursor, nextOf, pageParameters } from './reads.ts'

/** The saves of the calling account (docs/interface.md §4.5 and §4.6), and their export. */
export const favouriteEndpoints = [
  endpoint(
    {
      id: 'listSavedFrames',
      method: 'get',
      path: '/api/favourites',
      tag: 'Account',
      summary: 'Every frame this account has saved, newest save first',
      description: 'Everything at once; with `limit` a page, whose `next` leads to the one after.',
      parameters: pageParameters(/^[0-9]{1,15}$/),
      answer: z
        .strictObject({ frames: z.array(SavedFrame), next: nextCursor.optional() })
        .meta({ id: 'SavesResponse' }),
      answerHeaders: LINK,
      price: 'search',
      scope: 'saves:read',
    },
    async (deps: App, { caller, query: { limit, after }, req, res, sendPieces }) => {
      if (limit === undefined && after === undefined)
        return sendList({ sendPieces }, {}, 'frames', savedBatches(deps, caller.account.id))
      const { saves, next } = await listSaves(deps.db, caller.account.id, { limit: limit ?? MAX_LIMIT, after })
      linkNext({ req, res }, deps.publicUrl, { limit, next })
      return { frames: await toSavedFrames(deps, saves), ...nextOf({ limit, after }, next) }
    },
  ),

  idempotentPost(
    {
      id: 'saveFrame',
      path: '/api/favourites',
      tag: 'Account',
      summary: 'Save a frame; a second time changes nothing',
      body: z.strictObject({ frameId: frameIdSchema }),
      example: { frameId: 'k3v9x0aq7m2d-1a4c' },
      answer: Ok,
      scope: 'saves:write',
      errors: [404],
    },
    async (_deps: App, { tx, caller, body }) => {
      await saveFrame(tx, { accountId: caller.account.id, frameId: body.frameId })
      return OK
    },
  ),

  endpoint(
    {
      id: 'exportSavedFrames',
      method: 'get',
      path: '/api/favourites/export',
      tag: 'Account',
      summary: 'All saves with their credits, as a file',
      parameters: exportParameters,
      answer: z.strictObject(exportShape).meta({ id: 'SavesExport' }),
      alternatives: ['text/csv'],
      scope: 'saves:read',
      price: 'heavy',
      allowLapsedPlan: true,
    },
    async (deps: App, { caller, query: { format }, res, sendPieces }) => {
      const batches = savedBatches(deps, caller.account.id)
      return sendDownload({ res, sendPieces }, { format, name: 'saves', batches })
    },
  ),

  endpoint(
    {
      id: 'unsaveFrame',
      method: 'delete',
      path: '/api/favourites/:frameId',
      tag: 'Account',
      summary: 'Remove a save; a second time changes nothing',
      answer: Ok,
      scope: 'saves:write',
      allowLapsedPlan: true,
    },
    async ({ db }: App, { caller, params }) => {
      await unsaveFrames(db, { accountId: caller.account.id, frameIds: [params.frameId] })
      return OK
    },
  ),
]
