import { Router } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { type Authentication, callerOf } from '../http/authenticate.ts'
import { contextOf } from '../http/edge.ts'
import { answerPost, jsonBody } from '../http/idempotent-write.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { spend } from '../http/rate-limit/spend.ts'
import {
  createBoard,
  deleteBoard,
  listBoards,
  loadBoard,
  loadSharedBoard,
  MAX_BOARD_NAME,
  renameBoard,
  shareBoard,
  unshareBoard,
} from '../library/collections/boards.ts'
import { MAX_NOTE, MAX_PINS, pinFrame, pinFrames, unpinFrames } from '../library/collections/pins.ts'
import { readParameters } from '../parameters.ts'
import { type CollectionDeps, toBoards, toBoardWithItems } from '../views/collections.ts'
import { toExportRow } from '../views/export.ts'
import { exportParameters, pageParameters } from './collection-parameters.ts'
import { frameIdSchema, linkNext, sendExport } from './favourites.ts'

const name = z.string().trim().min(1).max(MAX_BOARD_NAME)
const note = z.string().max(MAX_NOTE).nullable().optional()
export const BoardBody = z.strictObject({ name })
export const PinBody = z.strictObject({ note, position: z.int().min(0).max(MAX_PINS).optional() })
export const PinManyBody = z.strictObject({ frameIds: z.array(frameIdSchema).min(1).max(500), note })

export interface BoardsDeps extends CollectionDeps {
  db: Db
  authentication: Authentication
  limits: RateLimits
}

/** The calling account's boards, and the boards behind share links, which need no key. */
export function boardsRouter({ db, search, publicUrl, authentication: { requireScope }, limits }: BoardsDeps): Router {
  const router = Router()
  const deps = { search, publicUrl }
  const read = requireScope('boards:read')
  const write = requireScope('boards:write')

  router.get('/api/boards', read, async (req, res) => {
    const { limit, after } = readParameters(req.originalUrl, pageParameters)
    const { boards, next } = await listBoards(db, callerOf(req).account.id, { limit, after })
    linkNext(req, res, publicUrl, { limit, next })
    res.json({ boards: await toBoards(deps, boards) })
  })

  router.post('/api/boards', write, jsonBody, async (req, res) => {
    const { name } = BoardBody.parse(req.body)
    await answerPost(db, req, res, async (tx) => {
      const board = await createBoard(tx, { accountId: callerOf(req).account.id, name })
      return { status: 201, body: { board: (await toBoards(deps, [board]))[0] } }
    })
  })

  router.get('/api/boards/:id', read, async (req, res) => {
    readParameters(req.originalUrl, {})
    res.json({ board: await toBoardWithItems(deps, await loadBoard(db, boardOf(req))) })
  })

  router.patch('/api/boards/:id', write, jsonBody, async (req, res) => {
    const { name } = BoardBody.parse(req.body)
    const board = await renameBoard(db, { ...boardOf(req), name })
    res.json({ board: (await toBoards(deps, [board]))[0] })
  })

  router.delete('/api/boards/:id', write, async (req, res) => {
    await deleteBoard(db, boardOf(req))
    res.json({ ok: true })
  })

  router.post('/api/boards/:id/frames', write, jsonBody, async (req, res) => {
    const { frameIds, note } = PinManyBody.parse(req.body)
    await answerPost(db, req, res, async (tx) => {
      const { pinned, already } = await pinFrames(tx, { ...boardOf(req), frameIds, note })
      return { status: 200, body: { ok: true, pinned, already } }
    })
  })

  router.put('/api/boards/:id/frames/:frameId', write, jsonBody, async (req, res) => {
    const { note, position } = PinBody.parse(req.body ?? {})
    const pin = await pinFrame(db, { ...boardOf(req), frameId: String(req.params.frameId), note, position })
    res.json({ ok: true, position: pin.position })
  })

  router.delete('/api/boards/:id/frames/:frameId', write, async (req, res) => {
    await unpinFrames(db, { ...boardOf(req), frameIds: [String(req.params.frameId)] })
    res.json({ ok: true })
  })

  router.get('/api/boards/:id/export', read, async (req, res) => {
    const { format } = readParameters(req.originalUrl, exportParameters)
    const { items, ...board } = await toBoardWithItems(deps, await loadBoard(db, boardOf(req)))
    sendExport(res, { format, name: `board-${board.id}`, rows: items.map(toExportRow), meta: { board } })
  })

  router.post('/api/boards/:id/share', write, jsonBody, async (req, res) => {
    z.strictObject({}).parse(req.body ?? {})
    await answerPost(db, req, res, async (tx) => {
      const { token } = await shareBoard(tx, boardOf(req))
      const body = { url: `${publicUrl}/shared/${token}`, json_url: `${publicUrl}/api/shared/${token}` }
      return { status: 201, body, secret: true }
    })
  })

  router.delete('/api/boards/:id/share', write, async (req, res) => {
    await unshareBoard(db, boardOf(req))
    res.json({ ok: true })
  })

  // Open to whoever has the link, and gone the moment it is revoked: never cached.
  router.get('/api/shared/:token', async (req, res) => {
    res.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex' })
    await spend(limits, (name, value) => res.set(name, value), 'anonymous', contextOf(req).address, POINTS.read)
    readParameters(req.originalUrl, {})
    const { shared_at: _, ...board } = await toBoardWithItems(deps, await loadSharedBoard(db, String(req.params.token)))
    res.json({ board })
  })

  return router
}

function boardOf(req: Parameters<typeof callerOf>[0]): { accountId: string; boardId: string } {
  return { accountId: callerOf(req).account.id, boardId: String(req.params.id) }
}
