import type { Request, Response } from 'express'
import type { Db } from '../db/client.ts'
import { contextOf } from '../http/edge.ts'
import { LINK_POINTS } from '../http/rate-limit/budgets.ts'
import { limitOpenReads } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { parseEmail } from '../library/accounts/accounts.ts'
import {
  createSignInCode,
  endAllSessions,
  endSession,
  findSession,
  redeemSignInCode,
} from '../library/accounts/sessions.ts'
import { sha256 } from '../library/ids.ts'
import {
  formBody,
  fromOurPages,
  ownPath,
  requireFormVisitor,
  requireVisitor,
  type SessionCookie,
  sessionCookie,
  setWayBack,
  visitorOf,
  WAY_BACK,
} from './guard.ts'
import type { Html } from './html.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'
import { confirmForm, type Delivery, sentPage, sentTitle, signInForm, signInMail, signOutForm } from './sign-in-view.ts'

/** The code follows `#`, which browsers never send: no log and no Referer contains it. */
export function signInUrl(publicUrl: string, code: string): string {
  return `${publicUrl}/sign-in/confirm#${code}`
}

/** Signing in by a link, and signing out. */
export function signInRouter(deps: PageDeps): Routes {
  const { db, assets, limits, publicUrl } = deps
  const router = openRoutes()
  const cookie = sessionCookie(publicUrl)
  const ours = fromOurPages(publicUrl)
  const paid = limitOpenReads(limits)

  router.get('/sign-in', paid, async (req, res) => {
    const to = ownPath(req.query.to)
    if (await visitorOf(db, cookie, req)) return redirect(res, to ?? '/keys')
    if (to !== undefined) setWayBack(res, to)
    send(deps, res, { title: 'Sign in', body: signInForm({ by: deliveryOf(deps) }) })
  })
  router.post('/web/sign-in', paid, ours, formBody, (req, res) => askForLink(deps, req, res))

  router.get('/sign-in/confirm', paid, (_req, res) => sendConfirm(deps, res))
  // A form, not the link itself, uses up the code: mail scanners open links.
  router.post('/web/sign-in/confirm', paid, ours, formBody, (req, res) => confirm(deps, cookie, req, res))

  router.get('/web/me', paid, async (req, res) => {
    const visitor = await visitorOf(db, cookie, req)
    res.set('Cache-Control', 'no-store')
    if (!visitor) return res.json(null)
    const { id: _, ...account } = visitor.account
    res.json({ ...account, form: visitor.form })
  })

  router.get('/sign-out', paid, async (req, res) => {
    const { account, form } = await requireVisitor(db, cookie, req)
    const page = layout(assets, { title: 'Sign out', body: signOutForm(form), account, formToken: form, noIndex: true })
    sendPage(res, { publicUrl, page })
  })
  router.post('/web/sign-out', paid, ours, formBody, async (req, res) => {
    const visitor = await requireFormVisitor(db, cookie, req)
    await endSession(db, visitor.token)
    cookie.clear(res)
    redirect(res, '/sign-in')
  })

  router.post('/web/sign-out-everywhere', paid, ours, formBody, async (req, res) => {
    const visitor = await requireFormVisitor(db, cookie, req)
    await endAllSessions(db, visitor.account)
    cookie.clear(res)
    redirect(res, '/sign-in')
  })

  router.use(pageErrors(deps))
  return router
}

function deliveryOf({ mailer, printLink }: PageDeps): Delivery {
  if (mailer) return 'mail'
  return printLink ? 'terminal' : 'nothing'
}

async function askForLink(deps: PageDeps, req: Request, res: Response): Promise<void> {
  const { limits, logger } = deps
  await limits.consume('links', contextOf(req).address, 1)
  const given = String((req.body as { email?: unknown } | undefined)?.email ?? '')
  const by = deliveryOf(deps)
  const email = tryParseEmail(given)
  if (email === undefined) {
    const error = 'This is not a valid e-mail address. Check it and try again.'
    send(deps, res, { title: 'Sign in', body: signInForm({ by, email: given, error }), status: 400 })
    return
  }
  await limits.consume('links', `mail:${sha256(email)}`, LINK_POINTS)
  // Not awaited: neither the answer nor its time shows whether the address has an account.
  sendLink(deps, email).catch((error: unknown) => logger.error({ err: error }, 'sign-in mail not sent'))
  send(deps, res, { title: sentTitle(by), body: sentPage(by, email) })
}

function tryParseEmail(given: string): string | undefined {
  try {
    return parseEmail(given)
  } catch {
    return undefined
  }
}

async function sendLink({ db, signup, publicUrl, mailer, printLink }: PageDeps, email: string): Promise<void> {
  const made = await createSignInCode(db, { email, newPlan: signup })
  if (!made) return
  const url = signInUrl(publicUrl, made.code)
  if (mailer) await mailer.send({ to: made.email, ...signInMail(url) })
  else printLink?.(`Sign-in link for ${made.email}: ${url}`)
}

async function confirm(deps: PageDeps, cookie: SessionCookie, req: Request, res: Response): Promise<void> {
  const { db, limits } = deps
  await limits.consume('links', contextOf(req).address, 1)
  const code = String((req.body as { code?: unknown } | undefined)?.code ?? '')
  const session = await redeemSignInCode(db, { code })
  if (!session) {
    sendConfirm(deps, res, 'This link is used or expired. Ask for a new one.')
    return
  }
  const previous = cookie.read(req)
  if (previous) await endSession(db, previous)
  cookie.set(res, session.token)
  redirect(res, takeWayBack(req, res) ?? (await homeOf(db, session.token)))
}

/** Where a sign-in leads that no page asked for. */
async function homeOf(db: Db, token: string): Promise<string> {
  return (await findSession(db, token))?.account.role === 'operator' ? '/operator' : '/keys'
}

/** The page that asked for this sign-in. Only a path of ours is ever followed. */
function takeWayBack(req: Request, res: Response): string | undefined {
  const kept = /(?:^|; ?)back=([^;]+)/.exec(req.headers.cookie ?? '')?.[1]
  if (kept === undefined) return undefined
  res.clearCookie('back', WAY_BACK)
  try {
    return ownPath(decodeURIComponent(kept))
  } catch {
    return undefined
  }
}

function sendConfirm(deps: PageDeps, res: Response, error?: string): void {
  const status = error === undefined ? 200 : 400
  send(deps, res, { title: 'Confirm', body: confirmForm(error), status, modules: ['sign-in.js'] })
}

function send(
  { assets, publicUrl }: PageDeps,
  res: Response,
  { status, ...page }: { title: string; body: Html; status?: number; modules?: readonly string[] },
): void {
  const shown = layout(assets, { ...page, current: 'keys', noIndex: true })
  sendPage(res, { publicUrl, status, page: shown })
}

function redirect(res: Response, to: string): void {
  res.set('Cache-Control', 'no-store').redirect(303, to)
}
