import { PRICES, type Usage } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { MAX_ACCOUNT_NAME } from '../library/accounts/accounts.ts'
import type { Grant } from '../library/accounts/grants.ts'
import { MEMBER_SCOPES, OPERATOR_SCOPES, type Scope } from '../library/accounts/key-checks.ts'
import { DEAD_KEY_DAYS, isLive, type KeyRecord, MAX_KEYS } from '../library/accounts/keys.ts'
import { clientConfigurations, curlLine, foldedTexts, textToCopy } from './connect-page.ts'
import type { Visitor } from './guard.ts'
import { capitalized, facts, formToken, type Html, html, options, table, thousands, utcTime } from './html.ts'
import { EXPIRIES, GRACES } from './key-forms.ts'

export const SCOPE_TEXT: Record<Scope, string> = {
  'saves:read': 'see your saved frames',
  'saves:write': 'save and unsave frames',
  'boards:read': 'see your boards',
  'boards:write': 'create, fill, share and delete boards',
  'videos:write': 'queue, edit, retry and delete videos',
  'library:write': 'correct annotations, edit techniques, send events anew',
  'accounts:write': 'change plans, end share links',
  'webhooks:write': 'register receivers of events, see what was sent to them',
  'events:read': 'read the event log',
}

const told = (scopes: readonly Scope[]) => `May ${scopes.map((scope) => SCOPE_TEXT[scope]).join('; ')}.`

/** What one request adds to the page. */
export interface KeysView {
  visitor: Visitor
  /** A new key: shown in this answer and never again. */
  made?: MadeKey | undefined
  notice?: string | undefined
  /** The last ended key of the page before: the next page is shown open. */
  ended?: string | undefined
}

interface MadeKey {
  key: string
  record: KeyRecord
  /** The key that it replaces. */
  replaced?: KeyRecord | undefined
}

interface KeysData extends KeysView {
  live: KeyRecord[]
  /** A page of the keys that have ended. */
  dead: { keys: KeyRecord[]; next: string | null }
  /** Apps that act for the account, the newest first. */
  grants: Grant[]
  /** What the account has left of this minute's points. */
  usage: Usage
  publicUrl: string
  reads: 'open' | 'members'
  pointsOf: RateLimits['pointsOf']
}

export function keysPage(data: KeysData): Html {
  const { visitor, made, notice, publicUrl, reads } = data
  return html`<h1>API keys</h1>
<p class="lead">A key lets a program act for you: it saves frames, fills boards and uses the library from an assistant.
  ${reads === 'open' ? 'Searching needs no key.' : 'Programs need one to search, too.'}
  <a href="/connect">Connect an assistant</a>.</p>
${notice && html`<p class="notice done" role="status">${notice}</p>`}
${made && madeSection(made, publicUrl)}
${visitor.account.plan === 'free' && FREE_PLAN}
${yourKeys(data)}
${createSection(data)}
${data.grants.length > 0 && connectedApps(data)}
${limitsSection(data)}
${accountSection(data)}`
}

const FREE_PLAN = html`<p class="notice">You are on the <strong>free</strong> plan: a key raises the limit of your
  assistant’s requests. Saves and boards need <strong>pro</strong>: ask an operator. Your keys work for them as soon as
  the plan changes.</p>`

function madeSection({ key, record, replaced }: MadeKey, publicUrl: string): Html {
  return html`<section class="card made" aria-labelledby="made-heading" id="made" tabindex="-1">
  <h2 id="made-heading">“${record.name}” is ready</h2>
  <p><strong>Copy the key now.</strong> It cannot be shown again, because we store only its fingerprint.</p>
  ${replaced?.revokedAt && replacedNote(replaced.hint, replaced.revokedAt)}
  ${textToCopy('Key', key, 'Copy Key', 'new-key')}
  <h3>Try it</h3>
  ${textToCopy('Line', curlLine(publicUrl, key, record.scopes), 'Copy the line', 'curl')}
  <h3>Use it from an assistant</h3>
  ${foldedTexts(clientConfigurations(publicUrl, key))}
</section>`
}

function replacedNote(hint: string, revokedAt: Date): Html {
  const stopped = revokedAt.getTime() <= Date.now()
  const state = stopped ? 'has stopped working.' : html`works until ${utcTime(revokedAt)}.`
  return html`<p>The old key, ending in <code>${hint}</code>, ${state}</p>`
}

function yourKeys({ live, dead, ended, visitor, made }: KeysData): Html {
  const isPaged = ended !== undefined
  const hasDead = isPaged || dead.keys.length > 0
  const none = hasDead ? 'No active keys.' : 'No keys yet. Create the first one below.'
  const cards = live.map((key) => keyCard(key, { visitor, fresh: key.id === made?.record.id }))
  return html`<section aria-labelledby="keys-heading">
  <h2 id="keys-heading">Your keys</h2>
  ${live.length === 0 ? html`<p class="empty">${none}</p>` : html`<ul class="keys">${cards}</ul>`}
  ${hasDead && deadKeys(dead, { visitor, isPaged })}
</section>`
}

function connectedApps({ grants, visitor }: KeysData): Html {
  return html`<section aria-labelledby="apps-heading" id="apps">
  <h2 id="apps-heading">Connected apps</h2>
  <ul class="keys">${grants.map((grant) => appCard(grant, visitor))}</ul>
</section>`
}

function appCard({ id, clientName, returnsTo, scopes, createdAt, lastUsedAt }: Grant, visitor: Visitor): Html {
  return html`<li class="card key" aria-labelledby="app-${id}">
  <div class="row key-head"><h3 id="app-${id}">${clientName}</h3></div>
  <p class="hint mono">${returnsTo}</p>
  <p>${told(scopes)}</p>
  ${facts([
    ['Connected', utcTime(createdAt)],
    ['Last used', lastUsedAt ? utcTime(lastUsedAt) : 'never'],
  ])}
  <div class="row actions"><details>
    <summary class="danger-text">Disconnect<span class="visually-hidden"> ${clientName}</span></summary>
    <form class="row" method="post" action="/web/apps/${id}/revoke">
      ${formToken(visitor)}
      <p class="consequence">The app is refused from its next request. It can ask you again.</p>
      <button class="danger">Disconnect now</button>
    </form>
  </details></div>
</li>`
}

function deadKeys(
  { keys, next }: KeysData['dead'],
  { visitor, isPaged }: { visitor: Visitor; isPaged: boolean },
): Html {
  const count = isPaged || next !== null ? '' : ` (${keys.length})`
  return html`<details class="dead" id="ended"${isPaged && html` open`}>
    <summary>Revoked and expired${count}</summary>
    <p class="hint">The last one first. They are kept for ${DEAD_KEY_DAYS} days.</p>
    <ul class="keys">${keys.map((key) => keyCard(key, { visitor }))}</ul>
    <p class="row actions">${isPaged && html`<a href="/keys#ended">First page</a>`}
      ${next !== null && html`<a rel="next" href="/keys?ended=${next}#ended">Next page</a>`}</p>
  </details>`
}

function createSection({ live, visitor }: KeysData): Html {
  const full = live.length >= MAX_KEYS
  return html`<section class="card" aria-labelledby="create-heading">
  <h2 id="create-heading">Create a key</h2>
  ${full && html`<p class="notice">You have ${MAX_KEYS} keys, the most an account can have. Revoke one first.</p>`}
  <form method="post" action="/web/keys">
    ${formToken(visitor)}
    <div class="field">
      <label for="name">Name</label>
      <input id="name" name="name" required maxlength="80" autocomplete="off" placeholder="Claude on my laptop">
    </div>
    <fieldset>
      <legend>What it may do</legend>
      ${scopeBoxes(MEMBER_SCOPES, true)}
      ${
        visitor.account.role === 'operator' &&
        html`<p class="hint" id="operator-scopes">For operators</p>${scopeBoxes(OPERATOR_SCOPES, false)}`
      }
    </fieldset>
    <div class="field">
      <label for="expires">Expires</label>
      <select id="expires" name="expires">${options(EXPIRIES, 0)}</select>
    </div>
    <button class="primary">Create key</button>
  </form>
</section>`
}

function scopeBoxes(scopes: readonly Scope[], isChecked: boolean): Html {
  return html`<div class="boxes">${scopes.map(
    (scope) => html`<label class="box">
        <input type="checkbox" name="scope" value="${scope}"${isChecked && html` checked`}>
        <span>${capitalized(SCOPE_TEXT[scope])}</span>
      </label>`,
  )}</div>`
}

function limitsSection({ visitor, usage, pointsOf }: KeysData): Html {
  const { plan } = visitor.account
  const row = (who: 'anonymous' | 'free' | 'pro') =>
    html`<tr><th scope="row">${
      who === 'anonymous' ? 'No key, per address' : `Account on ${who}${plan === who ? ' (yours)' : ''}`
    }</th><td>${thousands(pointsOf(who))}</td></tr>`
  return html`<section aria-labelledby="limits-heading">
  <h2 id="limits-heading">Limits</h2>
  ${table(['Who', 'Points per minute'], (['anonymous', 'free', 'pro'] as const).map(row), 'Limits')}
  <p class="hint">A read costs ${PRICES.read} point, a search ${PRICES.search}, a write ${PRICES.write}, heavy work
    ${PRICES.heavy}: exports, uploads, figures.
    All keys of an account share its budget, over HTTP, MCP and pages.</p>
  ${meter(usage)}
</section>`
}

function meter({ limit, remaining }: Usage): Html {
  const used = limit - remaining
  return html`<p>This minute: <meter min="0" max="${limit}" value="${used}"
    aria-label="Points used this minute"></meter> ${thousands(used)} of ${thousands(limit)} points</p>`
}

function accountSection({ visitor }: KeysData): Html {
  const { email, name, role, plan } = visitor.account
  return html`<section aria-labelledby="account-heading">
  <h2 id="account-heading">Account</h2>
  <p>${email} · ${role} · ${plan} plan</p>
  <form class="row apart" method="post" action="/web/account/name">
    ${formToken(visitor)}
    <label for="own-name">Your name on boards that you share</label>
    <input id="own-name" name="name" maxlength="${MAX_ACCOUNT_NAME}" value="${name}" autocomplete="name">
    <button>Save the name</button>
  </form>
  <div class="row actions">
    <form method="post" action="/web/sign-out-everywhere">
      ${formToken(visitor)}
      <button>Sign out everywhere</button>
    </form>
  </div>
  <details><summary>Delete my account</summary>
    <form method="post" action="/web/account/delete" class="danger-zone">
      ${formToken(visitor)}
      <p>Your keys stop working. Your saves, boards and share links are deleted. This cannot be undone.</p>
      <div class="field">
        <label for="delete-email">Type <strong>${email}</strong> to confirm</label>
        <input id="delete-email" name="email" type="email" required autocomplete="off">
      </div>
      <button class="danger">Delete my account</button>
    </form>
  </details>
</section>`
}

const SOON_MS = 7 * 86_400_000

/** A key with its badge, its dates and what can be done with it. `fresh`: it was just created. */
function keyCard(key: KeyRecord, { visitor, fresh = false }: { visitor: Visitor; fresh?: boolean }): Html {
  const id = `key-${key.id}`
  return html`<li class="card key${fresh && ' fresh'}" aria-labelledby="${id}">
  <div class="row key-head"><h3 id="${id}">${key.name}</h3>${badge(key)}</div>
  <p class="hint mono">flk_live_…${key.hint}</p>
  <p>${told(key.scopes)}</p>
  ${facts([
    ['Created', utcTime(key.createdAt)],
    ['Last used', key.lastUsedAt ? utcTime(key.lastUsedAt) : 'never'],
    ['Expires', key.expiresAt ? utcTime(key.expiresAt) : 'never'],
  ])}
  ${isLive(key) && actions(key, visitor)}
</li>`
}

function badge(key: KeyRecord): Html {
  const now = new Date()
  if (key.revokedAt && key.revokedAt <= now)
    return html`<span class="badge">${key.replacedBy ? 'replaced' : 'revoked'}</span>`
  if (key.expiresAt && key.expiresAt <= now) return html`<span class="badge">expired</span>`
  if (key.revokedAt) return html`<span class="badge soon">replaced, stops ${utcTime(key.revokedAt)}</span>`
  if (key.expiresAt && key.expiresAt.getTime() - now.getTime() < SOON_MS)
    return html`<span class="badge soon">expires soon</span>`
  return html`<span class="badge ready">active</span>`
}

function actions(key: KeyRecord, visitor: Visitor): Html {
  return html`<div class="row actions">
    ${!key.replacedBy && rotateForm(key, visitor)}
    <details name="act-${key.id}">
      <summary class="danger-text">Revoke<span class="visually-hidden"> ${key.name}</span></summary>
      <form class="row" method="post" action="/web/keys/${key.id}/revoke">
        ${formToken(visitor)}
        <p class="consequence">Programs with this key are refused from their next request. This cannot be undone.</p>
        <button class="danger">Revoke now</button>
      </form>
    </details>
  </div>`
}

function rotateForm(key: KeyRecord, visitor: Visitor): Html {
  return html`<details name="act-${key.id}">
      <summary>Rotate<span class="visually-hidden"> ${key.name}</span></summary>
      <form class="row" method="post" action="/web/keys/${key.id}/rotate">
        ${formToken(visitor)}
        <label for="grace-${key.id}">The old key stops</label>
        <select id="grace-${key.id}" name="grace">${options(GRACES, 24)}</select>
        <button>Create its replacement</button>
      </form>
    </details>`
}
