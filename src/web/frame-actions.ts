import type { ShownFrame } from '../search/library-search.ts'
import { type Html, html, safeUrl } from './html.ts'
import { clock } from './words.ts'

/** What the viewer may do with a frame. Shared pages are for viewers without a session. */
export interface FrameActions {
  publicUrl: string
  /** The signed-in person; undefined on a page that many share. */
  person?: {
    form: string
    mayCollect: boolean
    /** An operator. */
    mayCorrect: boolean
    saved: boolean
    boards: readonly { id: string; name: string }[]
  }
}

/** Saving and pinning by forms that work without script; copying needs one. */
export function frameActions(frame: ShownFrame, { publicUrl, person }: FrameActions): Html {
  const address = `${publicUrl}/frames/${frame.id}`
  return html`<div class="actions-row">
${person ? collecting(frame, person) : signInToSave(frame)}
<a class="quiet-button" href="#similar">Find similar</a>
${person?.mayCorrect && html`<a class="quiet-button" href="/operator/review/${frame.id}">Correct</a>`}
<details class="fold copies"><summary>Copy</summary><div class="panel">
${copyRow('Link', address)}
${copyRow('Image address', publicUrl + frame.image_path)}
${copyRow('Markdown', asMarkdown(frame, publicUrl))}
</div></details>
</div>`
}

function signInToSave(frame: ShownFrame): Html {
  const to = encodeURIComponent(`/frames/${frame.id}`)
  return html`<a class="button" data-sign-in href="/sign-in?to=${to}">Save</a>`
}

function collecting(frame: ShownFrame, person: NonNullable<FrameActions['person']>): Html {
  const hidden = html`<input type="hidden" name="form" value="${person.form}">
<input type="hidden" name="frame" value="${frame.id}"><input type="hidden" name="back" value="/frames/${frame.id}">`
  if (!person.mayCollect) return html`<p class="hint">Saves and boards need the pro plan.</p>`
  return html`<form class="save" method="post" action="${person.saved ? '/web/unsaves' : '/web/saves'}">${hidden}
<button class="primary" aria-pressed="${person.saved ? 'true' : 'false'}">${person.saved ? 'Saved' : 'Save'}</button>
</form>
<details class="fold pin"><summary>Board</summary><div class="panel">
<form method="post" action="/web/pins">${hidden}
${
  person.boards.length > 0 &&
  html`<label for="board">Board</label>
<select id="board" name="board">${person.boards.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
<option value="">A new board</option></select>`
}
<label for="board-name">New board</label>
<input id="board-name" name="name" maxlength="120" placeholder="Openings that work">
<button class="primary">Pin</button></form></div></details>`
}

/** A text to copy: selected by hand without script, by its button with one. */
function copyRow(what: string, text: string): Html {
  return html`<label class="copy-row"><span>${what}</span><textarea readonly rows="1">${text}</textarea></label>
<button type="button" class="quiet needs-script" data-copy="${what}">Copy ${what.toLowerCase()}</button>`
}

/** The frame with its credit, for notes and issues. */
function asMarkdown(frame: ShownFrame, publicUrl: string): string {
  const { video, author } = frame
  const escaped = (text: string) => text.replace(/[\\`*_{}[\]<>]/g, '\\$&').replace(/\s+/g, ' ')
  const source = safeUrl(frame.source_url ?? video.source_url)
  const title = escaped(video.title)
  const credit = [source ? `[${title}](<${source}>)` : title, author === null ? '' : ` by ${escaped(author)}`].join('')
  const alt = escaped(frame.caption ?? video.title)
  return [
    `[![${alt}](${publicUrl}${frame.image_path})](${publicUrl}/frames/${frame.id})`,
    '',
    `${alt} (${credit}, ${clock(frame.t_sec)})`,
  ].join('\n')
}
