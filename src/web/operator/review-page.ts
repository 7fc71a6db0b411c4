import { z } from 'zod'
import { clock, percent } from '../../clean-text.ts'
import type { FrameRow } from '../../db/schema/frames.ts'
import { correctFrame } from '../../library/frames/corrections.ts'
import { storedValue } from '../../library/frames/frames.ts'
import {
  acceptReview,
  frameToReview,
  nextToReview,
  REVIEWED,
  type ReviewFrame,
  type ReviewPlace,
  settersOf,
  type TakenValue,
  takeBackReview,
} from '../../library/frames/review.ts'
import { loadVocabulary } from '../../library/techniques/vocabulary.ts'
import { findVideo } from '../../library/videos/videos.ts'
import type { Parameters } from '../../parameters.ts'
import { ANNOTATED, type Annotated, ATTRIBUTES, CHOSEN, isListed, WRITTEN } from '../../vocabulary.ts'
import { type Actions, field } from '../actions.ts'
import { SAID } from '../frame-page.ts'
import type { Visitor } from '../guard.ts'
import { counted, emptyState, formToken, type Html, hidden, html, options, trusted, valueLabel } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { operatorHead } from './parts.ts'

const PLACE = /^([01])\.([0-9.e-]{1,24})\.([0-9A-Za-z-]{1,64})$/
const JUDGED = z.string().regex(/^[0-9A-Za-z-]{1,64}:[a-z_,]{0,120}$/)
const parameters = {
  after: { schema: z.string().regex(PLACE), description: 'The place in the queue that was seen last.' },
  at: { schema: z.string().regex(/^[0-9A-Za-z-]{1,64}$/), description: 'A frame to look at before the queue goes on.' },
  done: { schema: z.coerce.number().int().min(0).max(1_000_000), description: 'How many were accepted before.' },
  undo: { schema: JUDGED, description: 'What can be taken back.' },
  taken: { schema: JUDGED, description: 'Told: what somebody else had set before.' },
} as const satisfies Parameters
const frameParameters = {
  kept: { schema: z.coerce.number().int().min(0).max(20), description: 'Told: values that were changed.' },
} as const satisfies Parameters

const placeText = ({ rank, confidence, id }: ReviewPlace) => `${rank}.${confidence}.${id}`

function parsePlace(text: string | undefined): ReviewPlace | undefined {
  const match = PLACE.exec(text ?? '')
  return match ? { rank: Number(match[1]), confidence: Number(match[2]), id: match[3]! } : undefined
}

/** `/operator/review`: the frames that need a look most, one at a time; `/operator/review/{id}`: one frame. */
export function addReviewPages(actions: Actions, deps: PageDeps): void {
  const { db } = deps

  actions.page('/operator/review', 'operator', { parameters, price: 'heavy' }, async ({ visitor, query }) => {
    const { after, at, undo, taken, done = 0 } = query
    const [queue, others, again] = await Promise.all([
      nextToReview(db, { after: parsePlace(after), limit: 2 }),
      takenBefore(deps, taken),
      at === undefined ? undefined : frameToReview(db, at),
    ])
    // A judgement that was taken back is made again, then the queue goes on where it was.
    const here = `/operator/review?done=${done}${after === undefined ? '' : `&after=${after}`}`
    const [first, second] = again ? [again, queue[0]] : queue
    const turn = again ? undefined : queue[0] && { ...queue[0], done }
    const nextPath = turn ? `/operator/review?done=${done}&after=${placeText(turn.place)}` : here
    const [frame, attributes] = undo?.split(':') ?? []
    const back = frame !== undefined && attributes !== undefined ? { frame, attributes } : undefined
    const form = first && reviewForm({ visitor, ...(await judgedOf(deps, first)), back, here, nextPath, turn })
    const body = html`${operatorHead('review', 'Review')}
<div id="review"${second && html` data-next-image="${await imageOf(deps, second.row.id)}"`}>
${takenNotice(others)}${form ?? EMPTY}</div>`
    return { title: 'Review', current: 'operator', wide: true, modules: ['review.js'], body }
  })

  actions.page('/operator/review/:id', 'operator', { parameters: frameParameters }, async (asked) => {
    const { visitor, query, param } = asked
    const { kept } = query
    const found = await frameToReview(db, param('id'))
    const here = `/operator/review/${found.row.id}`
    const judged = await judgedOf(deps, found)
    const form = reviewForm({ visitor, ...judged, here, nextPath: here, texts: true })
    const body = html`${operatorHead('review', 'Correct a frame')}
${kept !== undefined && keptNotice(kept, found.row.id)}<div id="review">${form}</div>`
    return { title: 'Correct a frame', current: 'operator', wide: true, modules: ['review.js'], body }
  })

  addReviewActions(actions, deps)
}

async function takenBefore({ db }: PageDeps, taken: string | undefined): Promise<TakenValue[]> {
  if (taken === undefined) return []
  const [frame, attributes] = taken.split(':') as [string, string]
  return settersOf(db, (await frameToReview(db, frame)).row, attributes.split(','))
}

function takenNotice(others: readonly TakenValue[]): Html | false {
  const told = others.map(
    ({ attribute, by }) => `${ATTRIBUTES[attribute].label} by ${by ?? 'somebody whose account is gone'}`,
  )
  return (
    others.length > 0 &&
    html`<p class="notice" role="status">Set before you, so your values were not taken: ${told.join(', ')}.</p>`
  )
}

function keptNotice(kept: number, id: string): Html {
  const what =
    kept === 0 ? 'Nothing was changed.' : `${counted(kept, 'value')} saved. Models do not change what you set.`
  return html`<p class="notice done" role="status">${what} <a href="/frames/${id}">To the frame</a></p>\n`
}

const EMPTY = emptyState(
  'Nothing waits for a look',
  html`Every frame of the newest videos was reviewed. <a href="/operator/review">Begin again</a>`,
)

/** What is shown of a frame. `proposed`: techniques outside the vocabulary that annotators proposed. */
async function judgedOf(deps: PageDeps, { row, proposed }: Pick<ReviewFrame, 'row' | 'proposed'>) {
  const { active: techniques } = await loadVocabulary(deps.db)
  const video = await findVideo(deps.db, row.videoId)
  return { row, proposed, image: await imageOf(deps, row.id), title: video?.title ?? '', techniques }
}

async function imageOf({ search, publicUrl }: PageDeps, id: string): Promise<string> {
  const [document] = await search.framesByIds([id])
  return document ? publicUrl + document.image_path : ''
}

/** A field for each of these values. */
const fieldsOf = <Name extends string, F extends z.ZodType>(names: readonly Name[], one: F) =>
  z.object(Object.fromEntries(names.map((name) => [name, one])) as Record<Name, F>)

const next = field.text.transform((path) =>
  /^\/operator\/review(?:$|[/?][\w.=&/-]+$)/.test(path) ? path : '/operator/review',
)
const Review = fieldsOf(REVIEWED, field.filled).extend({ next })
const TakeBack = z.object({ next, attributes: field.text })
const Correction = fieldsOf(
  ANNOTATED.flatMap((name) => [name, `was-${name}` as const]),
  field.maybe,
)

function addReviewActions(actions: Actions, { db }: PageDeps): void {
  actions.action({ path: '/web/review/:id', who: 'operator', body: Review }, async ({ visitor, body, param }) => {
    const at = { frameId: param('id'), accountId: visitor.account.id }
    const { next, ...given } = body
    const values = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const { locked, taken } = await acceptReview(db, { ...at, values })
    const told = {
      // What changed nothing cannot be taken back.
      ...(locked.length > 0 || taken.length === 0 ? { undo: `${at.frameId}:${locked.join(',')}` } : {}),
      ...(taken.length > 0 ? { taken: `${at.frameId}:${taken.map(({ attribute }) => attribute).join(',')}` } : {}),
    }
    return { json: { attributes: locked, taken }, to: telling(counting(next, 1), told) }
  })

  actions.action({ path: '/web/review/:id/undo', who: 'operator', body: TakeBack }, async (asked) => {
    const { visitor, body, param } = asked
    const at = { frameId: param('id'), accountId: visitor.account.id }
    const attributes = await takeBackReview(db, { ...at, attributes: body.attributes.split(',') })
    return { json: { attributes }, to: telling(counting(body.next, -1), { at: at.frameId }) }
  })

  // Every value of one frame, texts too. An empty field that a person had set goes back to the annotators.
  actions.action({ path: '/web/frames/:id/correct', who: 'operator', body: Correction }, async (asked) => {
    const { visitor, body, param } = asked
    const given = ANNOTATED.filter((name) => body[name] !== undefined && body[name] !== (body[`was-${name}`] ?? ''))
    const correction = Object.fromEntries(given.map((name) => [name, body[name] || null]))
    await correctFrame(db, { frameId: param('id'), accountId: visitor.account.id, correction })
    return { json: { changed: given.length }, to: `/operator/review/${param('id')}?kept=${given.length}` }
  })
}

function counting(path: string, by: 1 | -1): string {
  return path.replace(/(?<=[?&]done=)\d+/, (done) => String(Math.max(0, Number(done) + by)))
}

function telling(path: string, told: Readonly<Record<string, string>>): string {
  const query = Object.entries(told).map(([name, value]) => `${name}=${value}`)
  return `${path}${path.includes('?') ? '&' : '?'}${query.join('&')}`
}

interface ReviewData extends Awaited<ReturnType<typeof judgedOf>> {
  visitor: Visitor
  /** The judgement before, which can be taken back. */
  back?: { frame: string; attributes: string } | undefined
  /** The address of this page, and of the one behind it. */
  here: string
  nextPath: string
  /** Its turn in the queue. */
  turn?: (ReviewFrame & { done: number }) | undefined
  /** Also the texts: for one frame that is corrected on purpose. */
  texts?: boolean
}

/** One frame, large, with its values as chips. Number keys choose, Enter accepts, `u` takes back. */
function reviewForm(data: ReviewData): Html {
  const { row, image, title, visitor, texts = false, nextPath, back, turn } = data
  const action = texts ? `/web/frames/${row.id}/correct` : `/web/review/${row.id}`
  const at = `${title} · ${clock(row.tMs / 1_000)}`
  // What is missing comes first.
  const isMissing = (name: Annotated) => Number(storedValue(row, name).value === null)
  const names = CHOSEN.filter(isListed).toSorted((one, other) => isMissing(other) - isMissing(one))
  return html`${back && undoForm(visitor, back, data.here)}
${turn && html`<p class="hint">${turn.done + turn.n} of ${turn.done + turn.total}: ${whyOf(turn)}</p>`}
<div class="review">
<figure><a href="/frames/${row.id}"><img src="${image}" alt="${row.caption ?? at}" width="${row.width}"
height="${row.height}"></a><figcaption class="hint">${at}</figcaption></figure>
<form method="post" action="${action}" data-review>${formToken(visitor)}
${hidden('next', nextPath)}
${names.map((name) => choices(data, name, ATTRIBUTES[name].values))}
${technique(data)}
${texts && WRITTEN.map((name) => textField(row, name))}
<div class="row acting"><button class="primary">${texts ? 'Save' : 'Accept'} <kbd>Enter</kbd></button>
${!texts && html`<a class="quiet-button" href="${nextPath}" data-skip>Skip <kbd>s</kbd></a>`}
${!texts && html`<a class="quiet-button" href="/operator/review/${row.id}" data-edit>Edit all <kbd>e</kbd></a>`}</div>
</form></div>`
}

/** Why it is this frame's turn, with the names of its values. */
function whyOf({ row, place: { rank, confidence } }: Pick<ReviewFrame, 'row' | 'place'>): string {
  if (rank === 0) return 'a value outside the lists or the vocabulary'
  const least = REVIEWED.map((name) => ({ name, ...storedValue(row, name) })).filter(
    ({ provenance }) => provenance?.source !== 'person' && (provenance?.confidence ?? 0) === confidence,
  )
  // Often no technique is right.
  const missing = least.filter(({ name, value }) => value === null && name !== 'technique')
  if (missing.length > 0) return `${labelsOf(missing)} ${missing.length === 1 ? 'is' : 'are'} missing`
  return `least certain: ${labelsOf(least.filter(({ value }) => value !== null))}, ${percent(confidence)}`
}

const labelsOf = (values: readonly { name: Annotated }[]) =>
  values.map(({ name }) => ATTRIBUTES[name].label).join(' and ')

function undoForm(visitor: Visitor, { frame, attributes }: { frame: string; attributes: string }, here: string): Html {
  return html`<form class="notice done" method="post" action="/web/review/${frame}/undo" data-undo role="status">
${formToken(visitor)}${hidden('attributes', attributes)}${hidden('next', here)}Accepted.
<button class="quiet">Undo <kbd>u</kbd></button></form>`
}

/** Where a value comes from and how sure it is. What is wholly sure needs no word. */
function origin(row: FrameRow, name: Annotated): Html | false {
  const { value, provenance } = storedValue(row, name)
  if (!provenance) return html`<span class="hint">no answer</span>`
  if (provenance.source === 'person') return html`<span class="hint">set by a person</span>`
  if (value !== null && provenance.confidence === 1) return false
  const sure = provenance.confidence !== null && ` ${percent(provenance.confidence)}`
  const why = value === null && provenance.reason !== undefined && `: ${valueLabel(provenance.reason)}`
  return html`<span class="hint">${SAID[provenance.source]}${sure}${why}</span>`
}

/** Chips to choose one of. Where a face sits is chosen on a picture of the frame: its cells, then none of them. */
function choices({ row, texts }: ReviewData, name: Annotated, all: readonly string[]): Html {
  const { value, provenance } = storedValue(row, name)
  const locked = provenance?.source === 'person' && !texts
  const isPlace = name === 'zone'
  const values = isPlace ? [...all.filter((one) => one !== 'none'), 'none'] : all
  const chips = values.map((one, n) => {
    const label =
      isPlace && one !== 'none' ? html`<span class="visually-hidden">${valueLabel(one)}</span>` : valueLabel(one)
    return html`<label class="value"${isPlace && html` title="${valueLabel(one)}"`}><input type="radio" name="${name}"
value="${one}"${one === value && trusted(' checked')}><span class="choice">${
      n < 10 && html`<kbd>${(n + 1) % 10}</kbd>`
    } ${label}</span></label>`
  })
  return html`<fieldset class="choices-row" data-choices${locked && trusted(' disabled')}>
<legend>${ATTRIBUTES[name].label} ${origin(row, name)}</legend>${was(row, name, texts)}
<div class="row tight${isPlace && ' nine'}">${chips}</div></fieldset>`
}

/** The value that the form began with: only what a person changed is theirs. */
function was(row: FrameRow, name: Annotated, texts: boolean | undefined): Html | false {
  return texts === true && hidden(`was-${name}`, storedValue(row, name).value ?? '')
}

function technique({ row, proposed, techniques, texts }: ReviewData): Html {
  const { value, provenance } = storedValue(row, 'technique')
  const locked = provenance?.source === 'person' && !texts
  return html`<div class="field"><label for="technique">Technique ${origin(row, 'technique')}</label>
${was(row, 'technique', texts)}
<select id="technique" name="technique"${locked && trusted(' disabled')}><option value="">none</option>${options(
    techniques.map(({ slug, name }) => [slug, name]),
    value,
  )}</select>
${
  proposed.length > 0 &&
  html`<p class="notice">A model proposed ${proposed.map(valueLabel).join(', ')}, outside the vocabulary.
<a href="/operator/techniques">Decide</a></p>`
}</div>`
}

function textField(row: FrameRow, name: (typeof WRITTEN)[number]): Html {
  const value = storedValue(row, name).value ?? ''
  return html`<div class="field"><label for="${name}">${ATTRIBUTES[name].label} ${origin(row, name)}</label>
${was(row, name, true)}<textarea id="${name}" name="${name}" rows="2" maxlength="2000">${value}</textarea></div>`
}
