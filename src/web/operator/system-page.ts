import { megabytes, percent, span } from '../../clean-text.ts'
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
import { counted, facts, type Html, html, table } from '../html.ts'
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
      ({ of, since, consumer }) => html`<p class="notice">${of} stopped answering ${ago(since)};
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
<h2>Disk</h2>${facts([
      ['Database', megabytes(bytes)],
      ['Images and uploads', room ? `${megabytes(room.freeBytes)} free of ${megabytes(room.totalBytes)}` : IN_BUCKET],
    ])}</div>`
    return { title: 'System', current: 'operator', wide: true, modules: ['system.js'], body }
  })
}

const IN_BUCKET = 'in a bucket: no limit is known'

function queuesSection(queues: readonly JobCounts[] | undefined): Html {
  if (!queues)
    return html`<h2>Queues</h2><p class="notice">Redis does not answer. Work continues later; nothing is lost.</p>`
  return html`<h2>Queues</h2>${table(['Queue', 'Waiting', 'Running', 'Failed', 'State'], queues.map(queueRow))}
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
${facts([
  ['Annotator', present ?? 'no worker has run here yet'],
  ['Failed calls, 24 hours', [errors.failed, errors.calls > 0 && ` (${percent(errors.failed / errors.calls)})`]],
])}
${describeProgress(status, budgetPerDay).map((line) => html`<p>${line}</p>`)}
${
  check &&
  html`<p class="hint">The model's server, ${ago(check.at)}; <code>frames vision check</code> asks the model too:</p>
${facts(check.findings.map(({ what, told, fault }) => [what, fault ?? told]))}`
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
  html`<p class="hint">${counted(held.events, 'event waits', 'events wait')} for an open transaction; the first
came ${ago(held.since)}.</p>`
}
${table(['Reader', 'Behind', 'Last moved', 'Skipped'], lag.map(readerRow))}`
}

function readerRow({ consumer, unread, seconds, moved_at, dead }: ConsumerLag): Html {
  const oldest = unread > 0 && html` <span class="hint">the oldest ${span(seconds)} old</span>`
  return html`<tr><th scope="row">${consumer}</th>
<td>${counted(unread, 'event')}${unread === MOST_UNREAD && ' or more'}${oldest}</td>
<td>${ago(moved_at)}</td><td>${dead}</td></tr>`
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
${table(['Receiver', 'State', 'Waiting', 'Failing', 'Last success'], sorted.map(receiverRow))}`
}

function receiverRow(receiver: Receiver): Html {
  const { url, description, state, paused_because, waiting, failures, failing_since, last_success_at } = receiver
  return html`<tr><th scope="row">${new URL(url).host}<span class="hint">${description}</span></th>
<td><span class="badge${state !== 'active' && ' failed'}">${state}</span>${
    paused_because === 'failures' && html`<span class="hint">after failures</span>`
  }</td><td>${counted(waiting, 'event')}</td>
<td>${failing_since === null ? 'no' : html`${counted(failures, 'attempt')}, first ${ago(failing_since)}`}</td>
<td>${last_success_at === null ? 'never' : ago(last_success_at)}</td></tr>`
}
