// The endless wall: real pages of the wall below each other. Pages that are far away are emptied and keep their height,
// which the style sheet computes from the width alone. The address names the page in the middle of the window.
import { byId, loadPage, tell } from './core.js'

const MOST_FULL = 6
const PAGE_SIZE = 120
/** Places kept above a wall that is opened at a later page. */
const MOST_ABOVE = 50
const NEAR = 1500

/** @typedef {{ id: string, top: number }} Anchor the frame at the top of the window, and how far below it */

/** @returns {HTMLElement[]} */
const allSheets = () => [...document.querySelectorAll('#wall > .sheet')].filter((one) => one instanceof HTMLElement)

/** @type {(sheet: HTMLElement) => void} */
let onFilled = () => undefined
/** @type {Set<Element>} */
const near = new Set()
/** @type {Map<HTMLElement, Promise<void>>} */
const loading = new Map()
/** @type {Anchor | undefined} */
let anchor
/** The width of the window at which the anchor was found: at another width, frames stand elsewhere. */
let width = innerWidth
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
let round = 0
/** The address of this wall; that of the window may be a frame's. */
let address = location.href

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) near.add(target)
      else near.delete(target)
    }
    setTimeout(fillNear, 30)
  },
  { rootMargin: `${NEAR}px 0px` },
)

const wall = () => byId('wall')
const pages = () => Number(wall()?.dataset.pages)

/** Takes over the wall that is in the page. @param {Anchor} [at] where it was left */
export function reset(at) {
  round++
  address = location.href
  watcher.disconnect()
  near.clear()
  loading.clear()
  const sheets = allSheets()
  const [first] = sheets
  for (const sheet of sheets) onFilled(sheet)
  if (!first) return
  wall()?.setAttribute('data-endless', '')
  const page = pageOf(first)
  const before = first.getBoundingClientRect().top
  for (let n = page - 1; n >= Math.max(1, page - MOST_ABOVE); n--) wall()?.prepend(emptySheet(n))
  if (page < pages()) wall()?.append(emptySheet(page + 1))
  for (const sheet of allSheets()) watcher.observe(sheet)
  if (at && byId(at.id)) restore(at)
  else if (page > 1) scrollBy(0, first.getBoundingClientRect().top - before)
  note()
}

/** @param {number} n */
function emptySheet(n) {
  const sheet = document.createElement('ol')
  sheet.className = 'sheet'
  sheet.id = `sheet-${n}`
  sheet.dataset.page = String(n)
  sheet.setAttribute('aria-label', `Page ${n}`)
  const left = Number(wall()?.dataset.total) - (n - 1) * PAGE_SIZE
  if (left < PAGE_SIZE) sheet.style.setProperty('--rows', `round(up, ${left} / var(--cols), 1)`)
  empty(sheet)
  return sheet
}

/** @param {HTMLElement} sheet */
function empty(sheet) {
  sheet.replaceChildren()
  sheet.dataset.far = ''
}

function fillNear() {
  for (const sheet of allSheets()) if (near.has(sheet) && 'far' in sheet.dataset) void fill(sheet)
}

/** @param {HTMLElement} sheet */
function fill(sheet) {
  const known = loading.get(sheet)
  if (known) return known
  const started = load(sheet, round)
    .catch((error) => tell(error, () => void fill(sheet)))
    // A failed page is asked for again when it next comes near, not at once.
    .finally(() => setTimeout(() => loading.delete(sheet), 'far' in sheet.dataset ? 3000 : 0))
  loading.set(sheet, started)
  return started
}

/** @param {HTMLElement} sheet @param {number} mine */
async function load(sheet, mine) {
  const page = await loadPage(addressOf(address, pageOf(sheet)))
  const fresh = page.querySelector('#wall > .sheet')
  if (mine !== round) return
  if (!fresh) {
    sheet.remove()
    return
  }
  sheet.replaceChildren(...fresh.children)
  sheet.removeAttribute('data-far')
  onFilled(sheet)
  const next = pageOf(sheet) + 1
  if (next <= pages() && !byId(`sheet-${next}`)) {
    const place = emptySheet(next)
    sheet.after(place)
    watcher.observe(place)
  }
  trim()
}

/** Empties the pages that are farthest from the window; never the one with the focus. */
function trim() {
  const full = allSheets().filter((sheet) => !('far' in sheet.dataset))
  const middle = innerHeight / 2
  const far = full
    .filter((sheet) => !sheet.contains(document.activeElement))
    .map((sheet) => ({ sheet, distance: distanceFrom(sheet, middle) }))
    .sort((one, other) => other.distance - one.distance)
  for (const { sheet } of far.slice(0, Math.max(0, full.length - MOST_FULL))) empty(sheet)
}

/** Notes where the wall stands: in the address, and to the pixel in the state of this entry. */
export function note() {
  clearTimeout(timer)
  if (history.state?.frame) return
  keepAnchor()
  const page = pageInView()
  if (page !== undefined) address = addressOf(address, page)
  try {
    history.replaceState({ ...history.state, anchor }, '', address)
  } catch {
    // Browsers refuse more than a hundred of these in half a minute; the next one tells the place.
  }
}

function pageInView() {
  const middle = innerHeight / 2
  const inView = allSheets().find((sheet) => distanceFrom(sheet, middle) === 0)
  return inView && pageOf(inView)
}

/** @param {Anchor} at */
function restore(at) {
  const card = byId(at.id)
  if (card) scrollBy(0, card.getBoundingClientRect().top - at.top)
  anchor = at
  width = innerWidth
}

/** Remembers the frame at the top of the window. Where the width has just changed, brings that frame back first. */
function keepAnchor() {
  if (anchor && innerWidth !== width) restore(anchor)
  anchor = findAnchor()
  width = innerWidth
}

/** Loads the next page of the wall, where there is one that is not there yet. Says whether there was. */
export async function more() {
  const last = allSheets().findLast((sheet) => !('far' in sheet.dataset))
  const next = last?.nextElementSibling
  if (!(next instanceof HTMLElement)) return false
  await fill(next)
  return true
}

/** Takes over the wall. @param {(sheet: HTMLElement) => void} filled called when a page of it has got its frames */
export function openSheets(filled) {
  onFilled = filled
  history.scrollRestoration = 'manual'
  addEventListener(
    'scroll',
    () => {
      // At once: a change of width may come before the note.
      keepAnchor()
      clearTimeout(timer)
      timer = setTimeout(note, 350)
    },
    { passive: true },
  )
  addEventListener('pagehide', note)
  // Other columns, other heights: the frame at the top stays there.
  addEventListener('resize', () => anchor && requestAnimationFrame(() => anchor && restore(anchor)))
}

/** @param {HTMLElement} sheet */
const pageOf = (sheet) => Number(sheet.dataset.page)

/** @param {HTMLElement} sheet @param {number} y */
function distanceFrom(sheet, y) {
  const { top, bottom } = sheet.getBoundingClientRect()
  if (top <= y && bottom >= y) return 0
  return Math.min(Math.abs(top - y), Math.abs(bottom - y))
}

/** The same wall at another page. @param {string} wall @param {number} page */
function addressOf(wall, page) {
  const address = new URL(wall)
  if (page > 1) address.searchParams.set('page', String(page))
  else address.searchParams.delete('page')
  return address.href
}

/** @returns {Anchor | undefined} */
function findAnchor() {
  for (const sheet of allSheets()) {
    if (sheet.getBoundingClientRect().bottom < 0) continue
    for (const card of sheet.querySelectorAll('.card-link')) {
      const { top, bottom } = card.getBoundingClientRect()
      if ((top + bottom) / 2 > 0) return { id: card.id, top }
    }
  }
  return undefined
}

/** The place of a frame among all frames of the wall, from 1. @param {Element} link */
export function placeInWall(link) {
  const sheet = link.closest('.sheet')
  if (!(sheet instanceof HTMLElement)) return null
  const before = [...sheet.querySelectorAll('.card-link')].indexOf(link)
  return (Number(sheet.dataset.page) - 1) * PAGE_SIZE + before + 1
}
