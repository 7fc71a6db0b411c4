import type { Request, Response } from 'express'
import type { Db } from '../db/client.ts'
import { notFound } from '../errors.ts'
import { contextOf } from '../http/edge.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import { limitOpenReads } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { keptOrInTurn } from '../http/versioned-cache.ts'
import { listBoardChoices } from '../library/collections/boards.ts'
import { savedAmong } from '../library/collections/saves.ts'
import { readPageParameters } from '../parameters.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import { requirePublicId } from '../views/parameters.ts'
import type { FrameActions } from './frame-actions.ts'
import { altOf } from './frame-card.ts'
import { type FrameData, framePage } from './frame-page.ts'
import { sessionCookie, type Visitor, visitorOf } from './guard.ts'
import { layout, openGraph, type Page, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'
import { clock } from './words.ts'

/** Frames shown before a frame, and after it. */
const AROUND = 8
const SIMILAR = 18
const MOST_BOARDS = 200

/** `/frames/{id}`: shared by those without a session, and with what they may do for everyone else. */
export function frameRouter(deps: PageDeps): Routes {
  const { db, assets, pages, search, kept, takeTurn, limits, publicUrl } = deps
  const router = openRoutes()
  const cookie = sessionCookie(publicUrl)

  const find = async (req: Request, id: string) => {
    if (!kept.isKept(`frame ${id}`, await kept.version()))
      limits.consumeLocally('anonymous', contextOf(req).address, POINTS.similar + POINTS.read)
    const asked = { key: `frame ${id}`, subject: contextOf(req).address }
    return (await keptOrInTurn({ kept, takeTurn }, asked, () => loadFrame(search, id))).value
  }

  async function sendPrivate(req: Request, res: Response, id: string, visitor: Visitor): Promise<void> {
    const person = await personOf(db, visitor, id)
    const page = toPage(await find(req, id), { publicUrl, person })
    const { account, form } = visitor
    await sendPage(res, { publicUrl, page: layout(assets, { ...page, account, formToken: form }) })
  }

  router.get('/frames/:id', limitOpenReads(limits, { points: POINTS.search }), async (req, res) => {
    readPageParameters(req.originalUrl)
    const id = String(req.params.id)
    requirePublicId('frame', id)
    const visitor = await visitorOf(db, cookie, req)
    res.vary('Cookie')
    if (visitor) return sendPrivate(req, res, id, visitor)
    return pages.send(req, res, {
      key: `frame ${id}`,
      coldPoints: POINTS.similar + POINTS.read,
      render: async () => toPage(await loadFrame(search, id), { publicUrl }),
    })
  })

  router.use(pageErrors(deps))
  return router
}

/** @throws AppError not_found */
async function loadFrame(search: LibrarySearch, id: string): Promise<FrameData> {
  const found = await search.frame(id)
  if (!found) throw notFound('frame')
  const { frame } = found
  const [similar, strip, vocabulary] = await Promise.all([
    search.similar(id, { filters: {}, limit: SIMILAR }),
    search.videoFrames(frame.video_id),
    search.techniques(),
  ])
  const at = strip?.findIndex((one) => one.id === id) ?? 0
  return {
    ...found,
    around: strip?.slice(Math.max(0, at - AROUND), at + AROUND + 1) ?? [],
    similar: similar ?? [],
    technique: vocabulary.find(({ slug }) => slug === frame.technique),
  }
}

async function personOf(db: Db, visitor: Visitor, id: string): Promise<NonNullable<FrameActions['person']>> {
  const accountId = visitor.account.id
  const mayCollect = visitor.account.plan === 'pro'
  const [saved, boards] = await Promise.all([
    savedAmong(db, { accountId, frameIds: [id] }),
    mayCollect ? listBoardChoices(db, accountId, { limit: MOST_BOARDS }) : [],
  ])
  const mayCorrect = visitor.account.role === 'operator'
  return { form: visitor.form, mayCollect, mayCorrect, saved: saved.length > 0, boards }
}

function toPage(data: FrameData, actions: FrameActions): Page {
  const { frame } = data
  const { video, author } = frame
  // As people look for it among tabs and bookmarks: whose, which film, when, and what is seen.
  const place = [author, video.title, clock(frame.t_sec)].filter((part) => part !== null).join(' · ')
  const title = frame.caption === null ? place : `${place}: ${frame.caption}`
  const description = frame.steal ?? `${video.title}${author === null ? '' : ` by ${author}`}, ${clock(frame.t_sec)}`
  return {
    title: title.slice(0, 120),
    current: 'wall',
    wide: true,
    modules: ['frame.js'],
    description,
    head: openGraph(actions.publicUrl, {
      title: altOf(frame),
      description,
      path: `/frames/${frame.id}`,
      image: { path: frame.image_path, width: frame.width, height: frame.height },
    }),
    body: framePage(data, actions),
  }
}
