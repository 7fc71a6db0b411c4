import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { makeZip } from 'client-zip'
import { z } from 'zod'
import { toSlug } from '../../clean-text.ts'
import { takeLongTurn } from '../../http/rate-limit/rate-limits.ts'
import { isClientGone } from '../../http/response-body.ts'
import { findBoard, loadBoard, loadFoundBoard } from '../../library/collections/boards.ts'
import { imageKeyOf } from '../../media/image-name.ts'
import type { Parameters, Values } from '../../parameters.ts'
import { type PinnedFrame, pinnedBatches, type SavedFrame, savedBatches, toBoards } from '../../views/collections.ts'
import { CSV_HEAD, type ExportRow, sendDownload, toCsvLines, toExportRow } from '../../views/export.ts'
import { boardTimeline, parseForm, sendTimeline, timelineParameters } from '../../views/timelines.ts'
import type { Actions, Asked } from '../actions.ts'
import { type Html, html, safeUrl, trusted } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'

const parameters = {
  format: { schema: z.enum(['json', 'csv', 'zip']), description: 'json (default), csv, or zip with the images.' },
} as const satisfies Parameters

/** A collection that is on its way out. */
interface Exported {
  /** Of the file, without its ending. */
  name: string
  title: string
  about?: object
  batches: AsyncIterable<readonly (SavedFrame | PinnedFrame)[]>
}

/** `/saves/export`, `/boards/{id}/export` and a board for editing programs, on every plan. */
export function addExports(actions: Actions, deps: PageDeps): void {
  const { db } = deps
  const options = { parameters, price: 'heavy' } as const
  actions.page('/saves/export', 'person', options, async (asked) => {
    const accountId = asked.visitor.account.id
    return send(deps, asked, { name: 'saves', title: 'Saves', batches: savedBatches(deps, accountId) })
  })
  actions.page('/boards/:id/export', 'person', options, async (asked) => {
    const at = { accountId: asked.visitor.account.id, boardId: asked.param('id') }
    const { board } = await loadBoard(db, at, { limit: 0 })
    const [shown] = await toBoards(deps, [board])
    return send(deps, asked, {
      name: toSlug(board.name) || `board-${board.id}`,
      title: board.name,
      about: { board: shown },
      batches: pinnedBatches(deps, board),
    })
  })
  const editing = { parameters: timelineParameters, price: 'heavy' } as const
  actions.page('/boards/:id/timeline.:format', 'person', editing, async (asked) => {
    const form = parseForm(asked.param('format'))
    const found = await findBoard(db, { accountId: asked.visitor.account.id, boardId: asked.param('id') })
    const make = async () => boardTimeline(deps, await loadFoundBoard(db, found), asked.query)
    return sendTimeline(streaming(deps, asked), make, { name: found.id, form, options: asked.query })
  })
}

type Exporting = Asked & { query: Values<typeof parameters> }

/** The same as endpoints have. */
const streaming = ({ sendPieces }: PageDeps, { req, res }: Pick<Asked, 'req' | 'res'>) => ({
  res,
  sendPieces: (pieces: AsyncIterable<string>, type: string) => sendPieces(req, res, pieces, type),
})

async function send(deps: PageDeps, asked: Exporting, exported: Exported): Promise<undefined> {
  const { format = 'json' } = asked.query
  if (format === 'zip') return sendZip(deps, asked, exported)
  return sendDownload(streaming(deps, asked), { format, ...exported })
}

/** One image is read at a time, when the client has taken the one before. */
async function sendZip(deps: PageDeps, { req, res }: Exporting, exported: Exported): Promise<undefined> {
  await takeLongTurn(deps.limits, { req, res })
  res.set({
    'Content-Type': 'application/zip',
    'Content-Disposition': `attachment; filename="${exported.name}.zip"`,
    'X-Content-Type-Options': 'nosniff',
  })
  try {
    await pipeline(Readable.fromWeb(makeZip(filesOf(deps, exported)) as ReadableStream<Uint8Array>), res)
  } catch (error) {
    if (!isClientGone(error)) throw error
  }
}

interface SheetEntry {
  /** Null where the image is gone. */
  file: string | null
  row: ExportRow
}

/**
 * The images of a collection in its order, with a contact sheet to look at and print (`index.html`) and a table
 * (`frames.csv`). Each file is made when the reader asks for it, so that a board of any size needs little memory.
 */
async function* filesOf({ readImage, publicUrl }: PageDeps, { title, batches }: Exported) {
  const entries: SheetEntry[] = []
  for await (const batch of batches)
    for (const frame of batch) {
      const image = await readImage(imageKeyOf(frame.image_url.slice(publicUrl.length)) ?? '')
      // Numbers first, so that a folder shows the owner's order.
      const file = `images/${String(entries.length + 1).padStart(4, '0')}-${frame.id}.webp`
      if (image) yield { name: file, input: image, lastModified: new Date() }
      entries.push({ file: image ? file : null, row: toExportRow(frame) })
    }
  yield { name: 'frames.csv', input: CSV_HEAD + toCsvLines(entries.map(({ row }) => row)), lastModified: new Date() }
  yield { name: 'index.html', input: contactSheet(title, entries).text, lastModified: new Date() }
}

const STYLE = `body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#1c1917}
ol{display:grid;grid-template-columns:repeat(auto-fill,minmax(16rem,1fr));gap:1.2rem;padding:0;list-style:none}
li{break-inside:avoid}img{width:100%;height:auto;border-radius:6px}p{margin:.3rem 0}.credit{color:#57534e}
@media print{ol{grid-template-columns:repeat(3,1fr)}}`

const POLICY = "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'"

/** A page of its own, without script: it is opened from the reader's disk. */
function contactSheet(title: string, entries: readonly SheetEntry[]): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<style>${trusted(STYLE)}</style></head>
<body><h1>${title}</h1><ol>${entries.map(sheetEntry)}</ol></body></html>
`
}

function sheetEntry({ file, row }: SheetEntry): Html {
  const source = safeUrl(row.source_url)
  return html`<li>${file ? html`<img src="${file}" alt="${row.caption}">` : html`<p>The image is no longer there.</p>`}
${row.note && html`<p>${row.note}</p>`}
${row.caption && html`<p>${row.caption}</p>`}
<p class="credit">${source ? html`<a href="${source}">${row.credit}</a>` : row.credit}</p></li>
`
}
