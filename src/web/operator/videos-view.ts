import { megabytes, span } from '../../clean-text.ts'
import type { Loss } from '../../library/videos/lifecycle.ts'
import type { VideoReport } from '../../library/videos/video-status.ts'
import type { Visitor } from '../guard.ts'
import {
  capitalized,
  counted,
  emptyState,
  facts,
  formToken,
  type Html,
  hidden,
  html,
  numberedPages,
  safeUrl,
  table,
  thousands,
  trusted,
  valueLabel,
} from '../html.ts'
import { ago, dollars, operatorHead } from './parts.ts'
import { detailFields, detailForm } from './video-details.ts'

export const VIDEOS_PAGE = 50

/** The lists that the counts above the table lead to. */
export const SHOWN = {
  all: undefined,
  working: ['queued', 'fetching', 'extracting', 'annotating'],
  failed: ['failed'],
  ready: ['ready'],
  cancelled: ['cancelled'],
} as const satisfies Record<string, readonly VideoReport['status'][] | undefined>
export type ShownList = keyof typeof SHOWN

type StatusCounts = Partial<Record<VideoReport['status'], number>>

export interface VideosData {
  visitor: Visitor
  videos: readonly VideoReport[]
  pictures: ReadonlyMap<string, string>
  counts: StatusCounts
  shown: ShownList
  page: number
  notice: string | undefined
  maxUploadBytes: number
  /** What is wrong with the description of frames, for operators: once, above everything. */
  problem: Html | false
}

/** What a script of the page looks for: while it is there, the page looks again. */
const LOOKS_AGAIN = trusted(' data-under-way')

/** `/operator`: every video with its stage, and what can be done with one or a selection. */
export function videosPage(data: VideosData): Html {
  const { visitor, videos, counts, shown, notice, problem } = data
  const isUnderWay = countOf(counts, 'working') > 0 || videos.some(({ reannotating }) => reannotating > 0)
  const rows = videos.map((video) => videoRow(video, data.pictures.get(video.id)))
  const at = (page: number) => `/operator?page=${page}${shown === 'all' ? '' : `&show=${shown}`}`
  return html`${operatorHead('videos', 'Videos')}
${problem}
${notice !== undefined && html`<p class="notice done" role="status">${notice}</p>`}
${addForms(data)}
<nav class="row loose lists" id="counts" aria-label="Videos by status"${isUnderWay && LOOKS_AGAIN}>
${countLinks(counts, shown)}</nav>
<button id="new" class="quiet" type="button" hidden></button>
<form method="post" action="/web/operator/videos" id="videos">${formToken(visitor)}
${videos.length === 0 ? emptyList(shown, countOf(counts, shown)) : videoTable(rows, SELECT_ALL)}
<div class="row loose acting">
  <span data-count>Selected:</span>
  <button name="act" value="retry">Retry</button>
  <button name="act" value="cancel">Cancel</button>
  <button name="act" value="reannotate">Describe again</button>
  <button name="act" value="delete">Delete</button>
</div>
</form>
${numberedPages(data.page, Math.ceil(countOf(counts, shown) / VIDEOS_PAGE), at)}`
}

/** `total`: the videos on all pages of the list. */
function emptyList(shown: ShownList, total: number): Html {
  if (total > 0)
    return emptyState('No video is on this page', html`<a href="${listPath(shown)}">Show the first page</a>`)
  if (shown !== 'all')
    return emptyState(`No video under “${capitalized(shown)}”`, html`<a href="/operator">Show all</a>`)
  const how = 'Paste an address or choose a file above. The first frames are there about a minute later.'
  return emptyState('The library has no videos yet', how)
}

const SELECT_ALL = html`<input type="checkbox" data-all aria-label="Select all on this page" hidden>`

function videoTable(rows: readonly Html[], all?: Html): Html {
  return html`<table class="videos"><thead><tr><td>${all}</td><td></td><th scope="col">Video</th>
<th scope="col">State</th><th scope="col">Frames</th>
<th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead><tbody>${rows}</tbody></table>`
}

const listPath = (list: ShownList) => (list === 'all' ? '/operator' : `/operator?show=${list}`)

/** The number of videos in a list. */
function countOf(counts: StatusCounts, list: ShownList): number {
  const statuses: readonly VideoReport['status'][] = SHOWN[list] ?? Object.values(SHOWN).flatMap((one) => one ?? [])
  return statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
}

function countLinks(counts: StatusCounts, shown: ShownList): Html[] {
  const lists = (Object.keys(SHOWN) as ShownList[]).filter((list) => list === shown || countOf(counts, list) > 0)
  return lists.map((list) => {
    const here = list === shown && trusted(' aria-current="true"')
    return html`<a href="${listPath(list)}"${here}>${capitalized(list)}
<span class="n">${thousands(countOf(counts, list))}</span></a>`
  })
}

function addForms({ visitor, maxUploadBytes }: VideosData): Html {
  return html`<section class="add" id="add" aria-labelledby="add-heading">
<h2 id="add-heading" class="visually-hidden">Add videos</h2>
<form method="post" action="/web/videos/check">${formToken(visitor)}
  <label for="addresses">Video links, one per line</label>
  <textarea id="addresses" name="addresses" rows="3" required spellcheck="false"
    placeholder="https://www.youtube.com/watch?v=…"></textarea>
  <div class="row"><button class="primary">Check links</button>
  <span class="hint">You see what is new before anything is queued.</span></div>
</form>
<form method="post" action="/web/videos/file" enctype="multipart/form-data" id="files"
  data-max="${maxUploadBytes}">${formToken(visitor)}
  <details><summary>Add title, brand, platform and date</summary>${detailFields({})}</details>
  <label for="file">Video files, at most ${megabytes(maxUploadBytes)} each</label>
  <div class="dropzone row loose"><input id="file" name="file" type="file" accept="video/*,.mkv" required>
  <span class="hint">or drop them here</span></div>
  <button>Upload</button>
  <ul id="uploads" class="uploads"></ul>
</form>
</section>`
}

/** `/operator/videos/{id}`: everything about one video. */
export function videoPage(
  visitor: Visitor,
  video: VideoReport,
  given: { picture: string | undefined; told: { known?: string; saved?: string } },
): Html {
  const { picture, told } = given
  const { title, status, detector, annotator, attempts, backfill, reannotating } = video
  const isUnderWay = SHOWN.working.some((one) => one === status) || reannotating > 0
  return html`${operatorHead('videos', title)}
${told.known && html`<p class="notice" role="status">The library has this file already, with the details below.</p>`}
${told.saved && html`<p class="notice done" role="status">Saved.</p>`}
<form method="post" action="/web/operator/videos" id="videos">${formToken(visitor)}
${videoTable([videoRow(video, picture, true)])}
</form>
<div id="stages"${isUnderWay && LOOKS_AGAIN}><h2>Stages</h2>${stageTable(video)}
${facts([
  ['Attempts', [attempts, backfill && ', behind all live work']],
  detector !== null && ['Detector', detector.version],
  annotator !== null && ['Annotator', annotator],
])}</div>
<section><h2>Details</h2>${detailForm(video, { visitor, back: `/operator/videos/${video.id}?saved=1` })}</section>
<p><a href="/operator">All videos</a></p>`
}

/** Asked before videos are deleted: what goes with them. */
export function deletePage(visitor: Visitor, ids: readonly string[], loss: Loss): Html {
  const people =
    loss.saves + loss.pins > 0
      ? html`<p class="notice"><strong>${counted(loss.accounts, 'person', 'people')}</strong> would lose
${counted(loss.saves, 'save')} and ${counted(loss.pins, 'pin')}.</p>`
      : html`<p>Nobody has saved or pinned a frame of ${loss.videos === 1 ? 'it' : 'them'}.</p>`
  const [only] = loss.titles
  const more = loss.videos - loss.titles.length
  const items = [...loss.titles, ...(more > 0 ? [`${more} more`] : [])].map((item) => html`<li>${item}</li>`)
  const what = loss.videos === 1 && only ? `“${only}”` : counted(loss.videos, 'video')
  return html`<section class="narrow card"><h1>Delete ${what}?</h1>
${loss.videos > 1 && html`<ul>${items}</ul>`}
<p>${counted(loss.frames, 'frame goes', 'frames go')} with ${loss.videos === 1 ? 'it' : 'them'}, images and
descriptions too.
<strong>${capitalized(what)} cannot be brought back.</strong> The source can be added again.</p>
${people}
${confirmForm(visitor, ids, 'delete', html`<button class="danger">Delete for good</button>`)}
<p><a href="/operator">Cancel</a></p></section>`
}

export interface AgainChoice {
  frames: number
  locked: number
  cost: { calls: number; cost_usd: number | null }
}

/** Asked before frames are described again: how many, and what it may cost. */
export function reannotatePage(
  visitor: Visitor,
  ids: readonly string[],
  given: { annotator: string; fresh: AgainChoice; all: AgainChoice },
): Html {
  const { annotator, fresh, all } = given
  const locked =
    all.locked > 0 && html`<p>People corrected values of ${counted(all.locked, 'frame')}. What they set stays.</p>`
  return html`<section class="narrow card"><h1>Describe ${counted(ids.length, 'video')} again?</h1>
<p>By <code>${annotator}</code>, behind live work. The wall shows the old values until the new ones are there.</p>
${locked}
${choice(visitor, ids, 'fresh', `Frames that it has not described: ${thousands(fresh.frames)}`, fresh)}
${choice(visitor, ids, 'all', `All frames: ${thousands(all.frames)}`, all)}
<p><a href="/operator">Cancel</a></p></section>`
}

function choice(visitor: Visitor, ids: readonly string[], which: string, label: string, choice: AgainChoice): Html {
  const button = html`${hidden('frames', which)}<p><strong>${label}.</strong> ${costText(choice)}</p>
<button${choice.frames === 0 && trusted(' disabled')}>Describe ${counted(choice.frames, 'frame')}</button>`
  return confirmForm(visitor, ids, 'reannotate', button)
}

function costText({ frames, cost: { calls, cost_usd } }: AgainChoice): string {
  if (frames === 0) return 'There is nothing to do.'
  if (calls === 0) return 'It costs nothing: no model is asked.'
  if (cost_usd === null)
    return `About ${counted(calls, 'call')}; the price is not known (VISION_PRICE_IN, VISION_PRICE_OUT).`
  return `About ${counted(calls, 'call')}, at most $${cost_usd.toFixed(2)}. Images that it knows cost nothing.`
}

function confirmForm(visitor: Visitor, ids: readonly string[], act: string, button: Html): Html {
  return html`<form method="post" action="/web/operator/videos">${formToken(visitor)}${hidden('act', act)}
${hidden('sure', '1')}${ids.map((id) => hidden('video', id))}${button}</form>`
}

/** What could not be done, each with its reason. */
export function refusedPage(done: string, refused: readonly { title: string; reason: string }[]): Html {
  return html`${operatorHead('videos', 'Not all of it')}
<p class="lead">${done}</p>
<ul>${refused.map(({ title, reason }) => html`<li><strong>${title}</strong>: ${reason}</li>`)}</ul>
<p><a href="/operator">Back to the videos</a></p>`
}

type Stage = VideoReport['stages'][number]

/** What may be done with a video, by its status. */
const ALLOWED = {
  retry: ['failed', 'cancelled'],
  cancel: SHOWN.working,
} as const satisfies Record<string, readonly VideoReport['status'][]>

/**
 * One video of the list, or `alone` on its page, with all that is done with it. The same for every operator: its
 * buttons send the form around the list. `data-live` marks what changes while one looks.
 */
function videoRow(video: VideoReport, picture: string | undefined, alone = false): Html {
  const { id, title, author, platform, source_url, added_at } = video
  const source = safeUrl(source_url)
  return html`<tr id="v-${id}" data-video="${id}">
<td>${!alone && html`<input type="checkbox" name="video" value="${id}" aria-label="Select ${title}">`}</td>
<td data-live="picture">${
    picture !== undefined && html`<img class="still" src="${picture}" alt="" width="96" height="54" decoding="async">`
  }</td>
<th scope="row"><a href="${alone && video.status === 'ready' ? '' : '/operator'}/videos/${id}">${title}</a>
  <span class="hint">${author && html`${author} · `}${
    source ? html`<a href="${source}" rel="noreferrer">${valueLabel(platform)}</a>` : 'file'
  } · ${ago(added_at)}</span></th>
<td data-live="state">${stateOf(video)}</td>
<td data-live="frames">${framesOf(video)}</td>
<td data-live="buttons">${buttonsOf(video, alone)}</td>
</tr>`
}

function stateOf(video: VideoReport): Html {
  const { status, failure } = video
  const stage = video.stages.find((one) => one.stage === status)
  return html`<span class="badge ${status}">${capitalized(status)}</span>
${stage && progressOf(stage)}
${failure && html`<p class="reason">${failure.message}</p>`}
${status === 'queued' && video.attempts > 0 && html`<span class="hint">attempt ${video.attempts + 1}</span>`}`
}

function progressOf({ stage, done, total, left_sec }: Stage): Html {
  const of = total === null ? String(done) : `${done} of ${total}`
  const left = left_sec !== null && ` · about ${span(left_sec)} left`
  const bar =
    total !== null && total > 0 && html`<progress max="${total}" value="${done}" aria-label="${stage}"></progress>`
  return html`${bar}<span class="hint">${of}${left}</span>`
}

function framesOf({ id, status, frame_count, reannotating, costs }: VideoReport): Html {
  const frames = counted(frame_count, 'frame')
  return html`${status === 'ready' ? html`<a href="/?video=${id}">${frames}</a>` : frames}
${
  reannotating > 0 &&
  html`<span class="hint">${counted(reannotating, 'waits', 'wait')} for a new
description</span>`
}
${costs.calls > 0 && html`<span class="hint">${dollars(costs.cost_usd)}, ${counted(costs.calls, 'call')}</span>`}`
}

function buttonsOf({ id, title, status }: VideoReport, alone: boolean): Html {
  const button = (act: string, label: string) => html`<button class="quiet" name="one" value="${act}:${id}"
  id="${act}-${id}" aria-label="${label}: ${title}">${label}</button>`
  const may = (statuses: readonly string[]) => statuses.includes(status)
  return html`<div class="row tight">${may(ALLOWED.retry) && button('retry', 'Retry')}
${may(ALLOWED.cancel) && button('cancel', 'Cancel')}
${alone && status === 'ready' && button('reannotate', 'Describe again')}
${alone && button('delete', 'Delete')}</div>`
}

/** `/operator/videos/{id}`: the stages of one video with their times. */
function stageTable({ stages }: VideoReport): Html {
  return table(['Stage', 'Done', 'Took'], stages.map(stageRow))
}

function stageRow({ stage, started_at, finished_at, done, total }: Stage): Html {
  const end = finished_at === null ? Date.now() : Date.parse(finished_at)
  const took = span((end - Date.parse(started_at)) / 1_000)
  return html`<tr><th scope="row">${capitalized(stage)}</th><td>${done}${total !== null && ` of ${total}`}</td>
<td>${took}${finished_at === null && trusted(', running')}</td></tr>`
}
