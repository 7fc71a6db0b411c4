import {
  type Agreement,
  agreementOf,
  bestTruths,
  type Comparison,
  type ModelReport,
  type Truths,
} from '../library/evaluation/agreement.ts'
import type { FrameAnnotation } from '../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../vocabulary.ts'
import { type Html, html, trusted } from '../web/html.ts'

export const share = (value: number | null) => (value === null ? '–' : value.toFixed(2))
export const ms = (value: number | null) => (value === null ? '–' : `${Math.round(value)} ms`)
export const dollars = (value: number | null) =>
  value === null ? 'unknown' : `$${value.toFixed(value > 0 && value < 0.1 ? 4 : 2)}`

/** Such as `0.80 (0.66 to 0.89)`: the agreement and its interval of 95 %. */
export function agreementText({ agreement, interval }: Agreement): string {
  return interval ? `${share(agreement)} (${share(interval[0])} to ${share(interval[1])})` : share(agreement)
}

/** Below this likelihood of chance a difference is told as one. */
const CHANCE = 0.05

/** Which of two models is worth its price, in sentences. */
export function worth([first, second]: readonly ModelReport[], comparison: Comparison): string[] {
  if (!first || !second) return []
  const { values, first_right, second_right, only_first, only_second, p } = comparison
  if (values === 0) return ['No value is known on frames that both models answered, so nothing tells which is better.']
  const better = only_first >= only_second ? first : second
  const known =
    `Of ${values} known values ${first.model} has ${first_right} right, ${second.model} ${second_right}. ` +
    `Right in one alone: ${only_first} and ${only_second}.`
  if (p >= CHANCE)
    return [
      known,
      `That is no clear difference (p = ${p.toFixed(2)}).`,
      `Ask about more frames, or take the cheaper model${cheaper(first, second)}.`,
    ]
  const chance = p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`
  return [known, `${better.model} is better (p ${chance}). ${price(first, second, comparison)}`]
}

function cheaper(first: ModelReport, second: ModelReport): string {
  const [a, b] = [first.cost_per_1000_frames, second.cost_per_1000_frames]
  if (a === null || b === null || a === b) return ''
  const [less, more] = a < b ? [a, b] : [b, a]
  return `: ${a < b ? first.model : second.model}, ${dollars(less)} instead of ${dollars(more)} for 1,000 frames`
}

function price(first: ModelReport, second: ModelReport, { frames, only_first, only_second }: Comparison): string {
  const [better, other] = only_first >= only_second ? [first, second] : [second, first]
  const [a, b] = [better.cost_per_1000_frames, other.cost_per_1000_frames]
  if (a === null || b === null) return 'A price is missing, so what it costs more cannot be told.'
  if (a <= b) return `It costs no more: ${dollars(a)} for 1,000 frames, ${other.model} ${dollars(b)}.`
  const gained = (Math.abs(only_first - only_second) / frames) * 1000
  return (
    `It costs ${dollars(a - b)} more for 1,000 frames (${dollars(a)}, ${other.model} ${dollars(b)}): ` +
    `${dollars((a - b) / gained)} for each further right value.`
  )
}

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

const STYLE = `:root{color-scheme:light dark;--ink:#1c1d21;--soft:#5a5e68;--paper:#fff;--panel:#f5f6f8;--line:#d9dce2;
--right:#e2f4e4;--wrong:#fde4e1}
@media (prefers-color-scheme:dark){:root{--ink:#eceef2;--soft:#a9afbb;--paper:#15171b;--panel:#1e2127;--line:#383d47;
--right:#17381f;--wrong:#4a1f1d}}
*{box-sizing:border-box}body{font:16px/1.5 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--paper)}
main{max-width:110rem;margin:0 auto;padding:1.5rem clamp(1rem,3vw,3rem)}
h1{font-size:1.7rem;line-height:1.2;margin:0}h2{font-size:1.2rem;margin:2.5rem 0 .75rem}
h3{font-size:1rem;margin:.5rem 0 0}.soft{color:var(--soft);margin:.25rem 0 .75rem}
.told{background:var(--panel);border-left:4px solid var(--soft);padding:.75rem 1rem;margin:1.25rem 0 0;max-width:75ch}
.told p{margin:0}.told p+p{margin-top:.4rem}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .75rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
tr:first-child>*{border-top:0}thead th{background:var(--panel)}tbody th{font-weight:500;white-space:nowrap}
.frames{display:grid;gap:1.5rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,32rem),1fr))}
section.frame{border:1px solid var(--line);border-radius:8px;overflow:hidden}
section.frame .head{padding:.25rem .75rem .75rem;overflow-wrap:anywhere}
section.frame .wide{border:0;border-top:1px solid var(--line);border-radius:0}
td{min-width:9.5rem}section.frame td{overflow-wrap:anywhere;font-size:.9rem}section.frame th{font-size:.9rem}
img{width:100%;height:auto;aspect-ratio:16/9;object-fit:contain;display:block;background:#000}
td.right{background:var(--right)}td.wrong{background:var(--wrong)}
td.right::before{content:'✓ '}td.wrong::before{content:'✗ '}code{font-size:.8rem;color:var(--soft)}`

/**
 * A self-contained page: no script, no external address, embedded pictures. Every text of a model, a video or a person
 * is escaped, and the content security policy in its head blocks the rest.
 */
export function writeEvaluationPage(
  frames: readonly PageFrame[],
  models: readonly PageModel[],
  truths: Truths,
  { at, told }: { at: Date; told: readonly string[] },
): string {
  const known = bestTruths(truths)
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Models on ${frames.length} frames</title><style>${trusted(STYLE)}</style></head><body><main>
<h1>Models on ${frames.length} frames</h1>
<p class="soft">${at.toISOString().slice(0, 16).replace('T', ' ')} UTC</p>
${told.length > 0 ? html`<div class="told">${told.map((line) => html`<p>${line}</p>`)}</div>` : ''}
<h2>Cost, speed and failures</h2>${figures(models.map(({ report }) => report))}
<h2>Agreement</h2>
<p class="soft">From 0 to 1, over the frames that were answered. In brackets: its range with 95 % confidence.</p>
${agreements(models.map(({ report }) => report))}
${calibrations(models.map(({ report }) => report))}
<h2>Frames</h2><p class="soft">Green with ✓ is right, red with ✗ is wrong; of the others
nothing is known. In brackets: the stated confidence.</p>
<div class="frames">${frames.map((frame) => row(frame, models, known.get(frame.id) ?? {}))}</div>
</main></body></html>
`
  return page.text
}

/** A table that can be scrolled by keys where it is too wide. */
function table(label: string, heads: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="wide" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`
}

function figures(reports: readonly ModelReport[]): Html {
  const lines: [string, (report: ModelReport) => string][] = [
    ['Cost of 1,000 frames', ({ cost_per_1000_frames }) => dollars(cost_per_1000_frames)],
    ['Cost of this run', ({ cost_usd }) => dollars(cost_usd)],
    ['Tokens in, out', ({ input_tokens, output_tokens }) => `${input_tokens}, ${output_tokens}`],
    ['Time of a call: median', ({ latency_ms }) => ms(latency_ms.median)],
    ['95th, 99th percentile', ({ latency_ms }) => `${ms(latency_ms.p95)}, ${ms(latency_ms.p99)}`],
    ['Frames answered', ({ frames, refused, failed }) => String(frames - refused - failed)],
    ['Frames refused', ({ refused }) => String(refused)],
    ['Frames failed', ({ failed }) => String(failed)],
    ['Calls, of them broken', ({ calls, broken_calls }) => `${calls}, ${broken_calls}`],
    ['Ended early', ({ stopped }) => stopped?.message ?? 'no'],
  ]
  return table(
    'Cost, speed and failures',
    ['Figure', ...reports.map(({ model }) => model)],
    lines.map(
      ([name, of]) =>
        html`<tr><th scope="row">${name}</th>${reports.map((report) => html`<td>${of(report)}</td>`)}</tr>`,
    ),
  )
}

const SOURCES = { people: 'people', labels: 'labels or notes', measured: 'measurement' } as const

function agreements(reports: readonly ModelReport[]): Html {
  const rows = (['people', 'labels', 'measured'] as const).flatMap((source) =>
    ANNOTATED.filter((attribute) => reports.some((report) => report.agreement[source][attribute])).map((attribute) => {
      const cells = reports.map((report) => {
        const score = report.agreement[source][attribute]
        const text = score && `${agreementText(score)}, ${score.answered} of ${score.compared} answered`
        return html`<td>${text ?? '–'}</td>`
      })
      return html`<tr><th scope="row">${nameOf(attribute)}</th><td>${SOURCES[source]}</td>${cells}</tr>`
    }),
  )
  return table('Agreement', ['Attribute', 'Known from', ...reports.map(({ model }) => model)], rows)
}

/** How often values were right at the confidence that was stated for them. */
function calibrations(reports: readonly ModelReport[]): Html {
  const froms = [...new Set(reports.flatMap(({ calibration }) => (calibration.all ?? []).map(({ from }) => from)))]
  if (froms.length === 0) return html``
  const rows = froms
    .toSorted((a, b) => a - b)
    .map((from) => {
      const cells = reports.map(({ calibration }) => {
        const band = calibration.all?.find((one) => one.from === from)
        const text = band && `${share(band.agreed)} right of ${band.n} values, said ${share(band.mean_confidence)}`
        return html`<td>${text ?? '–'}</td>`
      })
      return html`<tr><th scope="row">from ${from.toFixed(1)}</th>${cells}</tr>`
    })
  return html`<h2>Stated confidence</h2>
${table('Stated confidence', ['Confidence', ...reports.map(({ model }) => model)], rows)}`
}

const nameOf = (attribute: AnnotatedAttribute) => attribute.replaceAll('_', ' ')

function row(
  frame: PageFrame,
  models: readonly PageModel[],
  known: Partial<Record<AnnotatedAttribute, readonly string[]>>,
): Html {
  const at = `${frame.title}, ${frame.tSec.toFixed(1)} s`
  const picture = frame.thumb
    ? html`<img alt="${at}" src="data:image/webp;base64,${frame.thumb.toString('base64')}">`
    : html`<p>picture lost</p>`
  const rows = ANNOTATED.map(
    (attribute) =>
      html`<tr><th scope="row">${nameOf(attribute)}</th><td>${known[attribute]?.join(' or ') ?? '–'}</td>${models.map(
        ({ answers }) => cell(attribute, answers.get(frame.id), known[attribute]),
      )}</tr>`,
  )
  return html`<section class="frame">${picture}<div class="head"><h3>${at}</h3><code>${frame.id}</code></div>
${table(`Values of ${frame.id}`, ['Attribute', 'Known', ...models.map(({ report }) => report.model)], rows)}</section>`
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
