// What every page may use: events, our own pages as parts, answers to forms, one live region, keys, an undo.
// CONTRIBUTING.md, Pages, says how a page is made of it. Nothing here knows a page.

import { announce, tell, toast } from './messages.js'

export { announce, tell, toast }

/**
 * Handles an event of the elements that a selector finds, also of those that come later.
 * @template {Event} E
 * @param {string} type
 * @param {string} selector
 * @param {(event: E, target: HTMLElement) => void} handle
 * @param {EventTarget} [root]
 */
export function on(type, selector, handle, root = document) {
  root.addEventListener(type, (event) => {
    const origin = event.target
    const target = origin instanceof Element ? origin.closest(selector) : null
    if (target instanceof HTMLElement) handle(/** @type {E} */ (event), target)
  })
}

/** @param {MouseEvent} event on a link */
export const isForAnotherTab = (event) =>
  event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey

/** @param {string} id */
export const byId = (id) => document.getElementById(id)

/** On the page itself: a dialog over it may show the same frame. @param {string} id */
export const isInMain = (id) => document.querySelector(`main #${CSS.escape(id)}`) !== null

/**
 * One of our own pages as a document. Parts of it are swapped in: what script shows is what the address shows.
 * @param {string | URL} url
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<Document>}
 * @throws {Error} with what to tell the person
 */
export async function loadPage(url, { signal } = {}) {
  return readPage(await ask(url, { headers: { accept: 'text/html' }, ...(signal ? { signal } : {}) }))
}

/**
 * A page of ours that has come.
 * @param {Response} response
 * @returns {Promise<Document>}
 * @throws {Error} with what an error page tells
 */
export async function readPage(response) {
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  if (!response.ok) throw new Error(page.querySelector('main p')?.textContent ?? 'That did not work.')
  const isSignIn = response.redirected && new URL(response.url).pathname === '/sign-in'
  if (isSignIn) throw Object.assign(new Error('This page was not updated.'), { needsSignIn: true })
  return page
}

/**
 * Puts the elements of a loaded page in the place of those with the same ids. The focus stays where it was: on the
 * element with the same id or the same address, else on what stands at its place in a list, else on the page.
 * @param {Document} page
 * @param {...string} ids
 */
export function swap(page, ...ids) {
  const focused = document.activeElement
  const href = focused?.getAttribute('href')
  for (const id of ids) {
    const next = page.getElementById(id)
    const place = byId(id)
    if (!place || !next) continue
    const held = place.contains(focused)
    const at = held ? [...place.querySelectorAll('li')].findIndex((item) => item.contains(focused)) : -1
    place.replaceWith(next)
    if (!held || !focused) continue
    const again = focused.id ? byId(focused.id) : href && next.querySelector(`[href="${CSS.escape(href)}"]`)
    const beside = next.querySelectorAll('li')[at]?.querySelector('a, button')
    for (const one of [byId('main'), beside, again]) if (one instanceof HTMLElement) one.focus({ preventScroll: true })
  }
}

/** Seconds until a picture that did not come is asked for again. The last wait is longer than a rate limit's minute. */
const AGAIN_SEC = [2, 10, 65]

/**
 * Asks again for a picture that a broken connection or a limit kept back: browsers never do.
 * @param {EventTarget | null} image
 */
function askAgain(image) {
  if (!(image instanceof HTMLImageElement) || !image.currentSrc) return
  const tries = Number(image.dataset.tries ?? 0)
  const wait = AGAIN_SEC[tries]
  if (wait === undefined) return
  image.dataset.tries = String(tries + 1)
  setTimeout(() => {
    // biome-ignore lint/correctness/noSelfAssign: the same address once more starts the request
    image.src = image.src
  }, wait * 1000)
}
document.addEventListener('error', ({ target }) => askAgain(target), { capture: true })
for (const image of document.images) if (image.complete && image.naturalWidth === 0) askAgain(image)

/**
 * The signed-in person, or undefined. Asked once for a page.
 * @typedef {{ email: string, role: 'member' | 'operator', plan: 'free' | 'pro', form: string }} Me
 * @returns {Promise<Me | undefined>}
 */
export function whoAmI() {
  me ??= fetch('/web/me', { headers: { accept: 'application/json' } })
    .then((response) => (response.ok ? response.json() : undefined))
    .catch(() => {
      me = undefined
    })
  return me
}
/** @type {Promise<Me | undefined> | undefined} */
let me
/** The page's session has ended, so the token in its forms is no longer valid. */
let expired = false

/** Puts in the token of the session as it is now. @param {URLSearchParams} body */
const renew = async (body) => body.set('form', (await whoAmI())?.form ?? '')

/**
 * Posts a form of ours. The session's token goes along, also that of a session that began beside this page.
 * @param {string} url
 * @param {FormData | Record<string, string | readonly string[]>} fields
 * @returns {Promise<Response>}
 */
export async function post(url, fields) {
  const body = new URLSearchParams()
  const given = fields instanceof FormData ? [...fields] : Object.entries(fields)
  for (const [name, value] of given) for (const one of [value].flat()) body.append(name, String(one))
  if (expired || !body.has('form')) await renew(body)
  // A change that is shown already is sent also when the person goes on at once. Browsers keep up to 64 kB alive.
  const keepalive = String(body).length < 60_000
  const sent = () => ask(url, { method: 'POST', body, keepalive, headers: { accept: 'application/json' } })
  const response = await sent()
  if (response.status !== 401 && response.status !== 403) return response
  me = undefined
  expired = true
  const token = body.get('form')
  await renew(body)
  return body.get('form') === token || !body.get('form') ? response : sent()
}

/**
 * The form that takes back what a form removed.
 * @typedef {{ action: string, fields: Record<string, string | readonly string[]> }} Undo
 */

/**
 * Posts a form of ours and resolves with its answer as JSON.
 * @param {string} url
 * @param {FormData | Record<string, string | readonly string[]>} fields
 * @returns {Promise<any>}
 * @throws {Error} as of `readAnswer`
 */
export const send = async (url, fields) => readAnswer(await post(url, fields))

/**
 * @param {Response} response
 * @returns {Promise<any>}
 * @throws {Error} with what to tell the person; `needsSignIn` where that helps, the `status`, and the `field` at fault
 */
export async function readAnswer(response) {
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  const { message = 'That did not work. Try again.', details } = answer
  const { status } = response
  const needsSignIn = status === 401
  const told = needsSignIn ? 'Not saved.' : message
  throw Object.assign(new Error(told), { needsSignIn, status, field: details?.[0]?.path })
}

/**
 * A request that says in words what kept it from the service.
 * @param {string | URL} url
 * @param {RequestInit} options
 * @throws {Error} `offline` where nobody answered
 */
export async function ask(url, options) {
  try {
    return await fetch(url, options)
  } catch (error) {
    if (options.signal?.aborted) throw error
    const why = navigator.onLine ? 'The library does not answer.' : 'You are offline.'
    const what = options.method === 'POST' ? 'Not saved.' : 'This page was not updated.'
    throw Object.assign(new Error(`${why} ${what}`), { offline: true })
  }
}

/**
 * Looks again while a person can see the page. What stands in the way is told once, until it is over.
 * @param {number} ms
 * @param {string} where finds something while there is a reason to look
 * @param {() => Promise<void>} look
 */
export function lookAgain(ms, where, look, isTold = false) {
  setTimeout(async () => {
    const isDue = !document.hidden && document.querySelector(where)
    const failure = isDue ? await look().catch((error) => error) : isTold
    if (failure && !isTold) tell(failure)
    lookAgain(ms, where, look, Boolean(failure))
  }, ms)
}

/**
 * Keys of a page, each a single key with what it does. None works while a person types, or behind a small dialog, and
 * `?` lists them all. They can be switched off there (WCAG 2.1.4). A key that is held acts again only if it moves.
 * @param {Record<string, { does: string, act: (event: KeyboardEvent) => void }>} map
 */
export function keys(map) {
  /** @type {typeof map} */
  const known = { ...map, '?': { does: 'Show the keys', act: () => showKeys(known) } }
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const key = Object.hasOwn(known, event.key) ? known[event.key] : undefined
    const isMove = event.key.length > 1
    if (!key || (!isMove && (event.repeat || (event.key !== '?' && !lettersOn())))) return
    // Arrows go from radio to radio.
    if ((isMove && event.target instanceof HTMLInputElement) || isUnderDialog()) return
    key.act(event)
  })
}

/** @param {EventTarget | null} target */
export function isTyping(target) {
  if (!(target instanceof HTMLElement) || target.matches('[type="checkbox"], [type="radio"]')) return false
  return target.isContentEditable || target.matches('input, textarea, select')
}
/** What a page does by keys waits. */
export const isUnderDialog = () => document.querySelector('dialog.small[open]') !== null

const LETTERS = 'letter-keys'
const lettersOn = () => localStorage.getItem(LETTERS) !== 'off'

/** @param {Record<string, { does: string }>} known */
function showKeys(known) {
  const dialog = openDialog('Keys')
  const told = Object.entries(known).filter(([, { does }]) => does)
  const rows = told.map(([key, { does }]) => `<div><dt><kbd>${ARROWS[key] ?? key}</kbd></dt><dd>${does}</dd></div>`)
  const parts = `<dl class="key-list">${rows.join('')}</dl>
<label class="box"><input type="checkbox"> Single letters are keys</label>`
  dialog.insertAdjacentHTML('beforeend', parts)
  const box = /** @type {HTMLInputElement} */ (dialog.querySelector('input'))
  box.checked = lettersOn()
  box.addEventListener('change', () => localStorage.setItem(LETTERS, box.checked ? 'on' : 'off'))
}
/** @type {Record<string, string>} */
const ARROWS = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓' }

/**
 * A modal dialog with a heading and a close button. It leaves the page when it closes. The browser returns the focus.
 * @param {string} title
 */
export function openDialog(title) {
  const dialog = document.createElement('dialog')
  dialog.className = 'small'
  dialog.setAttribute('aria-labelledby', 'dialog-title')
  dialog.innerHTML = `<h2 id="dialog-title"></h2><button type="button" class="close" aria-label="Close">×</button>`
  dialog.querySelector('h2')?.append(title)
  dialog.querySelector('button')?.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  showModal(dialog)
  return dialog
}

/** A click beside the dialog closes it, also in browsers without `closedby`. @param {HTMLDialogElement} dialog */
export function showModal(dialog) {
  dialog.setAttribute('closedby', 'any')
  document.body.append(dialog)
  dialog.showModal()
  if ('closedBy' in HTMLDialogElement.prototype) return
  // Its first button closes it.
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.querySelector('button')?.click())
}

/**
 * Copies a text and says so. Where the clipboard is closed to pages, it shows the text to copy by hand.
 * @param {string} text
 * @param {string} what for example "Link"
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text)
    toast(`${what} copied.`)
  } catch {
    const dialog = openDialog(`Copy the ${what.toLowerCase()}`)
    const shown = document.createElement('p')
    shown.className = 'copy-text'
    shown.textContent = text
    dialog.append(shown)
    getSelection()?.selectAllChildren(shown)
  }
}

on('click', '[data-copies]', (_event, button) => {
  const menu = button.closest('details.fold')
  menu?.removeAttribute('open')
  menu?.querySelector('summary')?.focus()
  void copy(String(button.dataset.text ?? button.previousElementSibling?.textContent), String(button.dataset.copies))
})

// One menu at a time, and none when the reader goes on.
document.addEventListener('click', ({ target }) => {
  for (const menu of document.querySelectorAll('details.fold[open]'))
    if (target instanceof Node && !menu.contains(target) && target.isConnected) menu.removeAttribute('open')
})
document.addEventListener('keydown', (event) => {
  const menu = event.key === 'Escape' && document.querySelector('details.fold[open]')
  if (!menu) return
  menu.removeAttribute('open')
  menu.querySelector('summary')?.focus()
  event.preventDefault()
})
