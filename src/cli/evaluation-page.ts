import { agreementOf } from '../library/evaluation/agreement.ts'
import { bestTruths, type ModelReport, type Truths } from '../library/evaluation/report.ts'
import type { FrameAnnotation } from '../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../vocabulary.ts'
import { type Html, html, trusted } from '../web/html.ts'

export interface PageFrame {
  id: string
  title: string
  tSec: number
  /** The small picture; null where it is lost. */
  thumb: Buffer | null
}

export interface PageModel {
  report: ModelReport
  answers: ReadonlyMap<string, FrameAnnotation>
}

const STYLE = `body{font:15px/1.4 system-ui,sans-serif;margin:2rem;color:#111;background:#fff}
table{border-collapse:collapse;margin:0 0 2rem}th,td{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;
vertical-align:top}img{width:320px;height:auto;display:block}.right{background:#e4f5e4}.wrong{background:#fbe3e3}
section{display:flex;gap:1rem;margin:0 0 2rem;flex-wrap:wrap}td{max-width:28rem;overflow-wrap:anywhere}`

/**
 * A self-contained page: no script, no external address, embedded pictures. Every text of a model, a video or a person
 * is escaped, and the content security policy in its head blocks the rest.
 */
export function writeEvaluationPage(
  frames: readonly PageFrame[],
  models: readonly PageModel[],
  truths: Truths,
  at: Date,
): string {
  const known = bestTruths(truths)
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Models on ${frames.length} frames</title><style>${trusted(STYLE)}</style></head><body>
<h1>Models on ${frames.length} frames</h1><p>${at.toISOString()}</p>
${figures(models.map(({ report }) => report))}
${agreements(models.map(({ report }) => report))}
${frames.map((frame) => row(frame, models, known.get(frame.id) ?? {}))}
</body></html>
`
  return page.text
}

function figures(reports: readonly ModelReport[]): Html {
  const lines: [string, (report: ModelReport) => string][] = [
    ['Frames answered', ({ frames }) => String(frames)],
    ['Refused, failed', ({ refused, failed }) => `${refused}, ${failed}`],
    ['Calls, broken', ({ calls, broken_calls }) => `${calls}, ${broken_calls}`],
    ['Latency, median and p95', ({ latency_ms }) => `${ms(latency_ms.median)}, ${ms(latency_ms.p95)}`],
    ['Cost of 1,000 frames', ({ cost_per_1000_frames }) => dollars(cost_per_1000_frames)],
    ['Ended early', ({ stopped }) => stopped?.message ?? 'no'],
  ]
  return html`<table><tr><th></th>${reports.map(({ model }) => html`<th>${model}</th>`)}</tr>
${lines.map(([name, of]) => html`<tr><th>${name}</th>${reports.map((report) => html`<td>${of(report)}</td>`)}</tr>`)}
</table>`
}

function agreements(reports: readonly ModelReport[]): Html {
  const rows = (['people', 'labels', 'measured'] as const).flatMap((source) =>
    ANNOTATED.filter((attribute) => reports.some((report) => report.agreement[source][attribute])).map(
      (attribute) =>
        html`<tr><th>${attribute}</th><td>${source}</td>${reports.map((report) => {
          const score = report.agreement[source][attribute]
          return html`<td>${score ? `${share(score.agreement)} of ${score.answered}/${score.compared}` : '–'}</td>`
        })}</tr>`,
    ),
  )
  return html`<table><tr><th>Agreement</th><th>with</th>${reports.map(({ model }) => html`<th>${model}</th>`)}</tr>
${rows}</table>`
}

function row(
  frame: PageFrame,
  models: readonly PageModel[],
  known: Partial<Record<AnnotatedAttribute, readonly string[]>>,
): Html {
  const picture = frame.thumb
    ? html`<img alt="" src="data:image/webp;base64,${frame.thumb.toString('base64')}">`
    : html`<p>picture lost</p>`
  return html`<section><div>${picture}<p>${frame.title}, ${frame.tSec.toFixed(1)} s<br>${frame.id}</p></div>
<table><tr><th></th><th>known</th>${models.map(({ report }) => html`<th>${report.model}</th>`)}</tr>
${ANNOTATED.map(
  (attribute) =>
    html`<tr><th>${attribute}</th><td>${known[attribute]?.join(' or ')}</td>${models.map(({ answers }) =>
      cell(attribute, answers.get(frame.id), known[attribute]),
    )}</tr>`,
)}</table></section>`
}

function cell(attribute: AnnotatedAttribute, answer: FrameAnnotation | undefined, right?: readonly string[]): Html {
  if (answer?.status !== 'annotated')
    return html`<td>${answer ? `${answer.status}: ${answer.reason ?? ''}` : 'not asked'}</td>`
  const given = answer.values[attribute]
  if (!given || given.value === null) return html`<td>–</td>`
  const confidence = given.confidence === null ? '' : ` (${given.confidence})`
  const verdict = agreementOf(attribute, given.value, right ?? []) >= 0.5 ? 'right' : 'wrong'
  return html`<td class="${right && right.length > 0 ? verdict : ''}">${given.value}${confidence}</td>`
}

export const share = (value: number | null) => (value === null ? '–' : value.toFixed(2))
export const ms = (value: number | null) => (value === null ? '–' : `${Math.round(value)} ms`)
export const dollars = (value: number | null) => (value === null ? 'unknown' : `$${value.toFixed(2)}`)
