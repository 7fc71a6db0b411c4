import type { ErrorRequestHandler, NextFunction, Request, Response } from 'express'
import { contextOf, loggedPath } from '../http/edge.ts'
import { openRefusalLog, problemOf, STATUS } from '../http/problem.ts'
import { ShareEnded } from '../library/collections/board-settings.ts'
import type { Logger } from '../logger.ts'
import type { Assets } from './assets.ts'
import { ownPath, setWayBack, type ViewerOf, wantsJson } from './guard.ts'
import { html } from './html.ts'
import { layout, sendPage } from './layout.ts'

/** Shows errors as pages, and as JSON to our scripts. A page that needs a session redirects to the sign-in. */
export function pageErrors({
  assets,
  publicUrl,
  logger,
  viewerOf,
}: {
  assets: Assets
  publicUrl: string
  logger: Logger
  viewerOf: ViewerOf
}): ErrorRequestHandler {
  const refused = openRefusalLog(logger)
  return async (error: unknown, req: Request, res: Response, next: NextFunction) => {
    const problem = problemOf(error, req)
    const fields = { requestId: res.get('X-Request-Id'), method: req.method, path: loggedPath(req), code: problem.code }
    if (problem.code === 'internal' || problem.code === 'unavailable')
      logger.error({ ...fields, err: error }, 'page failed')
    else refused(contextOf(req).address, fields, 'page refused')
    if (res.headersSent) return next(error)
    res.set('Cache-Control', 'no-store')
    if (problem.retryAfterSec !== undefined) res.set('Retry-After', String(Math.ceil(problem.retryAfterSec)))
    if (wantsJson(req)) {
      const { code, message, details } = problem
      res.status(STATUS[code]).json({ code, message, details })
      return
    }
    if (problem.code === 'unauthenticated') {
      const to = req.method === 'GET' ? ownPath(req.originalUrl) : undefined
      if (to !== undefined) setWayBack(res, to)
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
