import { z } from 'zod'
import { OPERATOR_POINTS } from '../../http/rate-limit/budgets.ts'
import { correctFrame } from '../../library/frames/corrections.ts'
import {
  acceptReview,
  findAgreement,
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
import { ANNOTATED } from '../../vocabulary.ts'
import { type Actions, counted, field } from '../actions.ts'
import { type Html, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { operatorHead } from './parts.ts'
import { agreementList, type Judged, reviewForm } from './review-view.ts'

const PLACE = /^([01])\.([0-9.e-]{1,24})\.([0-9A-Za-z-]{1,64})$/
const JUDGED = z.string().regex(/^[0-9A-Za-z-]{1,64}:[a-z_,]{0,120}$/)
const parameters = {
  after: { schema: z.string().regex(PLACE), description: 'The place in the queue that was seen last.' },
  at: { schema: z.string().regex(/^[0-9A-Za-z-]{1,64}$/), description: 'A frame to look at before the queue goes on.' },
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

  actions.page(
    '/operator/review',
    'operator',
    { parameters, cost: OPERATOR_POINTS.review },
    async ({ visitor, query }) => {
      const { after, at, undo, taken } = query
      const [queue, agreement, others, again] = await Promise.all([
        nextToReview(db, { after: parsePlace(after), limit: 2 }),
        findAgreement(db),
        takenBefore(deps, taken),
        at === undefined ? undefined : frameToReview(db, at),
      ])
      // A judgement that was taken back is made again, then the queue goes on where it was.
      const here = after === undefined ? '/operator/review' : `/operator/review?after=${after}`
      const [first, second] = again ? [again, queue[0]] : queue
      const place = again ? undefined : queue[0]?.place
      const nextPath = place ? `/operator/review?after=${placeText(place)}` : here
      const [frame, attributes] = undo?.split(':') ?? []
      const back = frame !== undefined && attributes !== undefined ? { frame, attributes } : undefined
      const form = first && reviewForm({ visitor, ...(await judgedOf(deps, first)), back, here, nextPath, place })
      const body = html`${operatorHead('review', 'Review')}
<div id="review"${second && html` data-next-image="${await imageOf(deps, second)}"`}>
${takenNotice(others)}${form ?? EMPTY}</div>
${agreementList(agreement)}`
      return { title: 'Review', current: 'operator', wide: true, modules: ['review.js'], body }
    },
  )

  actions.page('/operator/review/:id', 'operator', { parameters: frameParameters }, async (asked) => {
    const { visitor, query, param } = asked
    const { kept } = query
    const found = await frameToReview(db, param('id'))
    const here = `/operator/review/${found.row.id}`
    const judged = await judgedOf(deps, found)
    const form = reviewForm({ visitor, ...judged, back: undefined, here, nextPath: here, texts: true })
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
  const told = others.map(({ attribute, by }) => `${attribute} by ${by ?? 'somebody whose account is gone'}`)
  return (
    others.length > 0 &&
    html`<p class="notice" role="status">Set before you, so your values were not taken: ${told.join(', ')}.</p>`
  )
}

function keptNotice(kept: number, id: string): Html {
  const what =
    kept === 0 ? 'Nothing was changed.' : `${counted(kept, 'value')} kept. Models do not change what you set.`
  return html`<p class="notice done" role="status">${what} <a href="/frames/${id}">To the frame</a></p>\n`
}

const EMPTY = html`<p class="empty">Nothing waits for a look: every frame of the newest videos was reviewed.
<a href="/operator/review">Begin again</a></p>`

async function judgedOf(deps: PageDeps, { row, proposed }: Pick<ReviewFrame, 'row' | 'proposed'>): Promise<Judged> {
  const { active } = await loadVocabulary(deps.db)
  const video = await findVideo(deps.db, row.videoId)
  const image = await imageOf(deps, { row })
  return {
    row,
    proposed,
    image,
    title: video?.title ?? '',
    techniques: active.map(({ slug, name }) => ({ slug, name })),
  }
}

async function imageOf({ search, publicUrl }: PageDeps, { row }: Pick<ReviewFrame, 'row'>): Promise<string> {
  const [document] = await search.framesByIds([row.id])
  return document ? publicUrl + document.image_path : ''
}

/** A field for each of these values. */
const fieldsOf = <Name extends string, F extends z.ZodType>(names: readonly Name[], one: F) =>
  z.object(Object.fromEntries(names.map((name) => [name, one])) as Record<Name, F>)

const next = field.text.transform((path) =>
  /^\/operator\/review(?:$|[/?][\w.=/-]+$)/.test(path) ? path : '/operator/review',
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
    const to = telling(next, told)
    return { json: { attributes: locked, taken }, to }
  })

  actions.action({ path: '/web/review/:id/undo', who: 'operator', body: TakeBack }, async (asked) => {
    const { visitor, body, param } = asked
    const at = { frameId: param('id'), accountId: visitor.account.id }
    const attributes = await takeBackReview(db, { ...at, attributes: body.attributes.split(',') })
    const to = telling(body.next, { at: at.frameId })
    return { json: { attributes }, to }
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

function telling(path: string, told: Readonly<Record<string, string>>): string {
  const query = Object.entries(told).map(([name, value]) => `${name}=${value}`)
  return `${path}${path.includes('?') ? '&' : '?'}${query.join('&')}`
}
