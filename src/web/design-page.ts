import { type Html, html } from './html.ts'

/** `/docs/design`: what pages are made of, shown by itself. docs/pages.md, Design, says when to use which. */

const TEXTS = [
  ['1', '12', 'Marks, counts'],
  ['2', '13', 'Hints, labels of lists'],
  ['3', '15', 'Everything that is read'],
  ['4', '18', 'Headings of a section'],
  ['5', '24', 'Headings of a page on a phone'],
  ['6', '32', 'Headings of a page'],
] as const
const SPACES = [4, 8, 12, 16, 24, 40]
const COLORS = ['paper', 'card', 'ink', 'soft', 'line', 'field', 'off-back', 'danger', 'good-back', 'warn-back']

export function designPage(): Html {
  return html`<h1>Design</h1>
<p class="lead">The frames are the colour on every page. The rest is paper and ink, one face, two scales and one kind of
  control. It follows the reader’s colours, contrast, size of letters and wish for motion.</p>
<section><h2>Type</h2><p>Inter, in the weights 400 for text, 500 for what is secondary, and 600 for headings.</p>
<ul class="samples">${TEXTS.map(
    ([n, px, use]) =>
      html`<li class="sample-text-${n}">${use} <span class="hint">${px} px, <code>--text-${n}</code></span></li>`,
  )}</ul></section>
<section><h2>Space</h2><ul class="samples">${SPACES.map(
    (px, n) => html`<li><span class="sample-space-${n + 1}"></span> ${px} px,
<code>--space-${n + 1}</code></li>`,
  )}</ul></section>
<section><h2>Colours</h2><ul class="samples">${COLORS.map(
    (name) => html`<li><span class="sample-colour sample-${name}"></span> <code>--${name}</code></li>`,
  )}</ul></section>
<section><h2>Controls</h2>${controls()}</section>
<section><h2>Messages</h2><p class="notice">Something to know before going on.</p>
<p class="notice done">Something was done.</p>
<div class="empty"><h3>Nothing here yet</h3><p>What will be here, and how to begin.</p></div>
<p class="hint">What was just done is told at the lower edge, with its undo there and on the key <kbd>z</kbd>.</p>
</section>
<section><h2>Motion</h2><p>A picture grows from its place into the overlay in 180 ms (<code>--slow</code>). Hover and
  focus take 120 ms (<code>--fast</code>). Nothing moves for a reader who asked for less motion.</p></section>`
}

function controls(): Html {
  return html`<p>Pills and fields are 32 pixels high, icon buttons 36, and all of them 44 under a finger.</p>
<form class="samples" method="get" action="/docs/design">
  <p class="actions"><button class="primary">Primary</button> <button>Plain</button>
    <button class="quiet">Quiet</button>
    <button class="danger">Danger</button> <button disabled>Disabled</button>
    <a class="button" href="/docs/design">Link</a></p>
  <div class="field"><label for="sample-name">Field</label><input id="sample-name" placeholder="What to write"></div>
  <div class="field"><label for="sample-wrong">Wrong field</label><input id="sample-wrong" aria-invalid="true"
    aria-describedby="sample-error" value="x">
    <p class="error" id="sample-error">Says what is wrong, then what to do.</p></div>
  <div class="field"><label for="sample-choice">Choice</label><select id="sample-choice"><option>One</option>
    <option>Another</option></select></div>
  <div class="field"><label for="sample-file">File</label><input id="sample-file" type="file"></div>
  <fieldset><legend>One of several</legend>
    <label><input type="radio" name="sample" checked> First</label>
    <label><input type="radio" name="sample"> Second</label>
  </fieldset>
  <div class="box"><input type="checkbox" id="sample-box" checked><label for="sample-box">Box</label></div>
</form>
<details class="fold"><summary>Menu</summary><div class="panel"><p>It opens below, closes by Escape, and gives the focus
  back.</p></div></details>`
}
