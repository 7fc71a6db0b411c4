import type { SavedFrame } from '../../views/collections.ts'
import { counted, formToken } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { type Html, html } from '../html.ts'
import { emptyState, exportLinks, notices, pager, pickCard, planNotice, type Told } from './parts.ts'

interface SavesData {
  visitor: Visitor
  frames: readonly SavedFrame[]
  total: number
  after: string | undefined
  next: string | null
  told: Told
}

/** `/saves`: everything a person saved, newest first. */
export function savesPage({ visitor, frames, total, after, next, told }: SavesData): Html {
  return html`<h1>Saves</h1>
${notices(visitor, told)}${planNotice(visitor)}
<p class="lead">${counted(total, 'frame')}, newest first.</p>
${total === 0 ? EMPTY : html`<div class="tools">${exportLinks('/saves/export')}</div>`}
<form id="picked" method="post" class="bulk" data-bulk>${formToken(visitor)}
  <span data-count>Selected frames:</span>
  <button formaction="/web/pins">Pin to a board</button>
  <button formaction="/web/unsaves" data-removes>Remove</button>
</form>
<ol class="picks" id="picks">${frames.map((frame, n) => pickCard(frame, { n, form: 'picked' }))}</ol>
${pager('/saves', after, next)}`
}

const EMPTY = emptyState(
  'What you save will be here',
  html`The newest comes first. Open a frame on the wall and press <kbd>s</kbd> or <b>Save</b>; a long press or
  <kbd>x</kbd> selects several.`,
)
