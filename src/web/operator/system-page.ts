import { megabytes, span } from '../../clean-text.ts'
import { type ConsumerLag, listConsumerLag, MOST_UNREAD } from '../../events/lag.ts'
import { findHeldBack } from '../../events/read.ts'
import { listOutages } from '../../events/waiting.ts'
import { type AnnotatorStatus, findAnnotatorStatus } from '../../library/annotator/active-annotator.ts'
import { describeProgress } from '../../library/annotator/progress.ts'
import { databaseBytes, findVisionErrors, type VisionErrors } from '../../library/annotator/vision-spending.ts'
import type { JobCounts } from '../../queue/job-counts.ts'
import { describeEndpoints } from '../../webhooks/describe.ts'
import { listEndpoints } from '../../webhooks/endpoints.ts'
import type { Actions } from '../actions.ts'
import { counted, type Html, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { ago, operatorHead } from './parts.ts'

/** `/operator/system`: queues, the model, readers of the event log, webhooks, disk. Numbers lead to what they count. */
export function addSystemPage(actions: Actions, deps: PageDeps): void {
  const { db, store, countJobs, config } = deps
  actions.page('/operator/system', 'operator', { parameters: {}, price: 'heavy' }, async () => {
    const [queues, annotator, errors, lag, outages, held, receivers, room, bytes] = await Promise.all([
      countJobs().catch(() => undefined),
      findAnnotatorStatus(db),
      findVisionErrors(db),
      listConsumerLag(db),
      listOutages(db),
      findHeldBack(db),
      listEndpoints(db).then((endpoints) => describeEndpoints(db, endpoints)),
      store.room(),
      databaseBytes(db),
    ])
    const body = html`${operatorHead('system', 'System')}
<div id="system">${outages.map(
      ({ of, since, consumer }) => html`<p class="notice">${of} has not answered since ${ago(since)};
${consumer} waits for it.</p>`,
    )}
${queuesSection(queues)}
${modelSection(annotator, errors, config.vision?.budgetPerDay)}
${consumersSection(lag, held)}
${webhooksSection(receivers)}
<h2>Who can read</h2><p>${
      config.reads === 'open'
        ? html`Everyone who reaches this address. <code>READS=members</code> asks for a key or a session.`
        : 'Those with a key or a session. Shared boards open to everyone with their link.'
    }</p>
<h2>Disk</h2><dl>
<div><dt>Database</dt><dd>${megabytes(bytes)}</dd></div>
<div><dt>Images and uploads</dt><dd>${
      room ? html`${megabytes(room.freeBytes)} free of ${megabytes(room.totalBytes)}` : 'in a bucket: no limit is known'
    }</dd></div></dl></div>`
    return { title: 'System', current: 'operator', wide: true, modules: ['system.js'], body }
  })
}

function queuesSection(queues: readonly JobCounts[] | undefined): Html {
  if (!queues)
    return html`<h2>Queues</h2><p class="notice">Redis does not answer. Work continues later; nothing is lost.</p>`
  return html`<h2>Queues</h2><div class="scroll"><table><thead><tr><th scope="col">Queue</th>
<th scope="col">Waiting</th><th scope="col">Running</th><th scope="col">Failed</th><th scope="col"></th></tr></thead>
<tbody>${queues.map(queueRow)}</tbody></table></div>
<p class="hint">A failed job belongs to a video: see the <a href="/operator?show=failed">failed videos</a>.</p>`
}

function queueRow({ queue, waiting, prioritized, delayed, active, failed, paused, rests_ms }: JobCounts): Html {
  const rests = rests_ms > 0 && html`rests for ${span(rests_ms / 1_000)}`
  return html`<tr><th scope="row">${queue}</th><td>${waiting + prioritized + delayed}</td><td>${active}</td>
<td>${failed}</td><td>${paused && 'paused'} ${rests}</td></tr>`
}

function modelSection(status: AnnotatorStatus, errors: VisionErrors, budgetPerDay: number | undefined): Html {
  const { present, problem, check, last_24_h: day } = status
  return html`<h2>Description of frames</h2>
${problem && html`<p class="notice">${problem.message} (${ago(problem.since)})</p>`}
<dl><div><dt>Annotator</dt><dd>${present ?? 'no worker has run here yet'}</dd></div>
<div><dt>Failed calls, 24 hours</dt><dd>${errors.failed}${
    errors.calls > 0 && ` (${Math.round((errors.failed / errors.calls) * 100)} %)`
  }</dd></div></dl>
${describeProgress(status, budgetPerDay).map((line) => html`<p>${line}</p>`)}
${
  check &&
  html`<p class="hint">The model's server, ${ago(check.at)}; <code>frames vision check</code> asks the model too:</p>
<dl>${check.findings.map(({ what, told, fault }) => html`<div><dt>${what}</dt><dd>${fault ?? told}</dd></div>`)}</dl>`
}
${
  budgetPerDay !== undefined &&
  html`<meter min="0" max="${budgetPerDay}" value="${day.cost_usd}" aria-label="Budget of the last 24 hours"></meter>`
}`
}

function consumersSection(lag: readonly ConsumerLag[], held: { events: number; since: Date } | null): Html {
  return html`<h2>Readers of the event log</h2>
${
  held &&
  html`<p class="hint">${counted(held.events, 'event')} wait for an open transaction since ${ago(held.since)}.</p>`
}
<div class="scroll"><table><thead><tr><th scope="col">Reader</th><th scope="col">Behind</th>
<th scope="col">Last moved</th><th scope="col">Skipped</th></tr></thead><tbody>${lag.map(
    ({ consumer, unread, seconds, moved_at, dead }) => html`<tr><th scope="row">${consumer}</th>
<td>${counted(unread, 'event')}${unread === MOST_UNREAD && ' or more'}${
      unread > 0 &&
      html`<span class="hint">the
oldest ${span(seconds)} old</span>`
    }</td><td>${ago(moved_at)}</td><td>${dead}</td></tr>`,
  )}</tbody></table></div>`
}

type Receiver = Awaited<ReturnType<typeof describeEndpoints>>[number]

/** Addresses that get the events: those in trouble first. Only the host is shown, because a path may hold a secret. */
function webhooksSection(receivers: readonly Receiver[]): Html {
  if (receivers.length === 0)
    return html`<h2>Webhooks</h2><p class="hint">No receiver of events is registered.
<code>frames webhooks create &lt;url&gt;</code> registers one.</p>`
  const sorted = receivers.toSorted((a, b) => b.failures - a.failures || b.waiting - a.waiting)
  const states = Map.groupBy(receivers, ({ state }) => state)
  const told = [...states].map(([state, { length }]) => `${length} ${state}`)
  return html`<h2>Webhooks</h2><p class="hint">${told.join(', ')}</p>
<div class="scroll"><table><thead><tr><th scope="col">Receiver</th><th scope="col">State</th>
<th scope="col">Waiting</th><th scope="col">Failing</th><th scope="col">Last success</th></tr></thead>
<tbody>${sorted.map(receiverRow)}</tbody></table></div>`
}

function receiverRow(receiver: Receiver): Html {
  const { url, description, state, paused_because, waiting, failures, failing_since, last_success_at } = receiver
  return html`<tr><th scope="row">${new URL(url).host}<span class="hint">${description}</span></th>
<td><span class="badge${state !== 'active' && ' failed'}">${state}</span>${
    paused_because === 'failures' && html`<span class="hint">after failures</span>`
  }</td><td>${counted(waiting, 'event')}</td>
<td>${failing_since === null ? 'no' : html`${counted(failures, 'attempt')} since ${ago(failing_since)}`}</td>
<td>${last_success_at === null ? 'never' : ago(last_success_at)}</td></tr>`
}
