import type { Request, Response } from 'express'
import { contextOf } from '../http/edge.ts'
import { LINK_POINTS } from '../http/rate-limit/budgets.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { parseEmail } from '../library/accounts/accounts.ts'
import {
  createSignInCode,
  endAllSessions,
  endSession,
  LINK_SEC,
  redeemSignInCode,
} from '../library/accounts/sessions.ts'
import { sha256 } from '../library/ids.ts'
import {
  formBody,
  formField,
  fromOurPages,
  ownPath,
  requireFormVisitor,
  requireVisitor,
  type SessionCookie,
  sessionCookie,
  setWayBack,
  type Visitor,
  visitorOf,
  WAY_BACK,
} from './guard.ts'
import { formToken, type Html, html } from './html.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

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
  const paid = priced(limits)

  router.get('/sign-in', paid, async (req, res) => {
    const to = req.query.to === 'here' ? cameFrom(req, publicUrl) : ownPath(req.query.to)
    if (await visitorOf(db, cookie, req)) return redirect(res, to ?? '/')
    setWayBack(res, { publicUrl, to })
    send(deps, res, {
      title: 'Sign in',
      body: signInForm({ by: deliveryOf(deps), reads: deps.config.reads }),
      modules: ['faults.js'],
    })
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
    const person = await requireVisitor(db, cookie, req)
    const page = layout(assets, { title: 'Sign out', body: signOutForm(person), person, noIndex: true })
    sendPage(res, { publicUrl, page })
  })
  const signOut = (end: (visitor: Visitor) => Promise<void>) => async (req: Request, res: Response) => {
    await end(await requireFormVisitor(db, cookie, req))
    cookie.clear(res)
    redirect(res, '/sign-in')
  }
  const here = signOut(({ token }) => endSession(db, token))
  const everywhere = signOut(({ account }) => endAllSessions(db, account))
  router.post('/web/sign-out', paid, ours, formBody, here)
  router.post('/web/sign-out-everywhere', paid, ours, formBody, everywhere)
  return router
}

function deliveryOf({ mailer, printLink }: PageDeps): Delivery {
  if (mailer) return 'mail'
  return printLink ? 'terminal' : 'nothing'
}

async function askForLink(deps: PageDeps, req: Request, res: Response): Promise<void> {
  const { limits, logger } = deps
  const { reads } = deps.config
  await limits.consume('links', contextOf(req).address, 1)
  const given = String(formField(req, 'email') ?? '')
  const by = deliveryOf(deps)
  if (by === 'nothing') return send(deps, res, { title: 'Sign in', body: signInForm({ by, reads }) })
  const email = tryParseEmail(given)
  if (email === undefined) {
    const error = 'This is not a valid e-mail address. Check it and try again.'
    send(deps, res, { title: 'Sign in', body: signInForm({ by, reads, email: given, error }), status: 400 })
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

async function sendLink({ db, config, publicUrl, mailer, printLink }: PageDeps, email: string): Promise<void> {
  const made = await createSignInCode(db, { email, newPlan: config.signup })
  if (!made) return
  const url = signInUrl(publicUrl, made.code)
  if (mailer) await mailer.send({ to: made.email, ...signInMail(url) })
  else printLink?.(`Sign-in link for ${made.email}: ${url}`)
}

async function confirm(deps: PageDeps, cookie: SessionCookie, req: Request, res: Response): Promise<void> {
  const { db, limits } = deps
  await limits.consume('links', contextOf(req).address, 1)
  const code = String(formField(req, 'code') ?? '')
  const session = await redeemSignInCode(db, { code })
  if (!session) {
    sendConfirm(deps, res, 'This link is used or expired. Ask for a new one.')
    return
  }
  const previous = cookie.read(req)
  if (previous) await endSession(db, previous)
  cookie.set(res, session.token)
  redirect(res, takeWayBack(req, res) ?? '/')
}

/** The page of ours whose link led here; undefined for a page of the sign-in itself, which is no place to return to. */
function cameFrom(req: Request, publicUrl: string): string | undefined {
  const from = req.headers.referer ?? ''
  const path = from.startsWith(`${publicUrl}/`) ? ownPath(from.slice(publicUrl.length)) : undefined
  return path !== undefined && /^\/(?:web\/|sign-(?:in|out)(?![\w-]))/.test(path) ? undefined : path
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
  const shown = layout(assets, { ...page, current: 'sign-in', noIndex: true })
  sendPage(res, { publicUrl, status, page: shown })
}

function redirect(res: Response, to: string): void {
  res.set('Cache-Control', 'no-store').redirect(303, to)
}

/** How a sign-in link reaches a person. */
type Delivery = 'mail' | 'terminal' | 'nothing'

const LINK_MINUTES = LINK_SEC / 60

interface SignInForm {
  by: Delivery
  reads: PageDeps['config']['reads']
  email?: string
  error?: string
}

function signInForm(form: SignInForm): Html {
  return html`<section class="narrow card"><h1>Sign in</h1>
${form.by === 'nothing' ? NO_DELIVERY : emailForm(form)}
<p class="hint">${form.reads === 'open' ? OPEN : MEMBERS}</p></section>`
}

const OPEN = html`Searching the library needs no account, and neither does its <a href="/docs">API</a>.`

const MEMBERS = 'This library is for its members: an operator invites them.'

const NO_DELIVERY = html`<p class="notice">Ask an operator for a sign-in link:
  <code>frames accounts link &lt;email&gt;</code> makes one. This service has no mail server.</p>`

function emailForm({ by, email, error }: SignInForm): Html {
  const invalid = error !== undefined && html` aria-invalid="true" aria-describedby="email-error"`
  const where = by === 'mail' ? ' by mail' : ': it appears in the terminal that runs the service'
  return html`<p>Get a sign-in link${where}. You need no password.</p>
<form method="post" action="/web/sign-in">
  <div class="field">
    <label for="email">E-mail address</label>
    <input id="email" name="email" type="email" autocomplete="email" required maxlength="254"
      value="${email}"${invalid}>
    ${error && html`<p class="error" id="email-error" role="alert">${error}</p>`}
    ${by === 'terminal' && html`<p class="hint">On a new service, sign in as <code>operator@localhost</code>.</p>`}
  </div>
  <button class="primary">Get a link</button>
</form>`
}

function sentTitle(by: Delivery): string {
  return by === 'mail' ? 'Look at your mail' : 'Look at the terminal'
}

/** The same page whether or not the address has an account. */
function sentPage(by: Delivery, email: string): Html {
  const help = by === 'mail' ? 'Look in the spam folder, or try' : 'Try'
  return html`<section class="narrow card"><h1>${sentTitle(by)}</h1>
<p>If <strong>${email}</strong> can sign in here, a link is on its way. It works once, for ${LINK_MINUTES} minutes.</p>
<p class="hint">Nothing there? ${help} <a href="/sign-in">again</a>.</p></section>`
}

function confirmForm(error?: string): Html {
  return html`<section class="narrow card"><h1>Sign in</h1>
${error && html`<p class="error" role="alert">${error}</p>`}
<form method="post" action="/web/sign-in/confirm" id="confirm">
  <div class="field" id="code-field">
    <label for="code">Code from your link <span class="hint">(the part after #)</span></label>
    <input id="code" name="code" required maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="off">
  </div>
  <button class="primary">Sign in</button>
</form>
${error && html`<p><a href="/sign-in">Ask for a new link</a></p>`}</section>`
}

function signOutForm(person: Visitor): Html {
  return html`<section class="narrow card"><h1>Sign out</h1>
<p>Your saves, boards and keys stay. To end every session, use <a href="/keys">your keys page</a>.</p>
<form method="post" action="/web/sign-out">
  ${formToken(person)}
  <button class="primary">Sign out of this browser</button>
</form></section>`
}

function signInMail(url: string): { subject: string; text: string } {
  return {
    subject: 'Sign in to Frame Library',
    text: `\
Open this link to sign in to Frame Library. It works once, for ${LINK_MINUTES} minutes.

${url}

If you did not ask for it, ignore this mail: only this link signs in.
`,
  }
}
