import { z } from 'zod'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody } from '../http/response-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { findSharedBoard } from '../library/collections/board-settings.ts'
import { BOARD_PAGE, loadFoundBoard, PIN_CURSOR } from '../library/collections/boards.ts'
import { type Parameters, readPageParameters } from '../parameters.ts'
import { type PinnedFrame, toBoardWithItems } from '../views/collections.ts'
import { clock, counted, type Html, html, listPages, safeUrl } from './html.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** `/shared/{token}`: a board for everyone with its link. Never cached or indexed; no other site sees the link. */
export function sharedBoardRouter(deps: PageDeps): Routes {
  const { db, assets, limits, search, publicUrl, kept } = deps
  const router = openRoutes()

  router.get('/shared/:token', priced(limits, { noStore: true }), async (req, res) => {
    res.set({ 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex' })
    const { after } = readPageParameters(req.originalUrl, pageParameters)
    const token = String(req.params.token)
    const found = await findSharedBoard(db, token)
    const { value: page } = await kept.getOrLoad(`shared ${found.id} ${found.version} ${after ?? ''}`, async () => {
      const stored = await loadFoundBoard(db, found, { after, limit: BOARD_PAGE })
      const { next } = stored
      const board = await toBoardWithItems({ search, publicUrl }, stored)
      const body = boardPage(board, { after, next })
      const head = boardCard(board, `${publicUrl}/shared/${token}`)
      return new CompressibleBody(layout(assets, { title: board.name, noIndex: true, wide: true, body, head }))
    })
    return sendPage(res, { publicUrl, page })
  })
  return router
}

/** Open Graph (ogp.me) of a shared board. Whoever reads it has the link already. */
function boardCard({ name, item_count, items }: SharedBoard, address: string): Html {
  const [first] = items
  return html`<meta property="og:site_name" content="Frame Library">
<meta property="og:type" content="website">
<meta property="og:title" content="${name}">
<meta property="og:url" content="${address}">
<meta property="og:description" content="A board of ${counted(item_count, 'frame')}.">
${
  first &&
  html`<meta property="og:image" content="${first.image_url}">
<meta property="og:image:width" content="${first.width}">
<meta property="og:image:height" content="${first.height}">
<meta name="twitter:card" content="summary_large_image">
`
}`
}

const pageParameters = {
  after: { schema: z.string().regex(PIN_CURSOR), description: 'The cursor of the previous page.' },
} as const satisfies Parameters

type SharedBoard = Awaited<ReturnType<typeof toBoardWithItems>>

function boardPage(
  { name, description, item_count, items }: SharedBoard,
  { after, next }: { after: string | undefined; next: string | null },
): Html {
  return html`<h1>${name}</h1>
<p class="lead">A board of ${counted(item_count, 'frame')}.</p>
${description !== null && html`<p class="note">${description}</p>`}
${items.length === 0 ? html`<p class="empty">Nothing is pinned here yet.</p>` : frameList(items)}
${listPages({ first: after !== undefined && '?', next: next && `?after=${next}` })}`
}

function frameList(items: readonly PinnedFrame[]): Html {
  return html`<ul class="frames">${items.map(pinnedFrame)}</ul>`
}

function pinnedFrame(item: PinnedFrame): Html {
  const alt = item.caption ?? `Frame of ${item.video.title}`
  const size = html`width="${item.width}" height="${item.height}"`
  return html`<li><figure>
  <a href="/frames/${item.id}"><img src="${item.thumb_url}" alt="${alt}" ${size} loading="lazy" decoding="async"></a>
  <figcaption>
    ${item.note && html`<p class="note">${item.note}</p>`}
    <p class="credit">${sourceLink(item)}</p>
  </figcaption>
</figure></li>`
}

function sourceLink(item: PinnedFrame): Html {
  const { author, video, t_sec } = item
  const url = safeUrl(item.source_url ?? video.source_url)
  const credit = html`${video.title}${author !== null && ` · ${author}`} · ${clock(t_sec)}`
  return url ? html`<a href="${url}" rel="noreferrer">${credit}</a>` : credit
}
