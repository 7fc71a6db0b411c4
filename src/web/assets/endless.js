// The endless wall: real pages of the wall below each other, each as the address of its page shows it. What is out of
// sight is not laid out. The address names the page in the middle of the window.
import { byId, isInMain, loadPage, tell } from './core.js'

const PAGE_SIZE = 120
/** Pixels before an end of what is there at which the next page is loaded. */
const NEAR = 1500
const AGAIN_MS = 3000

/** @typedef {{ id: string, top: number }} Anchor a frame in the window, and how far below its top */

/** @returns {HTMLElement[]} */
const sheets = () => [...document.querySelectorAll('#wall > .sheet')].filter((one) => one instanceof HTMLElement)
/** The frames that stand on the wall itself. @returns {HTMLElement[]} */
export const cells = () => sheets().flatMap(cellsOf)
/** @param {HTMLElement} sheet @returns {HTMLElement[]} */
export const cellsOf = (sheet) =>
  [...sheet.children].flatMap(({ firstElementChild: card }) => (card instanceof HTMLElement ? card : []))

/** @type {(sheet: HTMLElement) => void} */
let onFilled = () => undefined
/** Loads of the page before, and of the page after. @type {Map<number, Promise<boolean>>} */
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

/** Takes over the wall that is in the page. @param {Anchor} [at] where it was left */
export function reset(at) {
  round++
  address = location.href
  loading.clear()
  byId('wall')?.setAttribute('data-endless', '')
  for (const sheet of sheets()) take(sheet)
  const card = at && byId(at.id)
  if (card) restore(at)
  if (card && card.getBoundingClientRect().top !== at.top) {
    // The frames above it are of the page before: without them there is no room to scroll to it.
    const mine = round
    void extend(-1).then(() => {
      if (mine !== round) return
      restore(at)
      note()
    })
  } else note()
  fillNear()
}

/** @param {HTMLElement} sheet */
function take(sheet) {
  // The style sheet computes the height of a page from it, at any width.
  sheet.style.setProperty('--n', String(sheet.children.length))
  onFilled(sheet)
}

function fillNear() {
  const [first] = sheets()
  const last = sheets().at(-1)
  if (first && first.getBoundingClientRect().top > -NEAR) void extend(-1)
  if (last && last.getBoundingClientRect().bottom < innerHeight + NEAR) void extend(1)
}

/** Loads the page before or after those that are there. Says whether there was one. @param {-1 | 1} by */
function extend(by) {
  const known = loading.get(by)
  if (known) return known
  // Another wall may have begun meanwhile, with a load of its own.
  const forget = () => void (loading.get(by) === started && loading.delete(by))
  /** @type {Promise<boolean>} */
  const started = load(by, round).then(
    (isMore) => {
      forget()
      if (isMore) fillNear()
      return isMore
    },
    (error) => {
      tell(error, () => {
        forget()
        void extend(by)
      })
      // At once it would fail again.
      setTimeout(forget, AGAIN_MS)
      return false
    },
  )
  loading.set(by, started)
  return started
}

/** @param {-1 | 1} by @param {number} mine */
async function load(by, mine) {
  const wall = byId('wall')
  const edge = by < 0 ? sheets()[0] : sheets().at(-1)
  const n = edge ? pageOf(edge) + by : 0
  if (!wall || n < 1 || n > Number(wall.dataset.pages)) return false
  const page = await loadPage(addressOf(address, n))
  const fresh = page.querySelector('#wall > .sheet')
  if (mine !== round || !(fresh instanceof HTMLElement)) return false
  // What came into the library meanwhile has moved frames from page to page.
  for (const card of cellsOf(fresh)) if (isInMain(card.id)) card.parentElement?.remove()
  const at = findAnchor()
  if (by < 0) wall.prepend(fresh)
  else wall.append(fresh)
  take(fresh)
  if (by < 0 && at) restore(at)
  return true
}

/** Loads the next page of the wall. Says whether there was one. */
export const more = () => extend(1)

/** Notes where the wall stands: in the address, and to the pixel in the state of this entry. */
export function note() {
  clearTimeout(timer)
  // The wall that comes is not there yet: nothing of the one before it is of this entry.
  if (history.state?.frame || byId('wall')?.ariaBusy === 'true') return
  keepAnchor()
  const sheet = inView()
  if (sheet) address = addressOf(address, pageOf(sheet))
  try {
    history.replaceState({ ...history.state, anchor }, '', address)
  } catch {
    // Browsers refuse more than a hundred of these in half a minute; the next one tells the place.
  }
}

/** @param {Anchor} at */
function restore(at) {
  const card = byId(at.id)
  if (card) scrollBy(0, card.getBoundingClientRect().top - at.top)
  anchor = at
  width = innerWidth
}

/** Remembers a frame in the window. Where the width has just changed, brings that frame back first. */
function keepAnchor() {
  if (anchor && innerWidth !== width) restore(anchor)
  anchor = findAnchor()
  width = innerWidth
}

/** Takes over the wall. @param {(sheet: HTMLElement) => void} filled called when a page of it is there */
export function openEndless(filled) {
  onFilled = filled
  history.scrollRestoration = 'manual'
  addEventListener(
    'scroll',
    () => {
      // At once: a change of width may come before the note.
      keepAnchor()
      fillNear()
      clearTimeout(timer)
      timer = setTimeout(note, 350)
    },
    { passive: true },
  )
  addEventListener('pagehide', note)
  // Other columns, other heights: that frame stays where it was.
  addEventListener('resize', () => anchor && requestAnimationFrame(() => anchor && restore(anchor)))
}

/** @param {HTMLElement} sheet */
const pageOf = (sheet) => Number(sheet.dataset.page)

/** The same wall at another page. @param {string} wall @param {number} page */
function addressOf(wall, page) {
  const at = new URL(wall)
  if (page > 1) at.searchParams.set('page', String(page))
  else at.searchParams.delete('page')
  return at.href
}

/** The page in the middle of the window, or the last before it. */
const inView = () =>
  sheets().find((sheet) => sheet.getBoundingClientRect().bottom >= innerHeight / 2) ?? sheets().at(-1)

/** The first frame in the window that a reload brings: the address names its page. @returns {Anchor | undefined} */
function findAnchor() {
  const sheet = inView()
  for (const card of sheet ? cellsOf(sheet) : []) {
    const { top, bottom } = card.getBoundingClientRect()
    if ((top + bottom) / 2 > 0) return { id: card.id, top }
  }
  return undefined
}

/** The place of a frame among all frames of the wall, from 1. @param {Element} link */
export function placeInWall(link) {
  const sheet = link.closest('.sheet[data-page]')
  if (!(sheet instanceof HTMLElement)) return null
  return (pageOf(sheet) - 1) * PAGE_SIZE + [...sheet.querySelectorAll('.card-link')].indexOf(link) + 1
}
