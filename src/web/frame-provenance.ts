import type { FrameDocument, ShownFrame } from '../search/library-search.ts'
import type { Source } from '../vocabulary.ts'
import { type Html, html } from './html.ts'
import { percent, valueLabel } from './words.ts'

const SAID: Record<Source, string> = {
  measured: 'measured',
  rule: 'by rule',
  ocr: 'read from the picture',
  model: 'a model',
  notes: 'notes with the video',
  person: 'a person',
}

const NAMES: Record<string, string> = { zone: 'Face', on_screen_text: 'On-screen text' }

/** Who said what about a frame, and how sure. */
export function provenanceTable(frame: FrameDocument): Html {
  const entries = Object.entries(frame.provenance ?? {}).flatMap(([name, said]) => (said ? [{ name, ...said }] : []))
  const rows = entries.map(
    ({ name, source, by, confidence, reason }) => html`<tr><th scope="row">${NAMES[name] ?? valueLabel(name)}</th>
<td>${SAID[source]}${source === 'model' && html` <span class="hint">${by}</span>`}${
      reason !== undefined && html` <span class="hint">${reason}</span>`
    }</td>
<td>${source === 'person' || confidence === null ? '' : percent(confidence)}</td></tr>`,
  )
  return html`<details class="said"><summary>${describedBy(frame)}</summary>
${
  rows.length > 0 &&
  html`<div class="scroll" tabindex="0" role="region" aria-label="Who said so"><table>
<thead><tr><th scope="col">Value</th><th scope="col">Source</th><th scope="col">Confidence</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}
<p class="hint"><a href="/api/frames/${frame.id}?provenance=1">All data as JSON</a></p></details>`
}

function describedBy({ annotation: { model, reviewed } }: ShownFrame): string {
  return `${describer(model)}${reviewed ? ', corrected by a person' : ''}`
}

function describer(model: string | null): string {
  if (model === null) return 'Not described yet'
  if (model === 'notes') return 'Described by hand, in notes that came with the video'
  return model.startsWith('measured') ? 'Measured, without a model' : `Described by ${model}`
}
