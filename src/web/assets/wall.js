// The wall. Without this script it works by links and forms; with it, the same addresses are fetched and their parts
// swapped in.
import { markSaved } from './collect.js'
import { announce, byId, isForAnotherTab, isTyping, keys, loadPage, on, swap, tell } from './core.js'
import { cells, cellsOf, more, note, openEndless, placeInWall, reset } from './endless.js'
import { CARD_KEYS, isFrameOpen, openFrames, step } from './frame-dialog.js'

const PARTS = ['filters', 'chosen', 'asked', 'under-way', 'named', 'reading', 'wall', 'close', 'pager', 'search-state']
const TYPED_MS = 280
const LOOK_AGAIN_MS = 12_000

const input = /** @type {HTMLInputElement} */ (byId('q'))
/** The id of the frame that the tab key stops at. @type {string | undefined} */
let roving
openEndless((sheet) => {
  for (const link of cellsOf(sheet)) setStop(link, -1)
  rove()
  void markSaved(sheet)
})
openFrames({ more, place: placeInWall })

/** The address of the wall that is in the page, without its page. */
let shown = withoutPage(location.href)
/** @type {AbortController | undefined} */
let loading

/**
 * Shows another wall in place of this one. An older answer never comes over a newer one.
 * @param {string} url
 * @param {'push' | 'replace' | 'none'} entry
 * @param {{ keepPlace?: boolean, at?: import('./endless.js').Anchor }} [options]
 * @returns {Promise<boolean | void>} whether it is shown
 */
async function show(url, entry, { keepPlace = false, at } = {}) {
  loading?.abort()
  loading = new AbortController()
  const { signal } = loading
  byId('wall')?.setAttribute('aria-busy', 'true')
  try {
    const page = await loadPage(url, { signal })
    if (signal.aborted) return
    // A pasted video address leads to the page of that video.
    if (!page.getElementById('wall')) return location.assign(url)
    swapWall(page)
    shown = withoutPage(url)
    document.title = page.title
    if (entry === 'push') history.pushState({}, '', url)
    else if (entry === 'replace') history.replaceState({}, '', url)
    if (!keepPlace && !at && Number(byId('wall')?.getBoundingClientRect().top) < 0) scrollTo(0, 0)
    reset(at)
    announce(described())
    return true
  } catch (error) {
    if (signal.aborted) return
    byId('wall')?.removeAttribute('aria-busy')
    // A background refresh fails silently.
    if (!keepPlace) tell(error, () => show(url, entry, at ? { at } : {}))
  }
}

/** The wall in a sentence: how many frames, and which. */
function described() {
  // The last part of a chip is the link that takes it back.
  const chosen = [...document.querySelectorAll('#chosen .chosen')].map(({ childNodes }) =>
    [...childNodes]
      .slice(0, -1)
      .map(({ textContent }) => textContent)
      .join(''),
  )
  return [byId('count')?.textContent || 'No frames match', ...chosen.map((one) => one.trim())].join(', ')
}

/** Menus stay open: several values are often chosen one after the other. @param {Document} page */
function swapWall(page) {
  const open = [...document.querySelectorAll('details.fold[open]')].map(({ id }) => id)
  for (const id of open) page.getElementById(id)?.setAttribute('open', '')
  const typed = page.getElementById('q')
  swap(page, ...PARTS)
  if (typed instanceof HTMLInputElement && document.activeElement !== input) input.value = typed.value
  showSize()
}

/** @param {string} url */
function withoutPage(url) {
  const address = new URL(url, location.href)
  address.searchParams.delete('page')
  address.hash = ''
  return address.href
}

/* ---------- links, forms, history ---------- */

on('click', 'a[href^="/?"], main a[href="/"]', (/** @type {MouseEvent} */ event, link) => {
  if (!(link instanceof HTMLAnchorElement) || isForAnotherTab(event) || isFrameOpen()) return
  event.preventDefault()
  endTyping()
  if (link.id === 'clear') {
    input.value = ''
    input.focus()
  }
  void show(link.href, 'push')
})

on('submit', '.search, .wall-form', (event, form) => {
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== 'get') return
  event.preventDefault()
  endTyping()
  form.closest('details')?.removeAttribute('open')
  void show(addressOf(form), withoutPage(addressOf(form)) === shown && form.matches('.search') ? 'replace' : 'push')
})

/** @param {HTMLFormElement} form */
function addressOf(form) {
  const query = new URLSearchParams()
  for (const [name, value] of new FormData(form))
    if (value !== '') query.append(name, String(value).replace(name === 'color' ? '#' : '', ''))
  return `/${query.size > 0 ? `?${query}` : ''}`
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing
let isTyped = false
input.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(async () => {
    // One entry for a word, not one for each letter.
    if (input.form && (await show(addressOf(input.form), isTyped ? 'replace' : 'push'))) isTyped = true
  }, TYPED_MS)
})
input.addEventListener('focus', () => {
  isTyped = false
})

/** What is typed then is another entry. */
function endTyping() {
  clearTimeout(typing)
  isTyped = false
}

addEventListener('popstate', (event) => {
  if (event.state?.frame) return
  endTyping()
  input.value = new URLSearchParams(location.search).get('q') ?? ''
  const at = event.state?.anchor
  if (withoutPage(location.href) !== shown) return void show(location.href, 'none', { at })
  // Back and Forward in one breath: the wall is the right one still, and what was on its way is not.
  loading?.abort()
  byId('wall')?.removeAttribute('aria-busy')
})

// The state of this entry is noted before anything leads away from it.
document.addEventListener('click', note, { capture: true })

/* ---------- size of the pictures ---------- */

const liked = document.documentElement.dataset
const USUAL = 'medium'
function showSize() {
  for (const radio of document.querySelectorAll('.look input'))
    if (radio instanceof HTMLInputElement) radio.checked = radio.value === (liked.size ?? USUAL)
}
on('change', '.look input', (_event, radio) => {
  if (!(radio instanceof HTMLInputElement)) return
  if (radio.value === USUAL) {
    delete liked.size
    localStorage.removeItem('wall-size')
  } else {
    liked.size = radio.value
    localStorage.setItem('wall-size', radio.value)
  }
})

/* ---------- keys ---------- */

/** The wall is one stop of the tab key: the last frame that had the focus, else the first. */
function rove() {
  const stop = (roving !== undefined && byId(roving)) || cells()[0]
  if (stop) setStop(stop, 0)
}
on('focusin', '#wall > .sheet > li > .card-link', (_event, link) => {
  roving = link.id
  for (const other of document.querySelectorAll('#wall .card-link[tabindex="0"]')) setStop(other, -1)
  setStop(link, 0)
})

/** With the button behind a frame that opens those like it. @param {Element} link @param {0 | -1} index */
function setStop(link, index) {
  for (const one of [link, link.parentElement?.querySelector(':scope > .alike')])
    one?.setAttribute('tabindex', String(index))
}

/**
 * By what the eye sees: left and right along the wall, up and down to the nearest frame of the next row.
 * @param {-1 | 1} along
 * @param {boolean} rows
 */
const move = (along, rows) => async (/** @type {KeyboardEvent} */ event) => {
  if (isFrameOpen()) {
    if (!rows) await step(along)
    return
  }
  const from = document.activeElement
  if (!(from instanceof HTMLElement) || !from.matches('.card-link')) return
  event.preventDefault()
  const find = () => (rows ? inNextRow(from, along) : around(from)[around(from).indexOf(from) + along])
  let next = find()
  if (!next && along > 0 && (await more())) next = find()
  focusOn(next)
}

/** The frames of the wall, or of the grid of its own that one stands in. @param {HTMLElement} card */
function around(card) {
  const wall = cells()
  const sheet = card.closest('.sheet')
  return wall.includes(card) || !(sheet instanceof HTMLElement) ? wall : cellsOf(sheet)
}

/** @param {HTMLElement | undefined} card */
function focusOn(card) {
  if (!card) return
  card.focus({ preventScroll: true })
  card.scrollIntoView({ block: 'nearest' })
}

/** @param {HTMLElement} from @param {-1 | 1} along */
function inNextRow(from, along) {
  const all = around(from)
  const { top, left } = rectOf(from)
  /** @type {{ card: HTMLElement, top: number, off: number } | undefined} */
  let best
  for (let n = all.indexOf(from) + along; all[n]; n += along) {
    const card = all[n]
    if (!card) break
    const rect = rectOf(card)
    if (Math.abs(rect.top - top) < 2) continue
    if (best && Math.abs(rect.top - best.top) > 2) break
    const off = Math.abs(rect.left - left)
    if (!best || off < best.off) best = { card, top: rect.top, off }
  }
  return best?.card
}

/** Of its place: pictures have their own proportions in it. @param {HTMLElement} card */
const rectOf = (card) => (card.parentElement ?? card).getBoundingClientRect()

keys({
  '/': {
    does: 'Search',
    act: (event) => {
      event.preventDefault()
      input.select()
    },
  },
  ArrowLeft: { does: 'The frame to the left, or before', act: move(-1, false) },
  ArrowRight: { does: 'The frame to the right, or after', act: move(1, false) },
  ArrowUp: { does: 'The frame above', act: move(-1, true) },
  ArrowDown: { does: 'The frame below', act: move(1, true) },
  ...CARD_KEYS,
  v: {
    does: 'Look-alikes together, or each by itself',
    act: () => {
      const link = document.querySelector('#pick-alike:not([aria-current])') ?? byId('pick-all')
      if (link instanceof HTMLElement && !isFrameOpen()) link.click()
    },
  },
})

/* ---------- start ---------- */

showSize()
reset(history.state?.anchor)
// While a library fills, its wall looks again now and then.
setInterval(() => {
  if (document.hidden || isFrameOpen() || isTyping(document.activeElement) || scrollY > 200) return
  if (document.querySelector('[data-live]') && !document.querySelector(':popover-open'))
    void show(location.href, 'replace', { keepPlace: true })
}, LOOK_AGAIN_MS)
