// Every form of a private page, a shared board or a film, sent in place: what was typed stays until the library has it.
// A refusal is told inside the form, a lost connection or an ended session with a way to go on. Then the focus is where
// the person was.
import { announce, post, readAnswer, readPage, tell, toast } from './core.js'
import { clearFaults, tellFault } from './faults.js'
import { addWays, inWords } from './messages.js'

/** What the next page of this tab brings back: `{ path, y, at }`. */
const AFTER = 'after-form'

// The window hears it last: what a page does itself is its own.
addEventListener('submit', (event) => {
  const { target: form, submitter, defaultPrevented } = event
  if (defaultPrevented || !(form instanceof HTMLFormElement)) return
  const action = submitter?.getAttribute('formaction') ?? form.getAttribute('action') ?? ''
  if (form.method !== 'post' || form.enctype === 'multipart/form-data' || !action.startsWith('/web/')) return
  event.preventDefault()
  if (form.ariaBusy !== 'true') void sendHere(form, action, submitter)
})

// What folds out a form of one line begins in its field.
addEventListener(
  'toggle',
  ({ target }) => {
    const field = target instanceof Element && target.querySelector(':scope[open] .create input:not([type="hidden"])')
    if (field instanceof HTMLElement) field.focus()
  },
  { capture: true },
)

/** @param {HTMLFormElement} form @param {string} action @param {HTMLElement | null} submitter */
async function sendHere(form, action, submitter) {
  form.ariaBusy = 'true'
  clearFaults(form)
  try {
    const response = await post(action, new FormData(form, submitter))
    const isData = response.headers.get('content-type')?.startsWith('application/json')
    if (isData) goTo((await readAnswer(response)).to, submitter)
    else if (response.redirected) location.assign(response.url)
    else await show(response)
    // Nothing tells a page that the person chose to stay on it.
    setTimeout(() => form.removeAttribute('aria-busy'), 5000)
  } catch (error) {
    form.ariaBusy = null
    refuse(form, submitter, /** @type {import('./messages.js').Failure} */ (error))
  }
}

// A page that Back brings as it was left.
addEventListener('pageshow', () => {
  for (const form of document.forms) form.ariaBusy = null
})

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 * @param {import('./messages.js').Failure} error
 */
function refuse(form, submitter, error) {
  const again = () => form.requestSubmit(submitter)
  const typed = form.querySelector('input:not([type="hidden"], [type="checkbox"]), textarea, select')
  if (!typed || (submitter && !form.contains(submitter))) return tell(error, again)
  const { text, ways } = inWords(error, again)
  const named = error.field === undefined ? null : form.elements.namedItem(error.field)
  const field = named instanceof HTMLElement && named.getAttribute('type') !== 'hidden' ? named : null
  addWays(tellFault(form, field, text), ways)
}

/** The entry of the page that was shown here last. @type {{ shown: number, hash: string } | undefined} */
let here
addEventListener('popstate', ({ state }) => {
  if (here && state?.shown !== here.shown && location.hash === here.hash) location.reload()
})

/** An answer that is a page: a question, a new key, what could not be done. @param {Response} response */
async function show(response) {
  const isFault = !response.ok
  const page = isFault ? new DOMParser().parseFromString(await response.text(), 'text/html') : await readPage(response)
  for (const part of ['header.bar', 'main'])
    document.querySelector(part)?.replaceWith(page.querySelector(part) ?? document.createElement('main'))
  document.title = page.title
  if (!isFault) {
    // Back leads to the page that asked. A link within this one leads nowhere: a key is shown once.
    here = { shown: Date.now(), hash: location.hash }
    history.pushState(here, '', location.href)
  }
  // At once: nothing moves under a pointer while scripts are loaded.
  scrollTo(0, 0)
  focusOn(document.querySelector('main .made, main h1'))
  for (const script of page.scripts) if (script.type === 'module') await import(script.src)
  document.dispatchEvent(new Event('shown'))
}

/**
 * On, as the form itself would. What is the same page again is shown where it was left.
 * @param {string} to
 * @param {HTMLElement | null} submitter
 */
function goTo(to, submitter) {
  const url = new URL(to, location.href)
  const after = { path: url.pathname, y: scrollY, at: submitter && selectorOf(submitter) }
  sessionStorage.setItem(AFTER, JSON.stringify(after))
  const isHere = url.pathname + url.search === location.pathname + location.search
  location.assign(url)
  if (isHere && url.hash) location.reload()
}

/** How a control is found on the page that follows. @param {HTMLElement} control */
function selectorOf(control) {
  const action = control.closest('form')?.getAttribute('action')
  const label = control.getAttribute('aria-label')
  if (control.id) return `#${CSS.escape(control.id)}`
  return label ? `[aria-label=${JSON.stringify(label)}]` : `form[action=${JSON.stringify(action)}] button`
}

/** @param {Element | null | undefined} place */
function focusOn(place) {
  if (!(place instanceof HTMLElement)) return
  if (place.tabIndex < 0) place.tabIndex = -1
  place.focus({ preventScroll: true })
}

/**
 * What can be taken back is told at the foot of the page, as everywhere.
 * @returns {string} what the page tells of what was done
 */
export function tellDone() {
  const told = /** @type {HTMLElement | null} */ (document.querySelector('main [role="status"]'))
  const undo = told?.querySelector('button')
  const text = [...(told?.childNodes ?? [])].flatMap((node) => (node === undo ? [] : (node.textContent ?? '')))
  const message = text.join('').trim()
  if (!told || !undo) return message
  told.hidden = true
  toast(message, { undo: () => undo.click() })
  return ''
}

/** Where a form has led. What was done is told, also to those who look at a later part of the page. */
function arrive() {
  const message = tellDone()
  const kept = sessionStorage.getItem(AFTER)
  if (kept === null) return
  sessionStorage.removeItem(AFTER)
  const { path, y, at } = JSON.parse(kept)
  const told = document.querySelector('main [role="status"]:not([hidden])')
  if (path !== location.pathname || location.hash) return announce(message)
  scrollTo(0, y)
  const control = document.querySelector('main [autofocus]') ?? (at && document.querySelector(at))
  // The outermost, whose summary is seen.
  const menu = [...document.querySelectorAll('details:not([open])')].find((one) => one.contains(control))
  focusOn((menu ? menu.querySelector('summary') : control) ?? told ?? document.querySelector('main h1'))
  if (!told || told.getBoundingClientRect().top >= 0) announce(message || 'Done.')
  else toast(message)
}
arrive()
