import { z } from 'zod'
import { CONSENT } from '../oauth/routes.ts'
import type { AccessRequest } from '../oauth/server.ts'
import { type Actions, field, type PersonPage } from './actions.ts'
import type { Visitor } from './guard.ts'
import { capitalized, formToken, type Html, html } from './html.ts'
import { SCOPE_TEXT } from './keys-view.ts'
import type { PageDeps } from './page-deps.ts'

const Consent = z.object({ scope: field.list, decision: field.text })

/** Where a person decides what an app may do. */
export function addConsent(actions: Actions, { oauth }: PageDeps): void {
  if (!oauth) return
  const who = 'person'
  actions.page(CONSENT, who, { parameters: {} }, async ({ visitor, req, res }) => {
    return consentPage(await oauth.requested(req, res, visitor.account.role), visitor, req.originalUrl)
  })

  actions.action({ path: CONSENT, who, body: Consent }, async ({ visitor, body, req, res }) => {
    res.set('Cache-Control', 'no-store')
    const allows = body.decision === 'allow'
    if (allows && body.scope.length === 0) {
      const request = await oauth.requested(req, res, visitor.account.role)
      return { page: consentPage(request, visitor, req.originalUrl, NOTHING_CHOSEN), status: 400 }
    }
    if (allows) await oauth.approve(req, res, { account: visitor.account, scopes: body.scope })
    else await oauth.deny(req, res)
    return undefined
  })
}

const NOTHING_CHOSEN = html`<p class="error" role="alert">Choose at least one, or refuse.</p>`

function consentPage(request: AccessRequest, visitor: Visitor, path: string, error?: Html): PersonPage {
  const body = consentForm(request, visitor, path, error)
  return { title: `Allow ${request.clientName}?`, current: 'keys', body, formTo: request.returnOrigin }
}

function consentForm(request: AccessRequest, visitor: Visitor, path: string, error?: Html): Html {
  const { clientName, scopes } = request
  return html`<section class="narrow card"><h1>Allow “${clientName}”?</h1>
<p>It wants to use this library as <strong>${visitor.account.email}</strong>.</p>
${nameNote(request)}
${request.toLoopback && LOOPBACK_NOTE}
<form method="post" action="${path}">
  ${formToken(visitor)}
  <fieldset>
    <legend>What it may do</legend>
    <div class="boxes">${scopes.map(
      (scope) => html`<label class="box">
        <input type="checkbox" name="scope" value="${scope}" checked>
        <span>${capitalized(SCOPE_TEXT[scope])}</span>
      </label>`,
    )}</div>
    ${error}
  </fieldset>
  <p class="hint">It can always search the library. Disconnect it on your <a href="/keys#apps">keys page</a>.</p>
  <div class="row actions">
    <button class="primary" name="decision" value="allow">Allow</button>
    <button name="decision" value="refuse">Refuse</button>
  </div>
</form></section>`
}

function nameNote({ vouchedBy, returnsTo }: AccessRequest): Html {
  const back = html`You then return to <strong>${returnsTo}</strong>.`
  if (vouchedBy === null)
    return html`<p class="notice">The app chose this name itself. Nobody has verified it. ${back}</p>`
  return html`<p>The site <strong>${vouchedBy}</strong> publishes this name for the app. ${back}</p>`
}

const LOOPBACK_NOTE = html`<p class="notice">The app runs on your own computer. Any program there can pretend to be it.
  Allow it only if you have just asked it to connect.</p>`
