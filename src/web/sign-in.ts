import { type Request, type Response, Router } from 'express'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { contextOf } from '../http/edge.ts'
import { LINK_POINTS } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { parseEmail } from '../library/accounts/accounts.ts'
import {
  createSignInCode,
  endAllSessions,
  endSession,
  LINK_SEC,
  redeemSignInCode,
} from '../library/accounts/sessions.ts'
import { sha256 } from '../library/ids.ts'
import type { Logger } from '../logger.ts'
import type { Assets } from './assets.ts'
import { formBody, fromOurPages, requireForm, sessionCookie, visitorOf } from './guard.ts'
import { type Html, html } from './html.ts'
import { layout, sendPage } from './layout.ts'
import type { Mailer } from './mailer.ts'
import { pageErrors } from './page-errors.ts'

export interface SignInDeps {
  db: Db
  assets: Assets
  limits: RateLimits
  logger: Logger
  publicUrl: string
  signup: boolean
  mailer: Mailer | undefined
  /** Development without a mail server: where the link is printed. Never in production. */
  printLink: ((line: string) => void) | undefined
}

/** The code travels behind `#`, which browsers keep to themselves: no log and no Referer ever holds it. */
export function signInUrl(publicUrl: string, code: string): string {
  return `${publicUrl}/sign-in/confirm#${code}`
}

/** Signing in by a link that is mailed, and out again. */
export function signInRouter(deps: SignInDeps): Router {
  const { db, assets, limits, logger, publicUrl, mailer, printLink, signup } = deps
  const router = Router()
  const cookie = sessionCookie(publicUrl)
  const ours = fromOurPages(publicUrl)
  const by = mailer ? 'mail' : printLink ? 'terminal' : 'nothing'

  const sentTo = by === 'mail' ? 'Look at your mail' : 'Look at the terminal'

  function send(res: Response, title: string, body: Html, { status = 200, modules = [] as string[] } = {}): void {
    sendPage(res, { publicUrl, status, page: layout(assets, { title, current: 'keys', body, modules, noIndex: true }) })
  }

  router.get('/sign-in', async (req, res) => {
    if (await visitorOf(db, cookie, req)) {
      res.set('Cache-Control', 'no-store').redirect(303, '/keys')
      return
    }
    send(res, 'Sign in', signInForm({ by }))
  })

  router.post('/web/sign-in', ours, formBody, async (req, res) => {
    await limits.consume('links', contextOf(req).address, 1)
    const given = String((req.body as { email?: unknown })?.email ?? '')
    let email: string
    try {
      email = parseEmail(given)
    } catch {
      send(res, 'Sign in', signInForm({ by, email: given, error: 'That does not look like an e-mail address.' }), {
        status: 400,
      })
      return
    }
    await limits.consume('links', `mail:${sha256(email)}`, LINK_POINTS)
    // Not awaited, and the same page whatever comes of it: the answer and its time tell nobody which addresses have an account.
    deliver(email).catch((error: unknown) => logger.error({ err: error }, 'sign-in mail not sent'))
    send(
      res,
      sentTo,
      html`<section class="narrow card"><h1>${sentTo}</h1>
<p>If <strong>${email}</strong> can sign in here, a link is on its way. It works once, for ${LINK_SEC / 60} minutes.</p>
<p class="hint">Nothing there? ${by === 'mail' ? 'Look in the spam folder, or try' : 'Try'} <a href="/sign-in">again</a>.</p></section>`,
    )
  })

  async function deliver(email: string): Promise<void> {
    const made = await createSignInCode(db, { email, signup })
    if (!made) return
    const url = signInUrl(publicUrl, made.code)
    if (mailer)
      await mailer.send({
        to: made.email,
        subject: 'Sign in to Frame Library',
        text: `Open this link to sign in to Frame Library. It works once, for ${LINK_SEC / 60} minutes.\n\n${url}\n\nIf you did not ask for it, do nothing: nobody can sign in without it.\n`,
      })
    else printLink?.(`Sign-in link for ${made.email}: ${url}`)
  }

  router.get('/sign-in/confirm', (_req, res) => send(res, 'Confirm', confirmForm(), { modules: ['sign-in.js'] }))

  // A form, not the link itself, uses the code up: mail scanners open links.
  router.post('/web/sign-in/confirm', ours, formBody, async (req, res) => {
    await limits.consume('links', contextOf(req).address, 1)
    const code = String((req.body as { code?: unknown })?.code ?? '')
    const session = await redeemSignInCode(db, { code, signup })
    if (!session) {
      send(res, 'Confirm', confirmForm('This link has been used, or is too old. Ask for a new one.'), {
        status: 400,
        modules: ['sign-in.js'],
      })
      return
    }
    const previous = cookie.read(req)
    if (previous) await endSession(db, previous)
    cookie.set(res, session.token)
    res.set('Cache-Control', 'no-store').redirect(303, '/keys')
  })

  router.post('/web/sign-out', ours, formBody, async (req, res) => {
    const visitor = await signedIn(req)
    await endSession(db, visitor.token)
    leave(res)
  })

  router.post('/web/sign-out-everywhere', ours, formBody, async (req, res) => {
    const visitor = await signedIn(req)
    await endAllSessions(db, visitor.account)
    leave(res)
  })

  async function signedIn(req: Request) {
    const visitor = await visitorOf(db, cookie, req)
    if (!visitor) throw new AppError('unauthenticated', 'You are not signed in.')
    requireForm(visitor, req.body)
    return visitor
  }

  function leave(res: Response): void {
    cookie.clear(res)
    res.set('Cache-Control', 'no-store').redirect(303, '/sign-in')
  }

  router.use(pageErrors({ assets, publicUrl, logger }))
  return router
}

function signInForm({
  by,
  email,
  error,
}: {
  by: 'mail' | 'terminal' | 'nothing'
  email?: string
  error?: string
}): Html {
  return html`<section class="narrow card"><h1>Sign in</h1>
${
  by === 'nothing'
    ? html`<p class="notice">This service has no mail server. An operator makes you a link with <code>frames accounts link &lt;email&gt;</code>.</p>`
    : html`<p>${by === 'mail' ? 'We mail you a link.' : 'Without a mail server the link is printed in the terminal where the service was started.'} There is no password.</p>
<form method="post" action="/web/sign-in">
  <div class="field">
    <label for="email">E-mail address</label>
    <input id="email" name="email" type="email" autocomplete="email" required maxlength="254" value="${email}"${error && html` aria-invalid="true" aria-describedby="email-error"`}>
    ${error && html`<p class="error" id="email-error" role="alert">${error}</p>`}
  </div>
  <button class="primary">${by === 'mail' ? 'Mail me a link' : 'Print a link'}</button>
</form>`
}
<p class="hint">Searching the library needs no account.</p></section>`
}

function confirmForm(error?: string): Html {
  return html`<section class="narrow card"><h1>Sign in</h1>
${error && html`<p class="error" role="alert">${error}</p>`}
<form method="post" action="/web/sign-in/confirm" id="confirm">
  <div class="field" id="code-field">
    <label for="code">Code from your link <span class="hint">(what stands behind #)</span></label>
    <input id="code" name="code" required maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="off">
  </div>
  <button class="primary">Sign in</button>
</form>
${error && html`<p><a href="/sign-in">Ask for a new link</a></p>`}</section>`
}
