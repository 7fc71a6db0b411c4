// The review queue by keyboard: numbers choose, Enter accepts, u takes back. The next frame waits already.
import { announce, byId, isUnderDialog, keys, loadPage, on, send, swap, tell } from './core.js'
import { tellDone } from './forms.js'

const review = () => byId('review')
const form = () => /** @type {HTMLFormElement | null} */ (document.querySelector('form[data-review]'))
const rows = () => [.../** @type {NodeListOf<HTMLFieldSetElement>} */ (document.querySelectorAll('[data-choices]'))]

const open = () => rows().filter((row) => !row.disabled)
/** The first row without a value, else the first. */
const first = () =>
  Math.max(
    0,
    open().findIndex((row) => !row.querySelector(':checked')),
  )
/** The row that the numbers choose in: the one with the focus, else the first that is open. */
let current = first()

function mark() {
  for (const [n, row] of open().entries()) row.classList.toggle('current', n === current)
}

/** Loads the picture that comes next. */
function preload() {
  const next = review()?.dataset.nextImage
  if (next) new Image().src = next
}

/** @param {string} url */
async function show(url) {
  swap(await loadPage(url), 'review')
  history.pushState(null, '', url)
  current = first()
  mark()
  preload()
  review()?.scrollIntoView({ block: 'nearest' })
  tellDone()
  const told = review()?.querySelector('figcaption')?.textContent
  announce(told ? `Next frame: ${told}` : 'Nothing more waits for a look.')
}
// A link within the page changes nothing of it.
addEventListener('popstate', () => location.hash || location.reload())

/** One judgement at a time: a press while the answer is on its way would be of the frame that follows. */
let isSending = false

document.addEventListener('submit', async (event) => {
  const sent = event.target
  if (!(sent instanceof HTMLFormElement) || !sent.matches('[data-review], [data-undo]')) return
  // The form of one frame ends on its own page.
  if (sent.action.includes('/web/frames/')) return
  event.preventDefault()
  if (isSending) return
  isSending = true
  try {
    const { to } = await send(sent.action, new FormData(sent))
    await show(to)
  } catch (error) {
    tell(error, () => sent.requestSubmit(event.submitter))
  } finally {
    isSending = false
  }
})

/** @param {number} n from 0 */
function choose(n) {
  const row = open()[current]
  const radio = row?.querySelectorAll('input[type="radio"]')[n]
  if (!row || !(radio instanceof HTMLInputElement)) return
  radio.checked = true
  const name = row.querySelector('legend')?.firstChild?.textContent?.trim()
  announce(`${name}: ${radio.nextElementSibling?.lastChild?.textContent?.trim()}`)
  current = Math.min(current + 1, open().length - 1)
  mark()
}

on('focusin', '[data-choices]', (_event, row) => {
  current = Math.max(0, open().indexOf(/** @type {HTMLFieldSetElement} */ (row)))
  mark()
})

const numbers = Object.fromEntries(
  Array.from({ length: 10 }, (_, n) => [
    String((n + 1) % 10),
    { does: n === 0 ? 'Choose the first value; 2 to 0 the others' : '', act: () => choose(n) },
  ]),
)
const click = (/** @type {string} */ selector) =>
  /** @type {HTMLElement | null} */ (document.querySelector(selector))?.click()
keys({
  ...numbers,
  s: { does: 'Skip', act: () => click('[data-skip]') },
  u: { does: 'Undo the last judgement', act: () => click('[data-undo] button') },
  e: { does: 'Edit all values', act: () => click('[data-edit]') },
  ArrowDown: { does: 'Next attribute', act: (event) => step(event, 1) },
  ArrowUp: { does: 'Attribute before', act: (event) => step(event, -1) },
})

/**
 * @param {KeyboardEvent} event
 * @param {number} by
 */
function step(event, by) {
  event.preventDefault()
  current = Math.min(Math.max(current + by, 0), open().length - 1)
  mark()
}

// Enter accepts from anywhere, except where it already means something.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.defaultPrevented || event.ctrlKey || event.metaKey || isUnderDialog()) return
  const target = /** @type {HTMLElement} */ (event.target)
  if (target.closest('a, button, select, textarea, summary')) return
  event.preventDefault()
  // Held, it would accept frames that nobody has seen.
  if (!event.repeat) form()?.requestSubmit()
})
mark()
preload()
