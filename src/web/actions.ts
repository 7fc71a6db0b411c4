import express, { type Request, type Response } from 'express'
import { z } from 'zod'
import type { App } from '../api/app.ts'
import { AppError, notFound, readGiven } from '../errors.ts'
import { type Endpoint, priceOf } from '../http/endpoint.ts'
import { MOST_ITEMS, PRICES, type Price } from '../http/rate-limit/budgets.ts'
import { charge, holdUntilSent } from '../http/rate-limit/rate-limits.ts'
import { type FormFile, receiveForm } from '../http/request-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { OPERATOR_SCOPES } from '../library/accounts/key-checks.ts'
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
 * checked in this order: session, form token, right, points, shape, slots. Only then does it work. An action is a form:
 * it works without script, where it ends on a page, and with script, where it answers JSON. Both come from the same
 * library functions, at the same price, as the API. The form of an operation calls the operation itself.
 */

/** Who may. `pro`: as over HTTP, saves and boards need that plan. To others an operator's page does not exist. */
type Who = 'person' | 'pro' | 'operator'

export interface Asked {
  visitor: Visitor
  /** A part of the path. */
  param(name: string): string
  req: Request
  res: Response
}

interface PageOptions<P extends Parameters> {
  /** A read if absent. */
  price?: Price
  /** The query by its table, as of endpoints. Without a table the query is not read. */
  parameters?: P
}

export interface ActionOptions<B extends z.ZodType> {
  path: string
  who: Who
  /** A write if absent. */
  price?: Price
  /** The fields of the form, by the schemas of `field`. Others are not read. */
  body?: B
  /** What is asked before a form without the session's token is believed, as shared pages without script send it. */
  confirm?: (body: z.output<B>) => { title: string; body: Html; button: string }
}

interface FormOptions<B extends z.ZodType> {
  path: string
  of: Endpoint<App>
  /** The fields of the form, as the body of the operation. */
  body?: B
}

interface FileOptions {
  path: string
  who: Who
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

function openActions(deps: PageDeps, router: Routes) {
  const { db, assets, limits, publicUrl } = deps
  const cookie = sessionCookie(publicUrl)
  const ours = fromOurPages(publicUrl)

  /** Checks the right and takes the points. */
  async function admit(who: Who, price: Price, visitor: Visitor, exchange: Pick<Asked, 'req' | 'res'>): Promise<Asked> {
    refuse(who, visitor)
    exchange.res.set('Cache-Control', 'no-store')
    await charge(limits, exchange, PRICES[price])
    return { visitor, ...exchange, param: (name) => String(exchange.req.params[name]) }
  }

  function show(res: Response, visitor: Visitor, page: PersonPage, status = 200): void {
    const modules = [...(page.modules ?? []), 'forms.js']
    const shown = layout(assets, { ...page, modules, person: visitor, noIndex: true })
    sendPage(res, { publicUrl, status, page: shown, formTo: page.formTo })
  }

  const actions = {
    /** A page. Undefined when the handler has sent the answer itself. */
    page<const P extends Parameters>(
      path: string,
      who: Who,
      options: PageOptions<P>,
      make: (asked: Asked & { query: Values<P> }) => Promise<PersonPage | undefined>,
    ): void {
      const { parameters, price = 'read' } = options
      router.guarded({ method: 'get', path, who, price }, async (req, res) => {
        const visitor = await requireVisitor(db, cookie, req)
        const asked = await admit(who, price, visitor, { req, res })
        const query = parameters ? readPageParameters(req.originalUrl, parameters) : ({} as Values<P>)
        const page = await make({ ...asked, query })
        if (page) show(res, visitor, page)
      })
    },

    /** A form. Undefined when the handler has sent the answer itself. */
    action<B extends z.ZodType = z.ZodObject>(
      options: ActionOptions<B>,
      act: (asked: Asked & { body: z.output<B> }) => Promise<Done | undefined>,
    ): void {
      const { path, who, confirm, price = 'write' } = options
      router.guarded({ method: 'post', path, who, price }, ours, actionBody, async (req, res) => {
        const given = (req.body ?? {}) as Record<string, unknown>
        const unproven = confirm !== undefined && given.form === undefined && !wantsJson(req)
        const visitor = await (unproven ? requireVisitor : requireFormVisitor)(db, cookie, req)
        const asked = await admit(who, price, visitor, { req, res })
        const body = (options.body ? readGiven(options.body, given) : {}) as z.output<B>
        if (unproven) {
          const question = confirm(body)
          return show(res, visitor, { title: question.title, body: confirmation(req, visitor, question) })
        }
        const done = await act({ ...asked, body })
        if (done === undefined) return
        if ('page' in done) show(res, visitor, done.page, done.status)
        else if (done.first && !given.back && !wantsJson(req)) show(res, visitor, done.first)
        else answerForm(req, res, done)
      })
    },

    /** The form of an operation, which says who may, what it costs and what it takes. `to`: where it ends. */
    operation<B extends z.ZodType = z.ZodObject>(
      { path, of: operation, body: fields }: FormOptions<B>,
      to: (asked: Asked & { body: z.output<B> }, answer: never) => string,
    ): void {
      const options = { path, who: whoMay(operation), price: priceOf(operation), ...(fields ? { body: fields } : {}) }
      actions.action<B>(options, async (asked) => {
        const body = operation.body && readGiven(operation.body, asked.body)
        const input = { params: asked.req.params, body, caller: { account: asked.visitor.account } }
        const answer = await operation.act(deps, input as never)
        return { json: answer as object, to: to(asked, answer as never) }
      })
    },

    /** A form with a file. The session's token comes with the other fields. */
    file({ path, who }: FileOptions, act: (given: GivenFile) => Promise<Told>): void {
      router.guarded({ method: 'post', path, who, price: 'heavy' }, ours, async (req, res) => {
        const visitor = await requireVisitor(db, cookie, req)
        await admit(who, 'heavy', visitor, { req, res })
        holdUntilSent(limits, { req, res }, 'uploads')
        answerForm(req, res, await receiveFile(req, visitor, act))
      })
    },
  }
  return actions
}
export type Actions = ReturnType<typeof openActions>

function receiveFile(req: Request, visitor: Visitor, act: (given: GivenFile) => Promise<Told>): Promise<Told> {
  const upload = (given: FormFile) => {
    const proven = async () => requireFormToken(visitor, (await given.fields).form)
    return act({ ...given, proven })
  }
  return receiveForm(req, upload, { also: ['form'] })
}

function whoMay({ scope, allowLapsedPlan }: Endpoint<App>): Who {
  if ((OPERATOR_SCOPES as readonly string[]).includes(scope ?? '')) return 'operator'
  return allowLapsedPlan ? 'person' : 'pro'
}

function refuse(who: Who, { account }: Visitor): void {
  if (who === 'operator' && account.role !== 'operator') throw notFound('page')
  if (who === 'pro' && account.plan !== 'pro')
    throw new AppError('plan_required', `This needs the pro plan; your account is on ${account.plan}.`)
}

const textsOf = (given: unknown) => [given ?? []].flat().filter((one): one is string => typeof one === 'string')

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

const upToMost = field.list.refine(
  (ids) => ids.length <= MOST_ITEMS,
  `At most ${MOST_ITEMS} frames can be selected at once.`,
)
/** The frames that a form names: up to the most, or at least one. */
export const frameFields = {
  maybe: upToMost,
  some: upToMost.refine((ids) => ids.length > 0, 'No frame is selected. Select one or more first.'),
}

export const frameForm = z.object({ frame: frameFields.some })

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
