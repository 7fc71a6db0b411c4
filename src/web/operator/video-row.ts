import type { VideoReport } from '../../library/videos/video-status.ts'
import { counted } from '../actions.ts'
import { type Html, html, safeUrl, trusted } from '../html.ts'
import { ago, dollars, span } from './parts.ts'

type Stage = VideoReport['stages'][number]

/** What may be done with a video, by its status. */
const ALLOWED = {
  retry: ['failed', 'cancelled'],
  cancel: ['queued', 'fetching', 'extracting', 'annotating'],
} as const satisfies Record<string, readonly VideoReport['status'][]>

/**
 * One video of the list. The same for every operator: its buttons send the form around the list. `data-live` marks
 * what changes while one looks.
 */
export function videoRow(video: VideoReport, picture: string | undefined): Html {
  const { id, title, author, platform, source_url, added_at, status } = video
  const source = safeUrl(source_url)
  return html`<tr id="v-${id}" data-video="${id}" data-status="${status}">
<td><input type="checkbox" name="video" value="${id}" aria-label="Select ${title}"></td>
<td class="still" data-live="picture">${
    picture !== undefined && html`<img src="${picture}" alt="" width="96" height="54" decoding="async">`
  }</td>
<th scope="row"><a href="/operator/videos/${id}">${title}</a>
  <span class="hint">${author && html`${author} · `}${
    source ? html`<a href="${source}" rel="noreferrer">${platform}</a>` : 'file'
  } · ${ago(added_at)}</span></th>
<td data-live="state">${stateOf(video)}</td>
<td data-live="frames">${framesOf(video)}</td>
<td data-live="buttons">${buttonsOf(video)}</td>
</tr>`
}

function stateOf(video: VideoReport): Html {
  const { status, failure } = video
  const stage = video.stages.find((one) => one.stage === status)
  return html`<span class="badge ${status}">${status}</span>
${stage && progressOf(stage)}
${failure && html`<p class="reason">${failure.message} <code>${failure.code}</code></p>`}
${status === 'queued' && video.attempts > 0 && html`<span class="hint">attempt ${video.attempts + 1}</span>`}`
}

const rateOf = (perSecond: number) => `${perSecond < 10 ? perSecond : Math.round(perSecond)} a second`

function progressOf({ stage, done, total, rate_per_sec, left_sec }: Stage): Html {
  const of = total === null ? String(done) : `${done} of ${total}`
  const rate = rate_per_sec !== null && ` · ${rateOf(rate_per_sec)}`
  const left = left_sec !== null && ` · about ${span(left_sec)} left`
  const bar =
    total !== null && total > 0 && html`<progress max="${total}" value="${done}" aria-label="${stage}"></progress>`
  return html`${bar}<span class="hint">${of}${rate}${left}</span>`
}

function framesOf({ id, status, frame_count, reannotating, costs }: VideoReport): Html {
  const frames = counted(frame_count, 'frame')
  return html`${status === 'ready' ? html`<a href="/?video=${id}">${frames}</a>` : frames}
${reannotating > 0 && html`<span class="hint">${reannotating} wait for a new description</span>`}
${costs.calls > 0 && html`<span class="hint">${dollars(costs.cost_usd)}, ${counted(costs.calls, 'call')}</span>`}`
}

function buttonsOf({ id, title, status }: VideoReport): Html {
  const button = (act: string, label: string) => html`<button class="quiet" name="one" value="${act}:${id}"
  id="${act}-${id}" aria-label="${label}: ${title}">${label}</button>`
  const may = (statuses: readonly string[]) => statuses.includes(status)
  return html`<div class="row-buttons">${may(ALLOWED.retry) && button('retry', 'Retry')}
${may(ALLOWED.cancel) && button('cancel', 'Cancel')}
${status === 'ready' && button('reannotate', 'Re-annotate')}
${button('delete', 'Delete')}</div>`
}

/** `/operator/videos/{id}`: the stages of one video with their times. */
export function stageTable({ stages }: VideoReport): Html {
  return html`<div class="scroll"><table><thead><tr><th scope="col">Stage</th><th scope="col">Done</th>
<th scope="col">Took</th><th scope="col">Rate</th></tr></thead><tbody>${stages.map(stageRow)}</tbody></table></div>`
}

function stageRow({ stage, started_at, finished_at, done, total, rate_per_sec }: Stage): Html {
  const end = finished_at === null ? Date.now() : Date.parse(finished_at)
  const took = span((end - Date.parse(started_at)) / 1_000)
  return html`<tr><th scope="row">${stage}</th><td>${done}${total !== null && ` of ${total}`}</td>
<td>${took}${finished_at === null && trusted(', running')}</td>
<td>${rate_per_sec !== null && rateOf(rate_per_sec)}</td></tr>`
}
