import type { ErrorRequestHandler, NextFunction, Request, Response } from 'express'
import { contextOf, loggedPath } from '../http/edge.ts'
import { charged, openRefusalLog, problemOf, STATUS } from '../http/problem.ts'
import { ShareEnded } from '../library/collections/board-settings.ts'
import { scrub } from '../logger.ts'
import { openMailer } from '../outbound/mailer.ts'
import { actionRouter } from './actions.ts'
import { loadAssets } from './assets.ts'
import { addBoardActions, addPinActions, addSaveActions } from './collections/collection-actions.ts'
import { addCollectionPages } from './collections/collection-pages.ts'
import { addExports } from './collections/exports.ts'
import { connectRouter } from './connect-page.ts'
import { addConsent } from './consent.ts'
import { crawlersRouter } from './crawlers.ts'
import { entityRouter } from './entity-pages.ts'
import { filmsRouter } from './films-pages.ts'
import { frameRouter } from './frame-page.ts'
import { ownPath, sessionPays, setWayBack, viewerReader, wantsJson } from './guard.ts'
import { html } from './html.ts'
import { addAccountEnd, addKeyPages } from './keys-page.ts'
import { layout, openSharedPages, sendPage } from './layout.ts'
import { addAccountPages } from './operator/accounts-page.ts'
import { addNewVideos } from './operator/add-videos.ts'
import { addAnalyticsPage } from './operator/analytics-page.ts'
import { addReviewPages } from './operator/review-page.ts'
import { addSystemPage } from './operator/system-page.ts'
import { addTechniquePages } from './operator/techniques-page.ts'
import { addVideoPages } from './operator/videos-page.ts'
import type { PageDeps } from './page-deps.ts'
import { privacyRouter } from './privacy-page.ts'
import { sharedBoardRouter } from './shared-board.ts'
import { signInRouter } from './sign-in.ts'
import { videoRouter } from './video-page.ts'
import { wallRouter } from './wall-page.ts'

/** What signed-in people see and do. */
const FOR_PEOPLE = [
  addConsent,
  addCollectionPages,
  addSaveActions,
  addBoardActions,
  addPinActions,
  addExports,
  addVideoPages,
  addNewVideos,
  addReviewPages,
  addTechniquePages,
  addAccountPages,
  addAnalyticsPage,
  addSystemPage,
  addKeyPages,
  addAccountEnd,
]

/** Tests replace the mail server, and where links are printed. */
export type PagesDeps = Omit<PageDeps, 'assets' | 'pages' | 'viewerOf'>

/** The wall, sign-in, keys and shared boards. */
export function openPages(deps: PagesDeps) {
  const assets = loadAssets(deps.limits)
  const { publicUrl } = deps
  const { smtpUrl, production } = deps.config
  const mailer = deps.mailer ?? (smtpUrl ? openMailer({ smtpUrl, publicUrl }) : undefined)
  // Only outside production, and not through the logger, which would remove the code.
  const print = deps.printLink ?? ((line: string) => void process.stdout.write(`${line}\n`))
  const printLink = mailer || production ? undefined : print
  const viewerOf = viewerReader(deps.db, publicUrl)
  const pages = openSharedPages({ ...deps, assets, viewerOf })
  const shared = { ...deps, assets, pages, viewerOf, mailer, printLink }
  const routers = [
    wallRouter(shared),
    frameRouter(shared),
    videoRouter(shared),
    entityRouter(shared),
    filmsRouter(shared),
    signInRouter(shared),
    actionRouter(shared, FOR_PEOPLE),
    sharedBoardRouter(shared),
    connectRouter(shared),
    privacyRouter(shared),
  ]
  const errors = pageErrors(shared)
  for (const router of routers) router.use(errors)
  return {
    /** For other pages: the files of the shell, and who looks. */
    assets,
    viewerOf,
    /** What a browser gets for an error outside these pages. */
    errors,
    routers: [assets.router, sessionPays(deps), ...routers, crawlersRouter(shared)],
    close: () => mailer?.close(),
  }
}

/** Shows errors as pages, and as JSON to our scripts. A page that needs a session redirects to the sign-in. */
function pageErrors({ assets, publicUrl, logger, viewerOf, limits }: PageDeps): ErrorRequestHandler {
  const refused = openRefusalLog(logger)
  return async (error: unknown, req: Request, res: Response, next: NextFunction) => {
    const problem = await charged(limits, problemOf(error, req), { req, res })
    const fields = { requestId: res.get('X-Request-Id'), method: req.method, path: loggedPath(req), code: problem.code }
    if (problem.code === 'internal' || problem.code === 'unavailable')
      logger.error({ ...fields, err: error }, 'page failed')
    else refused(contextOf(req).address, fields, 'page refused')
    if (res.headersSent) return next(error)
    res.set('Cache-Control', 'no-store')
    if (problem.retryAfterSec !== undefined) res.set('Retry-After', String(Math.ceil(problem.retryAfterSec)))
    if (wantsJson(req)) {
      const { code, message, details } = problem
      // A message may quote the request, and people put keys in the wrong places.
      const text = scrub(JSON.stringify({ code, message, details }))
      res.status(STATUS[code]).type('json').send(text)
      return
    }
    if (problem.code === 'unauthenticated') {
      const to = req.method === 'GET' ? ownPath(req.originalUrl) : undefined
      setWayBack(res, { publicUrl, to })
      res.redirect(303, '/sign-in')
      return
    }
    const missing = problem instanceof ShareEnded ? 'This link has ended' : 'Not found'
    const title = problem.code === 'not_found' ? missing : 'That did not work'
    const body = html`<section class="narrow card">
<h1>${title}</h1>
<p>${problem.message}</p>
<p><a class="button" href="/">To the wall</a></p>
</section>`
    // No session is looked up where the database may have failed, nor for each refusal of a flood.
    const viewer = WITHOUT_VIEWER.has(problem.code) ? 'anyone' : await viewerOf(req).catch(() => 'anyone' as const)
    const page = layout(assets, { title, body, noIndex: true, viewer })
    await sendPage(res, { publicUrl, status: STATUS[problem.code], page })
  }
}

const WITHOUT_VIEWER: ReadonlySet<string> = new Set(['internal', 'unavailable', 'rate_limited'])
