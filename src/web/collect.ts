import { type Request, type Response, Router } from 'express'
import type { Db } from '../db/client.ts'
import { AppError, invalid } from '../errors.ts'
import { payerOf } from '../http/authenticate.ts'
import { POINTS, pointsForFrames } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { limitOpenReads } from '../http/rate-limit/spend.ts'
import { ensureBoard, listBoards } from '../library/collections/boards.ts'
import { pinFrames, unpinFrames } from '../library/collections/pins.ts'
import { savedAmong, saveFrames, unsaveFrames } from '../library/collections/saves.ts'
import type { Logger } from '../logger.ts'
import type { Assets } from './assets.ts'
import type { Visitor } from './guard.ts'
import { answerForm, formBody, fromOurPages, requireFormVisitor, requireVisitor, sessionCookie } from './guard.ts'
import { pageErrors } from './page-errors.ts'

export interface CollectDeps {
  db: Db
  assets: Assets
  limits: RateLimits
  logger: Logger
  publicUrl: string
}

const MAX_FRAMES = 500

/**
 * What any page does with frames: save, pin, and take back. `frame` is repeated for several. Each answers JSON to a
 * script, and else goes to `back`.
 */
export function collectRouter(deps: CollectDeps): Router {
  const { db, assets, limits, logger, publicUrl } = deps
  const router = Router()
  const cookie = sessionCookie(publicUrl)
  const guards = [limitOpenReads(limits), fromOurPages(publicUrl), formBody]

  /** The sender of a form and its frames, paid for. Taking back stays open on every plan. */
  async function read(req: Request, { paidPlan }: { paidPlan: boolean }): Promise<[Visitor, string[]]> {
    const visitor = await requireFormVisitor(db, cookie, req)
    const frameIds = framesOf(req.body)
    const { budget, subject } = payerOf(visitor)
    await limits.consume(budget, subject, pointsForFrames(frameIds.length))
    if (paidPlan && visitor.account.plan !== 'pro')
      throw new AppError('plan_required', 'Saves and boards need the pro plan; your account is on free.')
    return [visitor, frameIds]
  }

  const form = (path: string, act: (req: Request) => Promise<object>) =>
    router.post(path, guards, async (req: Request, res: Response) =>
      answerForm(req, res, { json: await act(req), to: '/' }),
    )

  form('/web/saves', async (req) => {
    const [visitor, frameIds] = await read(req, { paidPlan: true })
    return saveFrames(db, { accountId: visitor.account.id, frameIds })
  })

  form('/web/unsaves', async (req) => {
    const [visitor, frameIds] = await read(req, { paidPlan: false })
    return unsaveFrames(db, { accountId: visitor.account.id, frameIds })
  })

  form('/web/pins', async (req) => {
    const [visitor, frameIds] = await read(req, { paidPlan: true })
    const accountId = visitor.account.id
    const { board, name, note } = req.body as { board?: string; name?: string; note?: string }
    return db.transaction(async (tx) => {
      const made = board ? undefined : (await ensureBoard(tx, { accountId, name: String(name ?? '') })).board
      const boardId = made?.id ?? String(board)
      return { board: boardId, ...(await pinFrames(tx, { accountId, boardId, frameIds, note: note || undefined })) }
    })
  })

  form('/web/unpins', async (req) => {
    const [visitor, frameIds] = await read(req, { paidPlan: false })
    const boardId = String((req.body as { board?: unknown }).board ?? '')
    return unpinFrames(db, { accountId: visitor.account.id, boardId, frameIds })
  })

  form('/web/saved', async (req) => {
    const [visitor, frameIds] = await read(req, { paidPlan: false })
    return { saved: await savedAmong(db, { accountId: visitor.account.id, frameIds }) }
  })

  router.get('/web/boards', limitOpenReads(limits), async (req, res) => {
    const visitor = await requireVisitor(db, cookie, req)
    const { budget, subject } = payerOf(visitor)
    await limits.consume(budget, subject, POINTS.read)
    const { boards } = await listBoards(db, visitor.account.id)
    const named = boards.map(({ id, name, itemCount }) => ({ id, name, item_count: itemCount }))
    res.set('Cache-Control', 'no-store').json({ boards: named })
  })

  router.use(pageErrors({ assets, publicUrl, logger }))
  return router
}

function framesOf(body: unknown): string[] {
  const ids = [(body as { frame?: unknown } | undefined)?.frame ?? []].flat().map(String)
  if (ids.length === 0 || ids.length > MAX_FRAMES || ids.some((id) => id === '' || id.length > 64))
    throw invalid('frame', `Name 1 to ${MAX_FRAMES} frames by their ids.`)
  return ids
}
