import { z } from 'zod'
import {
  DRAFT_HOURS,
  type Draft,
  deleteDraft,
  listDrafts,
  requireDraft,
  submitDraftAddress,
  submitDraftFile,
} from '../library/films/drafts.ts'
import type { FilmGrammar } from '../library/films/films.ts'
import { measureOf, measureText } from '../library/films/measures.ts'
import { DRAFT_POINTS, type DraftScore, grammarOf, oddSounds, readDraft, whySilent } from '../views/draft.ts'
import { type Actions, field } from './actions.ts'
import { curves, figuresOf, shotStrip, shotTable, similarPanel, standings } from './film-panels.ts'
import type { Visitor } from './guard.ts'
import { clock, counted, formToken, type Html, html, utcTime, valueLabel } from './html.ts'
import type { PageDeps } from './page-deps.ts'

const who = 'pro'
const Address = z.object({ url: field.text.pipe(z.string().trim().min(1, 'Paste an address first.').max(2_000)) })

/** `/drafts`: unpublished films against the library. It works without script. */
export function addDrafts(actions: Actions, deps: PageDeps): void {
  const { db, store, addresses, maxUploadBytes: maxBytes } = deps
  actions.page('/drafts', who, { parameters: {} }, async ({ visitor }) => {
    const drafts = await listDrafts(db, visitor.account.id)
    return { title: 'Drafts', current: 'films', body: draftsPage(visitor, drafts, maxBytes) }
  })

  actions.page('/drafts/:id', who, { parameters: {}, cost: DRAFT_POINTS }, async ({ visitor, param }) => {
    const draft = await requireDraft(db, { accountId: visitor.account.id, id: param('id') })
    const { score } = await readDraft(deps, draft)
    const scored = score && draft.film && scoreOf(score, grammarOf(draft.film))
    return { title: draft.title, current: 'films', wide: true, body: draftPage(visitor, draft, scored) }
  })

  actions.action({ path: '/web/drafts', who, body: Address }, async ({ visitor, body: { url } }) => {
    const { id } = await submitDraftAddress(db, addresses, { accountId: visitor.account.id, url })
    return { json: { id }, to: `/drafts/${id}` }
  })

  actions.file({ path: '/web/drafts/file', who, maxBytes }, async ({ file, filename, fields, accountId }) => {
    const title = async () => (await fields()).title
    const { id } = await submitDraftFile(db, store, file, { accountId, filename, maxBytes, title })
    return { json: { id }, to: `/drafts/${id}` }
  })

  actions.action({ path: '/web/drafts/:id/delete', who: 'person' }, async ({ visitor, param }) => {
    await deleteDraft(db, store, { accountId: visitor.account.id, id: param('id') })
    return { json: { ok: true }, to: '/drafts' }
  })
}

const STATES: Record<Draft['state'], string> = {
  queued: 'It waits for its turn.',
  fetching: 'It is being fetched.',
  measuring: 'It is being measured.',
  ready: 'It is measured.',
  failed: 'It could not be measured.',
}

function draftsPage(visitor: Visitor, drafts: readonly Draft[], maxBytes: number): Html {
  const mb = Math.floor(maxBytes / 1024 / 1024)
  const rows = drafts.map(
    ({ id, title, state, expiresAt }) => html`<tr><th scope="row"><a href="/drafts/${id}">${title}</a></th>
<td>${STATES[state]}</td><td>${utcTime(expiresAt)}</td><td>${deleteForm(visitor, id)}</td></tr>`,
  )
  return html`<header class="entity"><h1>Drafts</h1>
<p class="lead">See how a film stands among those of the library before you publish it. Only you see it, and after
${DRAFT_HOURS} hours it is gone. Its pictures are not kept.</p></header>
<section class="card"><form method="post" action="/web/drafts/file" enctype="multipart/form-data">
  ${formToken(visitor)}
  <div class="field"><label for="file">File (up to ${mb} MB)</label>
  <input id="file" name="file" type="file" accept="video/*,.mkv" required></div>
  <button class="primary">Measure the file</button></form></section>
<section class="card"><form method="post" action="/web/drafts">${formToken(visitor)}
  <div class="field"><label for="url">Or its address</label>
  <input id="url" name="url" type="url" maxlength="2000" placeholder="https://…" required></div>
  <button>Measure the address</button></form></section>
${
  rows.length === 0
    ? html`<p class="empty">You have no draft.</p>`
    : html`<div class="table"><table class="measures"><thead><tr><th scope="col">Draft</th><th scope="col">State</th>
<th scope="col">Gone at</th><th scope="col">Delete</th></tr></thead><tbody>${rows}</tbody></table></div>`
}`
}

const deleteForm = (visitor: Visitor, id: string) => html`<form method="post" action="/web/drafts/${id}/delete">
${formToken(visitor)}<button class="quiet">Delete</button></form>`

function draftPage(visitor: Visitor, draft: Draft, scored: Html | null): Html {
  const { id, title, state, expiresAt, failureMessage } = draft
  const waits = state !== 'ready' && state !== 'failed'
  return html`<header class="entity"><h1>${title}</h1>
<p class="lead">${STATES[state]} Only you see it. Gone at ${utcTime(expiresAt)}.
<a href="/drafts">All your drafts</a></p></header>
${waits && html`<p class="notice" role="status">This takes some minutes. <a href="/drafts/${id}">Look again</a></p>`}
${failureMessage !== null && html`<p class="notice" role="status">${failureMessage}</p>`}
${scored}
<div class="actions">${deleteForm(visitor, id)}</div>`
}

const FIGURES = ['duration_sec', 'shots', 'shots_a_minute', 'shot_median_sec', 'held_share', 'loudness'] as const

function scoreOf(score: DraftScore, grammar: FilmGrammar): Html {
  const { measures, missing, unusual, nearest, among } = score
  const length = measures.duration_sec ?? 0.001
  const near = nearest?.map(({ video, ...one }) => ({ ...one, film: { ...video, measures: one.measures } })) ?? []
  return html`<dl class="figures">${figuresOf(measures, FIGURES)}</dl>
<p>Compared with ${counted(among, 'film')}.${unusual.length > 0 && ` Unusual here: ${unusual.join('; ')}.`}</p>
${differences(score)}
${readings(score)}
${sounds(score)}
<section class="timeline"><h2>Time line</h2>${shotStrip(grammar, length)}${curves(score)}${shotTable(grammar)}</section>
${near.length > 0 ? similarPanel(null, near) : listed('Built like it', [], missing.nearest)}
${standings(score)}`
}

/** A list, or why there is none. */
const listed = (title: string, items: readonly Html[], none: string | undefined) => html`<section><h2>${title}</h2>${
  items.length > 0 ? html`<ul>${items}</ul>` : html`<p>${none}</p>`
}
</section>`

function differences({ differs, missing }: DraftScore): Html {
  const items = (differs ?? []).map(({ measure, value, usual, stands }) => {
    const told = `${measureText(measure, value)}, usually ${measureText(measure, usual)}`
    return html`<li>${valueLabel(measureOf(measure).label)}: ${told}${stands !== null && ` (${stands})`}</li>`
  })
  return listed('What differs most', items, missing.differs)
}

function readings({ text: { cards, too_fast } }: DraftScore): Html {
  const items = too_fast.map(
    ({ t_sec, seconds, per_second, text }) => html`<li>${clock(t_sec)} “${text}”: ${Math.round(per_second)} characters a
second, it stands ${seconds} s</li>`,
  )
  const none = cards === 0 ? 'No text card was found.' : `No text card is too fast, of ${cards} found.`
  return listed('Too fast to read', items, none)
}

function sounds(score: DraftScore): Html {
  const items = oddSounds(score).map(({ measure, value, usual }) => {
    const range = usual.map((bound) => measureText(measure, bound)).join(' to ')
    return html`<li>${valueLabel(measureOf(measure).label)}: ${measureText(measure, value)}, usually ${range}</li>`
  })
  const why = whySilent(score) ?? 'Loudness, range, peak and silence are usual here.'
  return listed('Sound out of the usual', items, why)
}
