// A frame over the page it was opened from. The dialog shows the article of the frame's own page, whose address is in
// the address bar. Back closes it, and a reload shows the frame's page itself, from where Back leads to the page below.
import { mark, markSaved, openCardTools, pin, save, toggleSave } from './collect.js'
import { announce, byId, isForAnotherTab, loadPage, on, showModal, tell, toast } from './core.js'
import { openLoops } from './loops.js'
import { frameOf, openSelecting, pickedFrames, togglePick } from './select.js'

/** Loads what follows the last frame of the page, and says whether there was more. @type {() => Promise<unknown>} */
let loadMore = async () => false
/** The place of a frame among all that were found, where the page holds a part. @type {(link: Element) => number?} */
let placeOf = () => null
/** @type {HTMLDialogElement | undefined} */
let dialog
/** @type {AbortController | undefined} */
let loading
/** @type {string | undefined} */
let shownId
/** To the frame before and after: beside the picture. @type {HTMLButtonElement[]} */
let turns = []
const titleBehind = document.title
/** The path of this document. Entries that a document pushed before its reload name another one. */
const behind = location.pathname

/** How many frames were opened one from another over this document. */
const depthHere = () => (history.state?.behind === behind ? history.state.depth : 0)

/** Puts a frame into the history, unless Back or Forward has led to it. @param {string} href */
const enterAt = (href) => () => {
  if (href !== location.href) history.pushState({ frame: idOf(href), depth: depthHere() + 1, behind }, '', href)
}

/**
 * @param {string} href
 * @param {() => void} enter puts it into the history
 * @param {HTMLAnchorElement} [from] the link whose picture is known already
 */
async function show(href, enter, from) {
  loading?.abort()
  loading = new AbortController()
  const { signal } = loading
  shownId = idOf(href)
  const isTurn = dialog !== undefined
  if (!isTurn) enter()
  const known = from?.querySelector('img')
  if (!dialog && known) await grow(known, signal)
  if (signal.aborted) return
  const target = dialog ?? open()
  target.setAttribute('aria-busy', 'true')
  try {
    const page = await loadPage(href, { signal })
    const article = page.getElementById('frame')
    if (!article) return location.reload()
    if (isTurn) enter()
    document.title = page.title
    const picture = article.querySelector('.picture img')
    // The small picture is there already; the large one comes over it.
    if (known && picture instanceof HTMLElement) {
      picture.style.background = `url("${known.currentSrc || known.src}") center / contain no-repeat`
    }
    fill(target, article)
    target.removeAttribute('aria-busy')
    target.scrollTop = 0
    const here = article.querySelector('.strip [aria-current]')
    if (here instanceof HTMLElement) here.parentElement?.parentElement?.scrollTo({ left: here.offsetLeft - 200 })
    const heading = article.querySelector('h1')
    if (heading) {
      heading.id = 'frame-heading'
      heading.focus({ preventScroll: true })
    }
    showPlace()
  } catch (error) {
    if (signal.aborted) return
    // A turn that failed stays on the frame.
    const stays = target.querySelector('.frame')?.getAttribute('data-id')
    if (stays) shownId = stays
    else leave()
    target.removeAttribute('aria-busy')
    tell(error, () => show(href, enter, from))
  }
}

/**
 * The picture grows out of its place on the page, where the browser can show that and the person likes motion.
 * @param {HTMLImageElement} known
 * @param {AbortSignal} signal the person went on meanwhile: nothing opens
 */
async function grow(known, signal) {
  const show = () => {
    known.style.viewTransitionName = ''
    if (!signal.aborted) fill(open(), preview(known))
  }
  if (!document.startViewTransition || matchMedia('(prefers-reduced-motion: reduce)').matches) show()
  else {
    known.style.viewTransitionName = 'frame'
    const { ready, updateCallbackDone } = document.startViewTransition(show)
    // The browser skips the motion where another begins, or the tab is hidden.
    ready.catch(() => undefined)
    await updateCallbackDone
  }
}

function open() {
  const made = document.createElement('dialog')
  made.className = 'over'
  made.setAttribute('aria-labelledby', 'frame-heading')
  made.innerHTML = `<div class="over-bar"><span></span>
<button type="button" data-leave aria-label="Close" title="Close (Esc)">×</button></div><div class="over-body"></div>
<button type="button" data-step="-1" aria-label="Previous frame" title="Previous frame">←</button>
<button type="button" data-step="1" aria-label="Next frame" title="Next frame">→</button>`
  turns = [...made.querySelectorAll('button')].slice(1)
  made.addEventListener('cancel', (event) => {
    event.preventDefault()
    leave()
  })
  swipes(made)
  showModal(made)
  document.documentElement.style.overflow = 'hidden'
  dialog = made
  return made
}

/** A finger that wipes over the picture turns to the next frame, or to the one before. @param {HTMLElement} target */
function swipes(target) {
  /** @type {Touch | undefined} */
  let from
  target.addEventListener('touchstart', ({ touches, target: on }) => {
    const picture = on instanceof Element && on.closest('.picture')
    // In a picture that is magnified a finger moves the picture.
    from = picture && touches.length === 1 && (visualViewport?.scale ?? 1) < 1.1 ? touches[0] : undefined
  })
  target.addEventListener('touchend', ({ changedTouches: [to] }) => {
    if (!from || !to) return
    const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY]
    if (Math.abs(x) > 50 && Math.abs(x) > 2 * Math.abs(y)) void step(x < 0 ? 1 : -1)
    from = undefined
  })
}

/** @param {HTMLElement} target @param {HTMLElement} content */
function fill(target, content) {
  target.querySelector('.over-body')?.replaceChildren(content)
  target.querySelector('.picture')?.append(...turns)
  const note = document.querySelector(`#f-${CSS.escape(shownId ?? '')} .note`)
  if (note) target.querySelector('.picture')?.after(note.cloneNode(true))
  noteSaved(target)
  if (content.querySelector('.card-link')) void markSaved(content)
}

/** What the article says of the person's save. @param {ParentNode} part */
function noteSaved(part) {
  const button = part.querySelector('.frame form.save button')
  const id = button?.closest('.frame')?.getAttribute('data-id')
  if (id) mark(id, button?.getAttribute('aria-pressed') === 'true')
}

/** Out of all frames that were opened one from another, back to the page. */
function leave() {
  const depth = depthHere()
  if (depth === 0) return close()
  loading?.abort()
  // A second press before the first is done would lead on, out of the page.
  if (!isLeaving) history.go(-depth)
  isLeaving = true
}
let isLeaving = false

function close() {
  loading?.abort()
  if (!dialog) return
  dialog.close()
  // Why it closes is told on the page behind it.
  const told = byId('toast')
  if (told) document.body.append(told)
  dialog.remove()
  dialog = undefined
  document.documentElement.style.overflow = ''
  document.title = titleBehind
  const place = shownId === undefined ? null : byId(`f-${shownId}`)
  // What opens over the page has closed: the frame stands behind the one it is like.
  const card = place?.checkVisibility() ? place : place?.closest('#wall > .sheet > li')?.querySelector('a')
  if (!card) return
  const { top, bottom } = card.getBoundingClientRect()
  const covered = document.querySelector('.wall-tools')?.getBoundingClientRect().bottom ?? 0
  if (top < covered || bottom > innerHeight) card.scrollIntoView({ block: 'center' })
  card.focus({ preventScroll: true })
}

/** The frames of the page below the dialog, in its order. */
const listed = () => [...document.querySelectorAll('main .card-link')].filter((one) => one instanceof HTMLAnchorElement)

/** To the frame before or after. @param {number} by */
export async function step(by) {
  const links = listed()
  const at = links.findIndex((link) => idOf(link.href) === shownId)
  // A frame that was found by likeness or compared is in no list: its neighbours are those in time.
  if (at < 0) {
    const link = beside(by)
    return link ? link.click() : tellEnd(by)
  }
  let next = links[at + by]
  if (!next && by > 0 && (await loadMore())) next = listed()[at + by]
  if (!next) return tellEnd(by)
  const { href } = next
  void show(href, () => history.replaceState({ ...history.state, frame: idOf(href) }, '', href), next)
}

/** @param {number} by */
const tellEnd = (by) => announce(by > 0 ? 'This is the last frame.' : 'This is the first frame.')

/** In time. @param {number} by @returns {HTMLElement | null | undefined} */
const beside = (by) => dialog?.querySelector(by > 0 ? 'a[rel="next"]' : 'a[rel="prev"]')

function showPlace() {
  const links = listed()
  const at = links.findIndex((link) => idOf(link.href) === shownId)
  const place = dialog?.querySelector('.over-bar span')
  const list = links[at]?.closest('[data-total]')
  const { total = links.length, first = 0 } = list instanceof HTMLElement ? list.dataset : {}
  const n = links[at] && (placeOf(links[at]) ?? Number(first) + at + 1)
  const counted = (/** @type {number} */ one) => one.toLocaleString('en')
  if (place) place.textContent = n === undefined ? '' : `${counted(n)} of ${counted(Number(total))}`
  for (const button of turns) {
    const by = Number(button.dataset.step)
    const isEnd = by > 0 ? n === Number(total) : at === 0
    button.disabled = at < 0 ? !beside(by) : isEnd
  }
}

/**
 * The frames of a page open over it, and are saved, put on boards and selected on it.
 * @param {object} [options]
 * @param {() => Promise<unknown>} [options.more]
 * @param {typeof placeOf} [options.place]
 */
export function openFrames({ more = loadMore, place = placeOf } = {}) {
  loadMore = more
  placeOf = place
  noteSaved(document)
  on('click', 'a[href^="/frames/"]', (/** @type {MouseEvent} */ event, link) => {
    if (!(link instanceof HTMLAnchorElement) || isForAnotherTab(event)) return
    // From a frame's own page its neighbours are pages as well.
    if (link.closest('main .frame') && !link.matches('.card-link')) return
    event.preventDefault()
    void show(link.href, enterAt(link.href), link)
  })

  // Browsers leave this document in its place also for the entries of the one that was there before a reload.
  addEventListener('popstate', ({ state }) => {
    isLeaving = false
    if (state?.frame && state.behind === behind) void show(location.href, enterAt(location.href))
    else if (location.pathname === behind) close()
    else location.reload()
  })
  on('click', '[data-leave]', leave)
  on('click', '[data-step]', (_event, button) => void step(Number(button.dataset.step)))
  actOnFrames()
  openCardTools()
  openSelecting(() => {
    // Without script the form of a board does the same.
    const remove = document.querySelector('#picked [data-removes]')
    /** @type {[string, () => unknown][]} */
    const acts = [['Board', () => pin(pickedFrames())]]
    if (remove instanceof HTMLElement) acts.push(['Remove', () => remove.click()])
    return document.querySelector('#picked[data-saves]') ? acts : [['Save', () => save(pickedFrames())], ...acts]
  })
}

export const isFrameOpen = () => dialog !== undefined

/** The frame that is open, else the one with the focus, else that of the page. */
function current() {
  const card = document.activeElement?.closest('.card-link')
  const focused = card ? frameOf(card) : document.querySelector('main > .frame')?.getAttribute('data-id')
  return (dialog && shownId) ?? focused ?? undefined
}

/** @param {(ids: string[]) => unknown} act on what is selected, else on the current frame */
const onFrames = (act) => () => {
  const ids = isFrameOpen() ? [] : pickedFrames()
  const id = current()
  if (ids.length > 0) void act(ids)
  else if (id !== undefined) void act([id])
  else toast('Go to a frame first: press Tab, then the arrow keys.')
}

export const CARD_KEYS = {
  s: {
    does: 'Save the frame, or what is selected',
    act: onFrames((ids) => (ids.length === 1 ? toggleSave(String(ids[0])) : save(ids))),
  },
  b: { does: 'Put it on a board', act: onFrames(pin) },
  x: { does: 'Select the frame', act: onFrames((ids) => togglePick(current() ?? String(ids[0]))) },
}

/** What the article of a frame does, in the dialog and on its own page. */
function actOnFrames() {
  openLoops()
  for (const act of ['save', 'board'])
    on('submit', `form.${act}`, (event, form) => {
      const id = form.closest('.frame')?.getAttribute('data-id')
      if (!id) return
      event.preventDefault()
      void (act === 'save' ? toggleSave(id) : pin([id]))
    })
  on('click', '[data-copy-image]', (_event, button) => void copyImage(String(button.dataset.copyImage)))
}

/** The picture itself, as other programs paste it. They take PNG. @param {string} address */
async function copyImage(address) {
  const png = async () => {
    const picture = await createImageBitmap(await (await fetch(address)).blob())
    const canvas = new OffscreenCanvas(picture.width, picture.height)
    canvas.getContext('2d')?.drawImage(picture, 0, 0)
    return canvas.convertToBlob({ type: 'image/png' })
  }
  try {
    // The promise itself: some browsers ask that the clipboard is written within the click.
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': png() })])
    toast('Image copied.')
  } catch {
    toast('The image was not copied. Download it instead.')
  }
}

/** @param {HTMLImageElement} known */
function preview(known) {
  const figure = document.createElement('figure')
  figure.className = 'picture'
  const image = /** @type {HTMLImageElement} */ (known.cloneNode())
  image.alt = ''
  figure.style.maxWidth = `calc(74vh * ${known.width / known.height})`
  figure.append(image)
  return figure
}

/** @param {string} href */
const idOf = (href) => new URL(href, location.href).pathname.split('/')[2]
