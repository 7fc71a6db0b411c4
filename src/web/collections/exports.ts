import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { z } from 'zod'
import { payerOf } from '../../http/authenticate.ts'
import { contextOf } from '../../http/edge.ts'
import { POINTS, pointsForItems } from '../../http/rate-limit/budgets.ts'
import { holdUntilSent } from '../../http/rate-limit/spend.ts'
import { isClientGone } from '../../http/stream-body.ts'
import { boardSize, loadBoard, pinBatches } from '../../library/collections/boards.ts'
import { countSaves, listSaves } from '../../library/collections/saves.ts'
import { toSlug } from '../../library/techniques/vocabulary.ts'
import { type Parameters, readParameters } from '../../parameters.ts'
import { type PinnedFrame, type SavedFrame, toBoards, toPinnedFrames, toSavedFrames } from '../../views/collections.ts'
import { BATCH, sendDownload } from '../../views/download.ts'
import { toExportRow } from '../../views/export.ts'
import type { Actions, Asked } from '../actions.ts'
import type { CollectionPagesDeps } from './collection-deps.ts'
import { zipOf } from './zip.ts'

const parameters = {
  format: { schema: z.enum(['json', 'csv', 'zip']), description: 'json (default), csv, or zip with the images.' },
} as const satisfies Parameters

type Batches = AsyncIterable<readonly (SavedFrame | PinnedFrame)[]>

/** A collection that is on its way out. */
interface Exported {
  /** Of the file, without its ending. */
  name: string
  title: string
  about?: object
  batches: Batches
}

/** `/saves/export` and `/boards/{id}/export`, on every plan. */
export function addExports(actions: Actions, deps: CollectionPagesDeps): void {
  actions.page('/saves/export', 'person', async (asked) => {
    const accountId = asked.visitor.account.id
    return send(deps, asked, {
      size: () => countSaves(deps.db, accountId),
      load: async () => ({ name: 'saves', title: 'Saves', batches: savedBatches(deps, accountId) }),
    })
  })
  actions.page('/boards/:id/export', 'person', async (asked) => {
    const at = { accountId: asked.visitor.account.id, boardId: asked.param('id') }
    return send(deps, asked, {
      size: () => boardSize(deps.db, at),
      async load() {
        const { board } = await loadBoard(deps.db, at, { limit: 0 })
        const [shown] = await toBoards(deps, [board])
        return {
          name: toSlug(board.name) || `board-${board.id}`,
          title: board.name,
          about: { board: shown },
          batches: pinnedBatches(deps, board),
        }
      },
    })
  })
}

async function* savedBatches(deps: CollectionPagesDeps, accountId: string): Batches {
  let after: string | undefined
  do {
    const { saves, next } = await listSaves(deps.db, accountId, { limit: BATCH, after })
    yield await toSavedFrames(deps, saves)
    after = next ?? undefined
  } while (after !== undefined)
}

async function* pinnedBatches(deps: CollectionPagesDeps, board: { id: string }): Batches {
  for await (const pins of pinBatches(deps.db, board, BATCH)) yield await toPinnedFrames(deps, pins)
}

async function* asRows(batches: Batches) {
  for await (const frames of batches) yield frames.map(toExportRow)
}

/** Checks, then pays, then loads: what is refused costs no work. */
async function send(
  deps: CollectionPagesDeps,
  { visitor, req, res }: Omit<Asked, 'fields'>,
  { size, load }: { size: () => Promise<number>; load: () => Promise<Exported> },
): Promise<undefined> {
  const { format = 'json' } = readParameters(req.originalUrl, parameters)
  const { budget, subject } = payerOf(visitor)
  contextOf(req).payer ??= { budget, subject }
  holdUntilSent(deps.limits, { req, res }, 'longAnswers')
  const items = await size()
  // An image costs what a read costs.
  await deps.limits.consume(
    budget,
    subject,
    Math.min(format === 'zip' ? items : pointsForItems(items), deps.limits.pointsOf(budget) - POINTS.write),
  )
  const { name, title, about, batches } = await load()
  res.set('Cache-Control', 'no-store')
  if (format === 'zip') return sendZip(deps, { req, res }, { name, title, batches })
  const sendPieces = (pieces: AsyncIterable<string>, type: string) => deps.longAnswers.send(req, res, pieces, type)
  return sendDownload({ res, sendPieces }, { format, name, ...(about ? { about } : {}), batches: asRows(batches) })
}

/** One image is read at a time, when the client has taken the one before. */
async function sendZip(
  { readImage, publicUrl }: CollectionPagesDeps,
  { res }: { req: Request; res: Response },
  { name, title, batches }: { name: string; title: string; batches: Batches },
): Promise<undefined> {
  res.set({
    'Content-Type': 'application/zip',
    'Content-Disposition': `attachment; filename="${name}.zip"`,
    'X-Content-Type-Options': 'nosniff',
  })
  try {
    await pipeline(Readable.fromWeb(zipOf({ title, batches, readImage, publicUrl })), res)
  } catch (error) {
    if (!isClientGone(error)) throw error
  }
}
