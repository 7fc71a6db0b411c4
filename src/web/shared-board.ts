import { z } from 'zod'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody } from '../http/response-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { findSharedBoard } from '../library/collections/board-settings.ts'
import { BOARD_PAGE, type Board, loadFoundBoard } from '../library/collections/boards.ts'
import { type Parameters, readPageParameters } from '../parameters.ts'
import type { ShownPin } from './collections/board-view.ts'
import { withFrames } from './collections/collection-pages.ts'
import { frameCard, openGraph } from './frame-card.ts'
import { sessionCookie, type Visitor, visitorOf } from './guard.ts'
import { counted, type Html, hidden, html, numberedPages } from './html.ts'
import { layout, sendPage, type Viewer, WITH_FRAMES } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** `/shared/{token}`: a board for everyone with its link. Never cached or indexed; no other site sees the link. */
export function sharedBoardRouter(deps: PageDeps): Routes {
  const { db, assets, limits, search, publicUrl, kept } = deps
  const router = openRoutes()
  const cookie = sessionCookie(publicUrl)

  router.get('/shared/:token', priced(limits, { noStore: true }), async (req, res) => {
    res.set({ 'Referrer-Policy': 'same-origin', 'X-Robots-Tag': 'noindex' })
    const { page = 1 } = readPageParameters(req.originalUrl, pageParameters)
    const token = String(req.params.token)
    const found = await findSharedBoard(db, token)
    const visitor = await visitorOf(db, cookie, req)
    const viewer: Viewer = visitor?.account.role ?? 'anyone'
    const plan = visitor?.account.id === found.accountId ? undefined : visitor?.account.plan
    const { owner } = found
    const key = `shared ${found.id} ${found.version} ${page} ${viewer} ${plan} ${owner}`
    const { value: shown } = await kept.getOrLoad(key, async () => {
      const { board, pins } = await loadFoundBoard(db, found, { limit: BOARD_PAGE, skip: (page - 1) * BOARD_PAGE })
      const data = { board, owner, pins: await withFrames(search, pins), page, plan, token }
      const modules = viewer === 'anyone' ? WITH_FRAMES.modules : [...WITH_FRAMES.modules, 'forms.js']
      const head = boardCard(data, publicUrl)
      const content = { title: board.name, noIndex: true, viewer, modules, body: boardPage(data, publicUrl), head }
      return new CompressibleBody(layout(assets, { ...WITH_FRAMES, ...content }))
    })
    return sendPage(res, { publicUrl, page: shown })
  })
  return router
}

interface SharedBoard {
  board: Board
  /** Its name for others; its address is for nobody else. */
  owner: string | null
  pins: readonly ShownPin[]
  page: number
  /** Of a reader who is signed in and not the owner. */
  plan: Visitor['account']['plan'] | undefined
  token: string
}

/** Whoever reads it has the link already. */
function boardCard({ board: { name, itemCount }, pins: [first], token }: SharedBoard, publicUrl: string): Html {
  const description = `A board of ${counted(itemCount, 'frame')}.`
  return openGraph(publicUrl, { title: name, description, path: `/shared/${token}`, image: first?.frame })
}

const pageParameters = {
  page: { schema: z.coerce.number().int().min(1).max(50), description: `Page of ${BOARD_PAGE} frames.` },
} as const satisfies Parameters

function boardPage({ board, owner, pins, page, plan, token }: SharedBoard, publicUrl: string): Html {
  const { name, description, itemCount } = board
  const cards = pins.map(({ frame, note }, n) => frameCard(frame, n, { note }))
  return html`<header class="entity"><h1>${name}</h1>
<p class="lead">${counted(itemCount, 'frame')}${owner !== null && ` by ${owner}`}</p>
${description !== null && html`<p class="note">${description}</p>`}
${plan === 'free' && html`<p class="hint">Saving it to your boards needs the pro plan.</p>`}
<div class="row tools"><button type="button" class="needs-script" data-copies="Link"
data-text="${publicUrl}/shared/${token}">Copy link</button>${
    plan === 'pro' &&
    html`<form method="post" action="/web/boards/copy">${hidden('shared', token)}
<button class="primary">Save to my boards</button></form>`
  }</div></header>
${itemCount === 0 && html`<p class="empty">No frame is here yet.</p>`}
<div class="wall pins" data-first="${(page - 1) * BOARD_PAGE}" data-total="${itemCount}">
<ol class="sheet">${cards}</ol></div>
${numberedPages(page, Math.ceil(itemCount / BOARD_PAGE), (n) => `?page=${n}`)}`
}
