import { type Request, type Response, Router } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { type Authentication, callerOf } from '../http/authenticate.ts'
import { answerPost, jsonBody } from '../http/idempotent-write.ts'
import { listSaves, saveFrame, unsaveFrames } from '../library/collections/saves.ts'
import { readParameters } from '../parameters.ts'
import { type CollectionDeps, toSavedFrames } from '../views/collections.ts'
import { toCsv, toExportRow } from '../views/export.ts'
import { exportParameters, pageParameters } from './collection-parameters.ts'

export const frameIdSchema = z.string().min(1).max(64)
export const SaveBody = z.strictObject({ frameId: frameIdSchema })

export interface FavouritesDeps extends CollectionDeps {
  db: Db
  authentication: Authentication
}

/** What the calling account has saved: sections 4.5 and 4.6 of the specification, taking back, and export. */
export function favouritesRouter({ db, search, publicUrl, authentication: { requireScope } }: FavouritesDeps): Router {
  const router = Router()

  router.get('/api/favourites', requireScope('saves:read'), async (req, res) => {
    const { limit, after } = readParameters(req.originalUrl, pageParameters)
    const { saves, next } = await listSaves(db, callerOf(req).account.id, { limit, after })
    linkNext(req, res, publicUrl, { limit, next })
    res.json({ frames: await toSavedFrames({ search, publicUrl }, saves) })
  })

  router.post('/api/favourites', requireScope('saves:write'), jsonBody, async (req, res) => {
    const { frameId } = SaveBody.parse(req.body)
    await answerPost(db, req, res, async (tx) => {
      await saveFrame(tx, { accountId: callerOf(req).account.id, frameId })
      return { status: 200, body: { ok: true } }
    })
  })

  router.get('/api/favourites/export', requireScope('saves:read'), async (req, res) => {
    const { format } = readParameters(req.originalUrl, exportParameters)
    const { saves } = await listSaves(db, callerOf(req).account.id)
    const frames = await toSavedFrames({ search, publicUrl }, saves)
    sendExport(res, { format, name: 'saves', rows: frames.map(toExportRow), meta: {} })
  })

  router.delete('/api/favourites/:frameId', requireScope('saves:write'), async (req, res) => {
    await unsaveFrames(db, { accountId: callerOf(req).account.id, frameIds: [String(req.params.frameId)] })
    res.json({ ok: true })
  })

  return router
}

/** Announces the rest of a list. Absolute, from PUBLIC_URL. */
export function linkNext(
  req: Request,
  res: Response,
  publicUrl: string,
  { limit, next }: { limit: number | undefined; next: string | null },
): void {
  if (next === null) return
  const query = new URLSearchParams({ ...(limit === undefined ? {} : { limit: String(limit) }), after: next })
  res.set('Link', `<${publicUrl}${req.path}?${query}>; rel="next"`)
}

export function sendExport(
  res: Response,
  {
    format = 'json',
    name,
    rows,
    meta,
  }: { format?: 'json' | 'csv' | undefined; name: string; rows: ReturnType<typeof toExportRow>[]; meta: object },
): void {
  res.set('Content-Disposition', `attachment; filename="${name}.${format}"`)
  if (format === 'csv') {
    res.type('text/csv; charset=utf-8').send(toCsv(rows))
    return
  }
  res.json({ ...meta, exported_at: new Date().toISOString(), items: rows })
}
