import { isLive, type KeyRecord } from '../library/accounts/keys.ts'
import type { Visitor } from './guard.ts'
import { type Html, html } from './html.ts'
import { GRACES } from './key-forms.ts'

const SOON_MS = 7 * 86_400_000

/** A key with its badge, its dates and what can be done with it. `fresh`: it was just created. */
export function keyCard(key: KeyRecord, { visitor, fresh = false }: { visitor: Visitor; fresh?: boolean }): Html {
  const id = `key-${key.id}`
  return html`<li class="card key${fresh && ' fresh'}" aria-labelledby="${id}">
  <div class="key-head"><h3 id="${id}">${key.name}</h3>${badge(key)}</div>
  <p class="mono">flk_live_…${key.hint}</p>
  <p class="chips">${key.scopes.map((scope) => html`<span class="chip">${scope}</span> `)}</p>
  <dl>
    <div><dt>Created</dt><dd>${time(key.createdAt)}</dd></div>
    <div><dt>Last used</dt><dd>${key.lastUsedAt ? time(key.lastUsedAt) : 'never'}</dd></div>
    <div><dt>Expires</dt><dd>${key.expiresAt ? time(key.expiresAt) : 'never'}</dd></div>
  </dl>
  ${isLive(key) && actions(key, visitor)}
</li>`
}

function badge(key: KeyRecord): Html {
  const now = new Date()
  if (key.revokedAt && key.revokedAt <= now)
    return html`<span class="badge off">${key.replacedBy ? 'replaced' : 'revoked'}</span>`
  if (key.expiresAt && key.expiresAt <= now) return html`<span class="badge off">expired</span>`
  if (key.revokedAt) return html`<span class="badge soon">replaced, stops ${time(key.revokedAt)}</span>`
  if (key.expiresAt && key.expiresAt.getTime() - now.getTime() < SOON_MS)
    return html`<span class="badge soon">expires soon</span>`
  return html`<span class="badge on">active</span>`
}

function actions(key: KeyRecord, visitor: Visitor): Html {
  return html`<div class="actions">
    ${!key.replacedBy && rotateForm(key, visitor)}
    <details>
      <summary class="danger-text">Revoke<span class="visually-hidden"> ${key.name}</span></summary>
      <form method="post" action="/web/keys/${key.id}/revoke">
        <input type="hidden" name="form" value="${visitor.form}">
        <p class="consequence">Programs with this key are refused from their next request. This cannot be undone.</p>
        <button class="danger">Revoke now</button>
      </form>
    </details>
  </div>`
}

function rotateForm(key: KeyRecord, visitor: Visitor): Html {
  const options = GRACES.map(
    ({ hours, label }) => html`<option value="${hours}"${hours === 24 && html` selected`}>${label}</option>`,
  )
  return html`<details>
      <summary>Rotate<span class="visually-hidden"> ${key.name}</span></summary>
      <form method="post" action="/web/keys/${key.id}/rotate">
        <input type="hidden" name="form" value="${visitor.form}">
        <label for="grace-${key.id}">The old key stops</label>
        <select id="grace-${key.id}" name="grace">${options}</select>
        <button>Create its replacement</button>
      </form>
    </details>`
}

/** In UTC; the module shows it in the reader's own time. */
export function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`
}

export function number(value: number): string {
  return value.toLocaleString('en')
}
