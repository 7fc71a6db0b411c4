import express, { type Request, type Response } from 'express'
import { z } from 'zod'
import { AppError, notFound, readGiven } from '../errors.ts'
import { payerOf } from '../http/authenticate.ts'
import { contextOf } from '../http/edge.ts'
import { type Holding, POINTS, pointsForBytes, pointsForFrames } from '../http/rate-limit/budgets.ts'
import { holdUntilSent, limitOpenReads, spendMore } from '../http/rate-limit/rate-limits.ts'
import { type FormFile, receiveForm } from '../http/request-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { type Parameters, readPageParameters, type Values } from '../parameters.ts'
import {
  answerForm,
  fromOurPages,
  requireFormToken,
  requireFormVisitor,
  requireVisitor,
  sessionCookie,
  type Visitor,
  wantsJson,
} from './guard.ts'
import { formToken, type Html, hidden, html } from './html.ts'
import { layout, type Page, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/*
 * Pages and actions of signed-in people, declared as endpoints are: who may, what is sent, what it costs. Each is
 * checked in this order: session, form token, right, shape, points, slots. Only then does it work. An action is a form:
 * it works without script, where it ends on a page, and with script, where it answers JSON. Both come from the same
 * library functions, at the same price, as the API.
 */

/** Who may. `pro`: as over HTTP, saves and boards need that plan. To others an operator's page does not exist. */
type Who = 'person' | 'pro' | 'operator'

export interface Asked {
  visitor: Visitor
  /** A part of the path. */
  param(name: string): string
  req: Request
  res: Response
  /** Takes points beyond the declared ones, when a look shows more work. @throws RateLimited */
  charge(points: number): Promise<void>
}

interface Priced<Given> {
  /** Points; POINTS.read of a page and POINTS.write of an action if absent. */
  cost?: number | ((given: Given) => number)
  /** Takes one of the account's concurrent slots until the answer is sent. */
  holds?: Holding
}

interface PageOptions<P extends Parameters> extends Priced<Values<P>> {
  /** The query by its table, as of endpoints. Without a table the query is not read. */
  parameters?: P
}

export interface ActionOptions<B extends z.ZodType> extends Priced<z.output<B>> {
  path: string
  who: Who
  /** The fields of the form, by the schemas of `field`. Others are not read. */
  body?: B
  /** What is asked before a form without the session's token is believed, as shared pages without script send it. */
  confirm?: (body: z.output<B>) => { title: string; body: Html; button: string }
}

interface FileOptions {
  path: string
  who: Who
  maxBytes: number
}

type GivenFile = FormFile & {
  /** Known once the file is read. @throws AppError forbidden without the session's token */
  proven: () => Promise<void>
}

/** JSON for scripts and a path for everyone else. */
type Told = { json: object; to: string }
/**
 * What an action ends with: that, or a page. `first`: a page for everyone else before they go there, unless their form
 * names where to return to.
 */
export type Done = (Told & { first?: PersonPage | null }) | { page: PersonPage; status?: number }

export type PersonPage = Omit<Page, 'person' | 'viewer' | 'noIndex'> & { formTo?: string }

/** Many frame ids: larger than the forms of accounts and keys. */
const actionBody = express.urlencoded({ extended: false, limit: '256kb', parameterLimit: 2_000 })

/** A router of pages and actions. Each takes its points from the account's budget. */
export function actionRouter(deps: PageDeps, parts: readonly ((actions: Actions, deps: PageDeps) => void)[]): Routes {
  const router = openRoutes()
  const actions = openActions(deps, router)
  for (const add of parts) add(actions, deps)
  return router
}

function openActions({ db, assets, limits, publicUrl }: PageDeps, router: Routes) {
  const cookie = sessionCookie(publicUrl)
  const paid = limitOpenReads(limits)
  const ours = fromOurPages(publicUrl)

  /** The right is checked, and the account pays from here on. */
  function admit(who: Who, visitor: Visitor, { req, res }: { req: Request; res: Response }): Asked {
    refuse(who, visitor)
    contextOf(req).payer = payerOf(visitor)
    const charge = (points: number) => spendMore(limits, { req, res }, points)
    return { visitor, req, res, charge, param: (name) => String(req.params[name]) }
  }

  async function pay<Given>(asked: Asked, { cost, holds }: Priced<Given>, given: Given, usual: number): Promise<void> {
    await asked.charge(typeof cost === 'function' ? cost(given) : (cost ?? usual))
    if (holds) holdUntilSent(limits, asked, holds)
  }

  function show(res: Response, visitor: Visitor, page: PersonPage, status = 200): void {
    const modules = [...(page.modules ?? []), 'forms.js']
    const shown = layout(assets, { ...page, modules, person: visitor, noIndex: true })
    sendPage(res, { publicUrl, status, page: shown, formTo: page.formTo })
  }

  return {
    /** A page. Undefined when the handler has sent the answer itself. */
    page<const P extends Parameters>(
      path: string,
      who: Who,
      options: PageOptions<P>,
      make: (asked: Asked & { query: Values<P> }) => Promise<PersonPage | undefined>,
    ): void {
      router.guarded({ method: 'get', path, who }, paid, async (req, res) => {
        const visitor = await requireVisitor(db, cookie, req)
        const asked = admit(who, visitor, { req, res })
        const { parameters } = options
        const query = parameters ? readPageParameters(req.originalUrl, parameters) : ({} as Values<P>)
        await pay(asked, options, query, POINTS.read)
        const page = await make({ ...asked, query })
        if (page) show(res, visitor, page)
      })
    },

    /** A form. Undefined when the handler has sent the answer itself. */
    action<B extends z.ZodType = z.ZodObject>(
      options: ActionOptions<B>,
      act: (asked: Asked & { body: z.output<B> }) => Promise<Done | undefined>,
    ): void {
      const { path, who, confirm } = options
      router.guarded({ method: 'post', path, who }, paid, ours, actionBody, async (req, res) => {
        const given = (req.body ?? {}) as Record<string, unknown>
        const unproven = confirm !== undefined && given.form === undefined && !wantsJson(req)
        const visitor = await (unproven ? requireVisitor : requireFormVisitor)(db, cookie, req)
        const asked = admit(who, visitor, { req, res })
        const body = (options.body ? readGiven(options.body, given) : {}) as z.output<B>
        if (unproven) {
          await asked.charge(POINTS.read)
          const question = confirm(body)
          return show(res, visitor, { title: question.title, body: confirmation(req, visitor, question) })
        }
        await pay(asked, options, body, POINTS.write)
        const done = await act({ ...asked, body })
        if (done === undefined) return
        if ('page' in done) show(res, visitor, done.page, done.status)
        else if (done.first && !given.back && !wantsJson(req)) show(res, visitor, done.first)
        else answerForm(req, res, done)
      })
    },

    /** A form with a file, paid by its bytes. The session's token comes with the other fields. */
    file({ path, who, maxBytes }: FileOptions, act: (given: GivenFile) => Promise<Told>): void {
      router.guarded({ method: 'post', path, who }, paid, ours, async (req, res) => {
        const visitor = await requireVisitor(db, cookie, req)
        const bytes = Math.min(Number(req.headers['content-length'] ?? maxBytes), maxBytes)
        const price = { cost: pointsForBytes(bytes), holds: 'uploads' } as const
        await pay(admit(who, visitor, { req, res }), price, req, POINTS.write)
        answerForm(req, res, await receiveFile(req, visitor, act))
      })
    },
  }
}
export type Actions = ReturnType<typeof openActions>

function receiveFile(req: Request, visitor: Visitor, act: (given: GivenFile) => Promise<Told>): Promise<Told> {
  const upload = (given: FormFile) => {
    const proven = async () => requireFormToken(visitor, (await given.fields).form)
    return act({ ...given, proven })
  }
  return receiveForm(req, upload, { also: ['form'] })
}

function refuse(who: Who, { account }: Visitor): void {
  if (who === 'operator' && account.role !== 'operator') throw notFound('page')
  if (who === 'pro' && account.plan !== 'pro')
    throw new AppError('plan_required', `This needs the pro plan; your account is on ${account.plan}.`)
}

const textsOf = (given: unknown) => [given ?? []].flat().filter((one): one is string => typeof one === 'string')

/** Frames that a form names. */
export const MAX_FRAMES = 500

const sent = z.unknown().optional()

/** The fields of forms, as people and scripts send them: none, one or several values of a name. */
export const field = {
  /** Empty when it is absent. */
  text: sent.transform((given) => textsOf(given)[0] ?? ''),
  /** Undefined when it is absent or empty. */
  filled: sent.transform((given) => textsOf(given)[0] || undefined),
  /** Undefined only when it is absent. */
  maybe: sent.transform((given) => textsOf(given)[0]),
  /** Undefined where it is not JSON. */
  json: sent.transform((given): unknown => {
    try {
      return JSON.parse(textsOf(given)[0] ?? '')
    } catch {
      return undefined
    }
  }),
  flag: sent.transform((given) => textsOf(given).length > 0),
  /** Must be sent: 1 or 0. */
  choice: sent
    .transform((given) => textsOf(given)[0])
    .pipe(z.enum(['0', '1']))
    .transform((given) => given === '1'),
  list: sent.transform((given) => [...new Set(textsOf(given))].filter((one) => one !== '')),
}

const upTo500 = field.list.refine(
  (ids) => ids.length <= MAX_FRAMES,
  `At most ${MAX_FRAMES} frames can be selected at once.`,
)
/** The frames that a form names: up to 500, or 1 to 500. */
export const frameFields = {
  maybe: upTo500,
  some: upTo500.refine((ids) => ids.length > 0, 'No frame is selected. Select one or more first.'),
}

/** A form of 1 to 500 frames. A write of them costs a point a frame. */
export const frameForm = {
  body: z.object({ frame: frameFields.some }),
  cost: ({ frame }: { frame: string[] }) => pointsForFrames(frame.length),
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
