import { z } from 'zod'
import type { Routes } from '../http/routes.ts'
import { CONSENT } from '../oauth/routes.ts'
import type { AccessRequest, AuthorizationServer } from '../oauth/server.ts'
import { type Actions, actionRouter, field, formToken } from './actions.ts'
import type { Visitor } from './guard.ts'
import { type Html, html } from './html.ts'
import { SCOPE_TEXT } from './keys-view.ts'
import type { PageDeps } from './page-deps.ts'

/** Where a person decides what an app may do. */
export function consentRouter(deps: PageDeps & { oauth: AuthorizationServer }): Routes {
  return actionRouter(deps, addConsent)
}

const Consent = z.object({ scope: field.list, decision: field.text })

function addConsent(actions: Actions, { oauth }: { oauth: AuthorizationServer }): void {
  const who = 'person'
  actions.page(CONSENT, who, { parameters: {} }, async ({ visitor, req, res }) => {
    const request = await oauth.requested(req, res, visitor.account.role)
    const title = `Let ${request.clientName} in?`
    return {
      title,
      current: 'keys',
      body: consentForm(request, visitor, req.originalUrl),
      formTo: request.returnOrigin,
    }
  })

  actions.action({ path: CONSENT, who, body: Consent }, async ({ visitor, body, req, res }) => {
    res.set('Cache-Control', 'no-store')
    if (body.decision === 'allow') await oauth.approve(req, res, { account: visitor.account, scopes: body.scope })
    else await oauth.deny(req, res)
    return undefined
  })
}

function consentForm(request: AccessRequest, visitor: Visitor, path: string): Html {
  const { clientName, scopes } = request
  return html`<section class="narrow card"><h1>Let “${clientName}” in?</h1>
<p>It asks to use this library as <strong>${visitor.account.email}</strong>.</p>
${nameNote(request)}
${request.toLoopback && LOOPBACK_NOTE}
<form method="post" action="${path}">
  ${formToken(visitor)}
  <fieldset>
    <legend>What it may do</legend>
    <div class="boxes">${scopes.map(
      (scope) => html`<label class="box">
        <input type="checkbox" name="scope" value="${scope}" checked>
        <span>${SCOPE_TEXT[scope]} <span class="hint"><code>${scope}</code></span></span>
      </label>`,
    )}</div>
  </fieldset>
  <p class="hint">It can always search the library. Your <a href="/keys#apps">keys page</a> lists it, and ends it.</p>
  <div class="actions">
    <button class="primary" name="decision" value="allow">Allow</button>
    <button name="decision" value="refuse">Refuse</button>
  </div>
</form></section>`
}

function nameNote({ vouchedBy, returnsTo }: AccessRequest): Html {
  const back = html`After your answer you return to <strong>${returnsTo}</strong>.`
  if (vouchedBy === null)
    return html`<p class="notice">The app chose this name itself, and nobody has checked it. ${back}</p>`
  return html`<p>The site <strong>${vouchedBy}</strong> describes the app under this name. ${back}</p>`
}

const LOOPBACK_NOTE = html`<p class="notice">The app runs on your own computer. Any program there can pretend to be it.
  Allow it only if you have just started the sign-in yourself.</p>`
