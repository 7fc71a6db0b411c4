import { z } from 'zod'
import { invalid } from '../errors.ts'
import { payerOf } from '../http/authenticate.ts'
import { markAccountDeleted, nameAccount } from '../library/accounts/accounts.ts'
import { listGrants, revokeGrant } from '../library/accounts/grants.ts'
import { createKey, listDeadKeys, listKeys, listLiveKeys, revokeKey, rotateKey } from '../library/accounts/keys.ts'
import type { Parameters } from '../parameters.ts'
import { type Actions, field, type PersonPage } from './actions.ts'
import { sessionCookie } from './guard.ts'
import { html } from './html.ts'
import { CreateForm, RotateForm } from './key-forms.ts'
import { type KeysView, keysPage } from './keys-view.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

const parameters = {
  done: { schema: z.string().max(20), description: 'Told: what was done.' },
  ended: { schema: z.string().max(64), description: 'The last ended key of the page before.' },
} as const satisfies Parameters

const DONE: Readonly<Record<string, string>> = {
  revoked: 'The key is revoked. Its next request will be refused.',
  named: 'Your name is saved.',
  disconnected: 'The app is disconnected. Its next request will be refused.',
}

/** `/keys`: create, see, rotate and revoke API keys. */
export function addKeyPages(actions: Actions, deps: PageDeps): void {
  const { db } = deps
  const who = 'person'
  actions.page('/keys', who, { parameters }, async ({ visitor, query }) => {
    const notice = query.done === undefined ? undefined : DONE[query.done]
    return showKeys(deps, { visitor, notice, ended: query.ended })
  })

  actions.action({ path: '/web/keys', who, body: CreateForm }, async ({ visitor, body }) => {
    const { name, scope: scopes, expires } = body
    const expiresAt = expires > 0 ? new Date(Date.now() + expires * 86_400_000) : undefined
    const made = await createKey(db, { accountId: visitor.account.id, name, scopes, expiresAt })
    return { page: await showKeys(deps, { visitor, made }), status: 201 }
  })

  actions.action({ path: '/web/keys/:id/rotate', who, body: RotateForm }, async ({ visitor, body, param }) => {
    const at = { accountId: visitor.account.id, keyId: param('id') }
    const made = await rotateKey(db, { ...at, graceSec: body.grace * 3600 })
    const replaced = (await listKeys(db, visitor.account.id)).find((key) => key.id === at.keyId)
    return { page: await showKeys(deps, { visitor, made: { ...made, replaced } }), status: 201 }
  })

  actions.action({ path: '/web/keys/:id/revoke', who }, async ({ visitor, param }) => {
    await revokeKey(db, { accountId: visitor.account.id, keyId: param('id') })
    return { json: { ok: true }, to: '/keys?done=revoked' }
  })

  actions.action({ path: '/web/apps/:id/revoke', who }, async ({ visitor, param }) => {
    await revokeGrant(db, { id: param('id'), accountId: visitor.account.id, by: 'owner' })
    return { json: { ok: true }, to: '/keys?done=disconnected' }
  })
}

/** The account's name and end, and the way back from the address of a form: it comes after every other action. */
export function addAccountEnd(actions: Actions, deps: PageDeps): void {
  const { db, assets, publicUrl } = deps
  const who = 'person'
  const cookie = sessionCookie(publicUrl)
  const remove = { path: '/web/account/delete', who, body: z.object({ email: field.text }) } as const
  actions.action(remove, async ({ visitor, body, res }) => {
    if (body.email.trim().toLowerCase() !== visitor.account.email)
      throw invalid('email', 'Type your e-mail address to confirm.')
    await markAccountDeleted(db, visitor.account.id)
    cookie.clear(res)
    sendPage(res, { publicUrl, page: layout(assets, { title: 'Account deleted', body: ACCOUNT_DELETED }) })
    return undefined
  })

  actions.action({ ...remove, path: '/web/account/name', body: z.object({ name: field.text }) }, async (asked) => {
    await nameAccount(db, { accountId: asked.visitor.account.id, name: asked.body.name })
    return { json: { ok: true }, to: '/keys?done=named' }
  })

  // A reader may reload or bookmark the address of a form.
  actions.page('/web/*rest', who, {}, async ({ res }) => {
    res.set('Cache-Control', 'no-store').redirect(303, '/keys')
    return undefined
  })
}

const ACCOUNT_DELETED = html`<section class="narrow card">
<h1>Your account is deleted</h1>
<p>Keys, saves and boards are gone.</p>
<p><a href="/">To the library</a></p>
</section>`

async function showKeys({ db, limits, publicUrl, config: { reads } }: PageDeps, view: KeysView): Promise<PersonPage> {
  const { account } = view.visitor
  const live = await listLiveKeys(db, account.id)
  const dead = await listDeadKeys(db, account.id, { after: view.ended })
  const grants = await listGrants(db, account.id)
  const { budget, subject } = payerOf(view.visitor)
  const usage = await limits.peek(budget, subject)
  const body = keysPage({ ...view, live, dead, grants, usage, publicUrl, reads, pointsOf: limits.pointsOf })
  return { title: 'API keys', current: 'keys', modules: ['keys.js'], body }
}
