import { type Request, type Response, Router } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { budgetOf, POINTS, type Usage } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { deleteAccount } from '../library/accounts/accounts.ts'
import {
  createKey,
  isLive,
  type KeyRecord,
  listKeys,
  MAX_KEYS,
  MEMBER_SCOPES,
  OPERATOR_SCOPES,
  revokeKey,
  rotateKey,
  SCOPES,
  type Scope,
} from '../library/accounts/keys.ts'
import type { Logger } from '../logger.ts'
import type { Assets } from './assets.ts'
import { clientConfigurations, curlLine } from './client-configurations.ts'
import { formBody, fromOurPages, requireForm, sessionCookie, type Visitor, visitorOf } from './guard.ts'
import { type Html, html } from './html.ts'
import { layout, sendPage } from './layout.ts'
import { pageErrors } from './page-errors.ts'

const SCOPE_TEXT: Record<Scope, string> = {
  'saves:read': 'see your saved frames',
  'saves:write': 'save and unsave frames',
  'boards:read': 'see your boards',
  'boards:write': 'create, fill, share and delete boards',
  'videos:write': 'queue, retry and delete videos',
  'library:write': 'correct annotations, keep the techniques',
  'accounts:write': 'change plans',
  'webhooks:write': 'manage webhooks',
  'events:read': 'read the event log',
}

const EXPIRIES = [
  { days: 0, label: 'Never' },
  { days: 7, label: 'In 7 days' },
  { days: 30, label: 'In 30 days' },
  { days: 90, label: 'In 90 days' },
  { days: 365, label: 'In a year' },
] as const
const GRACES = [
  { hours: 0, label: 'at once' },
  { hours: 1, label: 'in an hour' },
  { hours: 24, label: 'in a day' },
  { hours: 168, label: 'in a week' },
] as const

const oneOf = (values: readonly number[]) =>
  z.coerce.number().refine((value) => values.includes(value), 'choose one of the list')
const CreateForm = z.object({
  name: z.string().trim().min(1, 'Give the key a name.').max(80, 'A name has at most 80 characters.'),
  scope: z.preprocess(
    (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]),
    z.array(z.enum(SCOPES)).min(1, 'Choose at least one scope.'),
  ),
  expires: oneOf(EXPIRIES.map(({ days }) => days)),
})
const RotateForm = z.object({ grace: oneOf(GRACES.map(({ hours }) => hours)) })

export interface KeysPageDeps {
  db: Db
  assets: Assets
  limits: RateLimits
  logger: Logger
  publicUrl: string
}

interface View {
  visitor: Visitor
  /** A key that was just made: told in this answer and never again. */
  made?: { key: string; record: KeyRecord; instead?: KeyRecord | undefined }
  error?: { field: string; message: string }
  given?: { name: string; scopes: readonly string[]; days: number }
  notice?: string
}

/** `/keys`: make, see, rotate and revoke API keys. */
export function keysPageRouter({ db, assets, limits, logger, publicUrl }: KeysPageDeps): Router {
  const router = Router()
  const cookie = sessionCookie(publicUrl)
  const ours = fromOurPages(publicUrl)

  async function show(res: Response, view: View, status = 200): Promise<void> {
    const keys = await listKeys(db, view.visitor.account.id)
    const budget = budgetOf(view.visitor.account.plan)
    const usage = new Map<string, Usage>()
    for (const key of keys) if (isLive(key)) usage.set(key.id, await limits.peek(budget, key.id))
    const page = layout(assets, {
      title: 'API keys',
      current: 'keys',
      modules: ['keys.js'],
      account: view.visitor.account,
      formToken: view.visitor.form,
      noIndex: true,
      body: keysPage({ ...view, keys, usage, publicUrl, pointsOf: limits.pointsOf }),
    })
    sendPage(res, { publicUrl, status, page })
  }

  router.get('/keys', async (req, res) => {
    const visitor = await visitorOf(db, cookie, req)
    if (!visitor) throw new AppError('unauthenticated', 'You are not signed in.')
    const notice = req.query.done === 'revoked' ? 'The key is revoked. Its next request will be refused.' : undefined
    await show(res, { visitor, ...(notice ? { notice } : {}) })
  })

  async function signedIn(req: Request): Promise<Visitor> {
    const visitor = await visitorOf(db, cookie, req)
    if (!visitor) throw new AppError('unauthenticated', 'You are not signed in.')
    requireForm(visitor, req.body)
    await limits.consume(budgetOf(visitor.account.plan), `web:${visitor.account.id}`, POINTS.write)
    return visitor
  }

  router.post('/web/keys', ours, formBody, async (req, res) => {
    const visitor = await signedIn(req)
    const parsed = CreateForm.safeParse(req.body)
    const body = req.body as Record<string, unknown>
    const given = {
      name: String(body.name ?? ''),
      scopes: [body.scope ?? []].flat().map(String),
      days: Number(body.expires ?? 0),
    }
    if (!parsed.success) {
      const issue = parsed.error.issues[0]!
      await show(res, { visitor, given, error: { field: String(issue.path[0]), message: issue.message } }, 400)
      return
    }
    const { name, scope, expires } = parsed.data
    try {
      const made = await createKey(db, {
        accountId: visitor.account.id,
        name,
        scopes: scope,
        expiresAt: expires > 0 ? new Date(Date.now() + expires * 86_400_000) : undefined,
      })
      await show(res, { visitor, made }, 201)
    } catch (error) {
      if (!(error instanceof AppError) || (error.code !== 'invalid_request' && error.code !== 'conflict')) throw error
      await show(
        res,
        { visitor, given, error: { field: error.details?.[0]?.path ?? 'name', message: error.message } },
        error.code === 'conflict' ? 409 : 400,
      )
    }
  })

  router.post('/web/keys/:id/rotate', ours, formBody, async (req, res) => {
    const visitor = await signedIn(req)
    const { grace } = RotateForm.parse(req.body)
    const at = { accountId: visitor.account.id, keyId: String(req.params.id) }
    const made = await rotateKey(db, { ...at, graceSec: grace * 3600 })
    const instead = (await listKeys(db, visitor.account.id)).find((key) => key.id === at.keyId)
    await show(res, { visitor, made: { ...made, instead } }, 201)
  })

  router.post('/web/keys/:id/revoke', ours, formBody, async (req, res) => {
    const visitor = await signedIn(req)
    await revokeKey(db, { accountId: visitor.account.id, keyId: String(req.params.id) })
    res.set('Cache-Control', 'no-store').redirect(303, '/keys?done=revoked')
  })

  router.post('/web/account/delete', ours, formBody, async (req, res) => {
    const visitor = await signedIn(req)
    if (
      String((req.body as { email?: unknown }).email ?? '')
        .trim()
        .toLowerCase() !== visitor.account.email
    ) {
      await show(res, { visitor, error: { field: 'delete', message: 'Type your e-mail address to confirm.' } }, 400)
      return
    }
    await deleteAccount(db, visitor.account.id)
    cookie.clear(res)
    sendPage(res, {
      publicUrl,
      page: layout(assets, {
        title: 'Account deleted',
        body: html`<section class="narrow card"><h1>Your account is deleted</h1><p>Keys, saves and boards are gone.</p><p><a href="/">To the library</a></p></section>`,
      }),
    })
  })

  // Where a form was answered a reader may reload or bookmark.
  router.get('/web/*rest', (_req, res) => res.set('Cache-Control', 'no-store').redirect(303, '/keys'))

  router.use(pageErrors({ assets, publicUrl, logger }))
  return router
}

function keysPage(
  view: View & { keys: KeyRecord[]; usage: Map<string, Usage>; publicUrl: string; pointsOf: RateLimits['pointsOf'] },
): Html {
  const { visitor, made, error, given, notice, keys, usage, publicUrl, pointsOf } = view
  const live = keys.filter((key) => isLive(key))
  const dead = keys.filter((key) => !isLive(key))
  const { plan, role } = visitor.account
  return html`<h1>API keys</h1>
<p class="lead">A key lets a program act for you: save frames, keep boards, and use the library from an assistant. Searching needs none.</p>
${notice && html`<p class="notice done" role="status">${notice}</p>`}
${made && madeSection(made, publicUrl)}
${plan === 'free' && html`<p class="notice">You are on the <strong>free</strong> plan: a key raises your request limit. Saves and boards come with <strong>pro</strong>; your keys work for them as soon as the plan changes.</p>`}
<section aria-labelledby="keys-heading">
  <h2 id="keys-heading">Your keys</h2>
  ${
    live.length === 0
      ? html`<p class="empty">${dead.length > 0 ? 'No active keys.' : 'No keys yet. The first one is a name and a click away.'}</p>`
      : html`<ul class="keys">${live.map((key) => keyCard(key, { usage: usage.get(key.id), visitor, fresh: key.id === made?.record.id }))}</ul>`
  }
  ${
    dead.length > 0 &&
    html`<details class="dead"><summary>Revoked and expired (${dead.length})</summary>
    <ul class="keys">${dead.map((key) => keyCard(key, { visitor }))}</ul></details>`
  }
</section>
<section class="card" aria-labelledby="create-heading">
  <h2 id="create-heading">Create a key</h2>
  ${live.length >= MAX_KEYS && html`<p class="notice">You have ${MAX_KEYS} keys, which is the most. Revoke one first.</p>`}
  <form method="post" action="/web/keys">
    <input type="hidden" name="form" value="${visitor.form}">
    <div class="field">
      <label for="name">Name</label>
      <input id="name" name="name" required maxlength="80" autocomplete="off" placeholder="Claude on my laptop" value="${given?.name}"${invalidBy(error, 'name')}>
      ${errorText(error, 'name')}
    </div>
    <fieldset${invalidBy(error, 'scope', 'scopes')}>
      <legend>What it may do</legend>
      ${scopeBoxes(MEMBER_SCOPES, given?.scopes ?? MEMBER_SCOPES)}
      ${role === 'operator' && html`<p class="hint" id="operator-scopes">For operators</p>${scopeBoxes(OPERATOR_SCOPES, given?.scopes ?? [])}`}
      ${errorText(error, 'scope', 'scopes')}
    </fieldset>
    <div class="field">
      <label for="expires">Expires</label>
      <select id="expires" name="expires"${invalidBy(error, 'expires')}>${EXPIRIES.map(
        ({ days, label }) =>
          html`<option value="${days}"${days === (given?.days ?? 0) && html` selected`}>${label}</option>`,
      )}</select>
      ${errorText(error, 'expires')}
    </div>
    <button class="primary">Create key</button>
  </form>
</section>
<section aria-labelledby="limits-heading">
  <h2 id="limits-heading">Limits</h2>
  <div class="scroll" tabindex="0" role="region" aria-labelledby="limits-heading"><table>
    <thead><tr><th scope="col">Who</th><th scope="col">Points per minute</th></tr></thead>
    <tbody>
      <tr><th scope="row">No key, per address</th><td>${number(pointsOf('anonymous'))}</td></tr>
      <tr><th scope="row">A key on free${plan === 'free' && ' (yours)'}</th><td>${number(pointsOf('free'))}</td></tr>
      <tr><th scope="row">A key on pro${plan === 'pro' && ' (yours)'}</th><td>${number(pointsOf('pro'))}</td></tr>
    </tbody>
  </table></div>
  <p class="hint">A read costs ${POINTS.read} point, a search ${POINTS.search}, a write ${POINTS.write}. HTTP and MCP use one budget.</p>
</section>
<section aria-labelledby="account-heading">
  <h2 id="account-heading">Account</h2>
  <p>${visitor.account.email} · ${role} · ${plan} plan</p>
  <div class="actions">
    <form method="post" action="/web/sign-out-everywhere"><input type="hidden" name="form" value="${visitor.form}"><button>Sign out everywhere</button></form>
  </div>
  <details${error?.field === 'delete' && html` open`}><summary>Delete my account</summary>
    <form method="post" action="/web/account/delete" class="danger-zone">
      <input type="hidden" name="form" value="${visitor.form}">
      <p>Your keys stop working, and your saves and boards with their share links are gone for good.</p>
      <div class="field">
        <label for="delete-email">Type <strong>${visitor.account.email}</strong> to confirm</label>
        <input id="delete-email" name="email" type="email" required autocomplete="off"${invalidBy(error, 'delete')}>
        ${errorText(error, 'delete')}
      </div>
      <button class="danger">Delete my account</button>
    </form>
  </details>
</section>`
}

function madeSection({ key, record, instead }: NonNullable<View['made']>, publicUrl: string): Html {
  return html`<section class="card made" aria-labelledby="made-heading" id="made" tabindex="-1">
  <h2 id="made-heading">“${record.name}” is ready</h2>
  <p><strong>Copy the key now.</strong> Only its fingerprint is kept: it cannot be shown again.</p>
  ${instead?.revokedAt && html`<p>The old key, ending in <code>${instead.hint}</code>, ${instead.revokedAt.getTime() <= Date.now() ? 'has stopped working.' : html`goes on until ${time(instead.revokedAt)}.`}</p>`}
  ${snippet('new-key', 'Key', key)}
  ${snippet('curl', 'Try it', curlLine(publicUrl, key, record.scopes))}
  <h3>Use it from an assistant</h3>
  ${clientConfigurations(publicUrl, key).map(
    ({ id, name, where, text }) =>
      html`<details><summary>${name}</summary><p class="hint">${where}</p>${snippet(id, name, text)}</details>`,
  )}
</section>`
}

/** A text to take along. The copy button is put in by the module: without it there is nothing to press. */
function snippet(id: string, label: string, text: string): Html {
  return html`<div class="snippet" data-copy="${label}"><pre tabindex="0" aria-label="${label}"><code id="${id}">${text}</code></pre></div>`
}

function keyCard(
  key: KeyRecord,
  { usage, visitor, fresh = false }: { usage?: Usage | undefined; visitor: Visitor; fresh?: boolean },
): Html {
  const used = usage ? usage.limit - usage.remaining : 0
  const id = `key-${key.id}`
  return html`<li class="card key${fresh && ' fresh'}" aria-labelledby="${id}">
  <div class="key-head"><h3 id="${id}">${key.name}</h3>${badge(key)}</div>
  <p class="mono">flk_live_…${key.hint}</p>
  <p class="chips">${key.scopes.map((scope) => html`<span class="chip">${scope}</span> `)}</p>
  <dl>
    <div><dt>Created</dt><dd>${time(key.createdAt)}</dd></div>
    <div><dt>Last used</dt><dd>${key.lastUsedAt ? time(key.lastUsedAt) : 'never'}</dd></div>
    <div><dt>Expires</dt><dd>${key.expiresAt ? time(key.expiresAt) : 'never'}</dd></div>
    ${usage && html`<div><dt>This minute</dt><dd><meter min="0" max="${usage.limit}" value="${used}" aria-label="Points used this minute"></meter>${number(used)} of ${number(usage.limit)} points</dd></div>`}
  </dl>
  ${
    isLive(key) &&
    html`<div class="actions">
    ${
      !key.replacedBy &&
      html`<details><summary>Rotate<span class="visually-hidden"> ${key.name}</span></summary>
      <form method="post" action="/web/keys/${key.id}/rotate"><input type="hidden" name="form" value="${visitor.form}">
        <label for="grace-${key.id}">The old key stops</label>
        <select id="grace-${key.id}" name="grace">${GRACES.map(({ hours, label }) => html`<option value="${hours}"${hours === 24 && html` selected`}>${label}</option>`)}</select>
        <button>Make its successor</button></form></details>`
    }
    <details><summary class="danger-text">Revoke<span class="visually-hidden"> ${key.name}</span></summary>
      <form method="post" action="/web/keys/${key.id}/revoke"><input type="hidden" name="form" value="${visitor.form}">
        <p class="consequence">Programs that use it are refused from their next request on. This cannot be undone.</p>
        <button class="danger">Revoke now</button></form></details>
  </div>`
  }
</li>`
}

function badge(key: KeyRecord): Html {
  const now = new Date()
  if (key.revokedAt && key.revokedAt <= now)
    return html`<span class="badge off">${key.replacedBy ? 'replaced' : 'revoked'}</span>`
  if (key.expiresAt && key.expiresAt <= now) return html`<span class="badge off">expired</span>`
  if (key.revokedAt) return html`<span class="badge soon">replaced, stops ${time(key.revokedAt)}</span>`
  if (key.expiresAt && key.expiresAt.getTime() - now.getTime() < 7 * 86_400_000)
    return html`<span class="badge soon">expires soon</span>`
  return html`<span class="badge on">active</span>`
}

function scopeBoxes(scopes: readonly Scope[], checked: readonly string[]): Html {
  return html`<div class="boxes">${scopes.map(
    (scope) =>
      html`<label class="box"><input type="checkbox" name="scope" value="${scope}"${checked.includes(scope) && html` checked`}><span><code>${scope}</code> <span class="hint">${SCOPE_TEXT[scope]}</span></span></label>`,
  )}</div>`
}

function invalidBy(error: View['error'], ...fields: string[]): Html | false {
  return (
    error !== undefined &&
    fields.includes(error.field) &&
    html` aria-invalid="true" aria-describedby="error-${error.field}"`
  )
}

function errorText(error: View['error'], ...fields: string[]): Html | false {
  return (
    error !== undefined &&
    fields.includes(error.field) &&
    html`<p class="error" id="error-${error.field}" role="alert">${error.message}</p>`
  )
}

/** Read by people in UTC; the module turns it into their own time. */
function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`
}

function number(value: number): string {
  return value.toLocaleString('en')
}
