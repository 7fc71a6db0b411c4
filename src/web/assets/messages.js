// What a page tells: to screen readers, at its foot, and what can be done about a failure.

/** Says a sentence to screen readers, once. @param {string} text */
export function announce(text) {
  const region = document.getElementById('live') ?? makeLiveRegion()
  if (region.parentElement !== foot()) foot().append(region)
  region.textContent = ''
  // Its own turn: a region whose text did not change says nothing.
  setTimeout(() => {
    region.textContent = text
  }, 50)
}

/** Within an open dialog, because everything outside of it is inert. */
const foot = () => [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body

function makeLiveRegion() {
  const region = document.createElement('div')
  region.id = 'live'
  region.className = 'visually-hidden'
  region.setAttribute('aria-live', 'polite')
  return region
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let toastTimer

/**
 * @typedef {{ undo?: () => unknown, retry?: () => unknown, link?: { href: string, label: string, beside?: boolean } }}
 *   Ways what can be done about a message
 */

/** Puts the ways on behind a message. A button takes the message away. @param {HTMLElement} box @param {Ways} ways */
export function addWays(box, { link, undo, retry }) {
  if (link) {
    const a = document.createElement('a')
    a.href = link.href
    a.textContent = link.label
    if (link.beside) a.target = '_blank'
    box.append(a)
  }
  /** @type {[string, (() => unknown) | undefined][]} */
  const acts = [
    ['Undo', undo],
    ['Retry', retry],
  ]
  for (const [label, act] of acts) {
    if (!act) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = label
    button.addEventListener('click', () => {
      box.remove()
      act()
    })
    box.append(button)
  }
}

/**
 * A message at the foot of the page, with a way back where there is one. It stays while it has pointer or focus, and
 * while something can be tried again.
 * @param {string} text
 * @param {Ways} [ways]
 */
export function toast(text, ways = {}) {
  document.getElementById('toast')?.remove()
  const box = document.createElement('div')
  box.id = 'toast'
  box.append(text)
  addWays(box, ways)
  foot().append(box)
  const way = box.querySelector('button')?.textContent
  announce(way ? `${text} ${way} is at the end of the page.` : text)
  clearTimeout(toastTimer)
  if (ways.retry) return
  const leave = () => {
    clearTimeout(toastTimer)
    toastTimer = setTimeout(() => (box.matches(':hover, :focus-within') ? leave() : box.remove()), 8000)
  }
  leave()
}

/** @typedef {Error & { offline?: boolean, needsSignIn?: boolean, status?: number, field?: string }} Failure */

/**
 * A failure in words, with what a person can do about it: go online or sign in, then try again.
 * @param {Failure} error
 * @param {() => unknown} [retry]
 * @returns {{ text: string, ways: Ways }}
 */
export function inWords({ message, offline, needsSignIn }, retry) {
  const again = retry && (offline || needsSignIn) ? { retry } : {}
  if (!needsSignIn) return { text: message, ways: again }
  // Beside this page, because what was typed stays here.
  const link = { href: '/sign-in', label: 'Sign in', beside: true }
  return { text: `You are no longer signed in. ${message}`, ways: { ...again, link } }
}

/**
 * Tells a failure at the foot of the page.
 * @param {unknown} error
 * @param {() => unknown} [retry]
 */
export function tell(error, retry) {
  const { text, ways } = inWords(/** @type {Failure} */ (error), retry)
  toast(text, ways)
}
