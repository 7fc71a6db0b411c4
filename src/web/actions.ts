import express, { type Request, type Response } from 'express'
import type { Db } from '../db/client.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { payerOf } from '../http/authenticate.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { limitOpenReads } from '../http/rate-limit/spend.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import type { Logger } from '../logger.ts'
import type { Assets } from './assets.ts'
import { answerForm, fromOurPages, requireFormVisitor, requireVisitor, sessionCookie, type Visitor } from './guard.ts'
import { type Html, html } from './html.ts'
import { layout, type Page, sendPage } from './layout.ts'
import { pageErrors } from './page-errors.ts'

/*
 * Pages and actions of signed-in people. An action is a form: it works without script, where it ends on a page, and
 * with script, where it answers JSON. Both come from the same library functions as the API.
 */

export interface ActionDeps {
  db: Db
  assets: Assets
  limits: RateLimits
  logger: Logger
  publicUrl: string
}

/** Who may. `pro`: as over HTTP, saves and boards need that plan. To others an operator's page does not exist. */
type Who = 'person' | 'pro' | 'operator'

export interface Asked {
  visitor: Visitor
  fields: Fields
  /** A part of the path. */
  param(name: string): string
  req: Request
  res: Response
}

/** The fields of a form, as people and scripts send them. */
export interface Fields {
  /** Empty when it is absent. */
  one(name: string): string
  many(name: string): string[]
  has(name: string): boolean
}

/** What an action ends with: JSON for scripts and a path for everyone else, or a page. */
type Done = { json: object; to: string } | { page: PersonPage; status?: number }

type PersonPage = Omit<Page, 'account' | 'formToken' | 'viewer' | 'noIndex'>

/** Many frame ids: larger than the forms of accounts and keys. */
const actionBody = express.urlencoded({ extended: false, limit: '256kb', parameterLimit: 2_000 })

interface ActionOptions {
  /** The points of the action by its fields; POINTS.write if absent. */
  points?: (fields: Fields) => number
  /** The points of what the fields name, where that is more: looked up once the visitor is let in. */
  pointsOf?: (asked: Asked) => Promise<number>
  /** What is asked before a form without the session's token is believed, as shared pages without script send it. */
  confirm?: (asked: Asked) => Promise<{ title: string; body: Html; button: string }>
}

/** A router of pages and actions. Its errors are pages too. */
export function actionRouter<Deps extends ActionDeps>(
  deps: Deps,
  ...parts: ((actions: Actions, deps: Deps) => void)[]
): Routes {
  const router = openRoutes()
  const actions = openActions(deps, router)
  for (const add of parts) add(actions, deps)
  router.use(pageErrors(deps))
  return router
}

/** Adds pages and actions to a router. Each takes its points from the account's budget. */
function openActions({ db, assets, limits, publicUrl }: ActionDeps, router: Routes) {
  const cookie = sessionCookie(publicUrl)
  const paid = limitOpenReads(limits)
  const ours = fromOurPages(publicUrl)

  async function admit(who: Who, visitor: Visitor, points: number): Promise<void> {
    refuse(who, visitor)
    await charge(visitor, points)
  }

  /** As the API does: at most a whole budget minus a write. */
  async function charge(visitor: Visitor, points: number): Promise<void> {
    const { budget, subject } = payerOf(visitor)
    const most = limits.pointsOf(budget) - POINTS.write
    if (points > 0) await limits.consume(budget, subject, Math.max(1, Math.min(points, most)))
  }

  function show(res: Response, visitor: Visitor, page: PersonPage, status = 200): void {
    const { account, form } = visitor
    sendPage(res, { publicUrl, status, page: layout(assets, { ...page, account, formToken: form, noIndex: true }) })
  }

  return {
    /** A page. Undefined when the handler has sent the answer itself. */
    page(path: string, who: Who, make: (asked: Omit<Asked, 'fields'>) => Promise<PersonPage | undefined>): void {
      router.get(path, paid, async (req, res) => {
        const visitor = await requireVisitor(db, cookie, req)
        await admit(who, visitor, POINTS.read)
        const page = await make({ visitor, req, res, param: (name) => String(req.params[name]) })
        if (page) show(res, visitor, page)
      })
    },

    /** Takes a body of any kind, for scripts: the session's token is in `X-Form`. */
    put(
      path: string,
      who: Who,
      act: (asked: Omit<Asked, 'fields'>) => Promise<object>,
      points: (req: Request) => number,
    ) {
      router.put(path, paid, ours, async (req, res) => {
        req.body = { form: req.get('X-Form') }
        const visitor = await requireFormVisitor(db, cookie, req)
        await admit(who, visitor, points(req))
        res.set('Cache-Control', 'no-store')
        res.json(await act({ visitor, req, res, param: (name) => String(req.params[name]) }))
      })
    },

    /** A form that the handler reads itself: it checks the session's token and says where to go. */
    form(
      path: string,
      who: Who,
      act: (asked: Omit<Asked, 'fields'>) => Promise<string>,
      points: (req: Request) => number,
    ) {
      router.post(path, paid, ours, async (req, res) => {
        const visitor = await requireVisitor(db, cookie, req)
        await admit(who, visitor, points(req))
        const to = await act({ visitor, req, res, param: (name) => String(req.params[name]) })
        res.set('Cache-Control', 'no-store').redirect(303, to)
      })
    },

    action(path: string, who: Who, act: (asked: Asked) => Promise<Done>, options: ActionOptions = {}): void {
      const { points, pointsOf, confirm } = options
      router.post(path, paid, ours, actionBody, async (req, res) => {
        const fields = fieldsOf(req)
        const unproven = confirm !== undefined && !fields.has('form')
        const visitor = await (unproven ? requireVisitor : requireFormVisitor)(db, cookie, req)
        await admit(who, visitor, points?.(fields) ?? POINTS.write)
        const asked = { visitor, fields, req, res, param: (name: string) => String(req.params[name]) }
        if (unproven) {
          const question = await confirm(asked)
          return show(res, visitor, { title: question.title, body: confirmation(req, visitor, question) })
        }
        if (pointsOf) await charge(visitor, (await pointsOf(asked)) - POINTS.write)
        const done = await act(asked)
        if ('json' in done) answerForm(req, res, done)
        else show(res, visitor, done.page, done.status)
      })
    },
  }
}
export type Actions = ReturnType<typeof openActions>

function refuse(who: Who, { account }: Visitor): void {
  if (who === 'operator' && account.role !== 'operator') throw notFound('page')
  if (who === 'pro' && account.plan !== 'pro')
    throw new AppError('plan_required', `This needs the pro plan; your account is on ${account.plan}.`)
}

function fieldsOf(req: Request): Fields {
  const body = (req.body ?? {}) as Record<string, unknown>
  const many = (name: string) =>
    [Object.hasOwn(body, name) ? body[name] : []].flat().filter((one): one is string => typeof one === 'string')
  return { one: (name) => many(name)[0] ?? '', many, has: (name) => many(name).length > 0 }
}

/** The same form once more, with the session's token. */
function confirmation(
  req: Request,
  visitor: Visitor,
  { title, body, button }: { title: string; body: Html; button: string },
): Html {
  const fields = Object.entries((req.body ?? {}) as Record<string, unknown>)
  const kept = fields.flatMap(([name, given]) => [given].flat().map((value) => hidden(name, String(value))))
  return html`<section class="narrow card"><h1>${title}</h1>
<form method="post" action="${req.originalUrl}">
  ${formToken(visitor)}${kept}
  ${body}
  <button class="primary">${button}</button>
</form></section>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** What every form of a session must hold. */
export function formToken({ form }: Visitor): Html {
  return hidden('form', form)
}

/** Frames that a form names. */
const MAX_FRAMES = 500

/** The frames that a form names. @throws AppError invalid_request for none and for too many. */
export function framesOf(fields: Fields): string[] {
  const ids = [...new Set(fields.many('frame'))].filter((id) => id !== '')
  if (ids.length === 0) throw invalid('frame', 'No frame is selected. Select one or more first.')
  if (ids.length > MAX_FRAMES) throw invalid('frame', `At most ${MAX_FRAMES} frames can be selected at once.`)
  return ids
}

export { counted } from './words.ts'
