// A frame over the page it was opened from. The dialog shows the article of the frame's own page, whose address is in
// the address bar. Back closes it, and a reload shows the frame's page itself, from where Back leads to the page below.
import { announce, byId, copy, loadPage, on, send, tell, toast } from './core.js'
import { openLoops } from './loops.js'

/** Loads what follows the last frame of the page, and says whether there was more. @type {() => Promise<boolean>} */
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
  enter()
  const known = from?.querySelector('img')
  if (!dialog && known) await grow(known, signal)
  if (signal.aborted) return
  const target = dialog ?? open()
  target.setAttribute('aria-busy', 'true')
  try {
    const page = await loadPage(href, { signal })
    const article = page.getElementById('frame')
    if (!article) throw new Error('This frame is not here any more.')
    document.title = page.title
    const picture = article.querySelector('.picture img')
    // The small picture is there already; the large one comes over it.
    if (known && picture instanceof HTMLElement) {
      picture.style.backgroundImage = `url("${known.currentSrc || known.src}")`
      picture.style.backgroundSize = 'contain'
      picture.style.backgroundPosition = 'center'
      picture.style.backgroundRepeat = 'no-repeat'
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
    leave()
    tell(error, () => from?.click())
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
<button type="button" data-leave aria-label="Close" title="Close (Esc)">×</button></div><div class="over-body"></div>`
  turns = [turn(-1, '←', 'Previous frame'), turn(1, '→', 'Next frame')]
  made.addEventListener('cancel', (event) => {
    event.preventDefault()
    leave()
  })
  made.addEventListener('click', (event) => event.target === made && leave())
  swipes(made)
  document.body.append(made)
  made.showModal()
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
    from = picture && touches.length === 1 ? touches[0] : undefined
  })
  target.addEventListener('touchend', ({ changedTouches: [to] }) => {
    if (!from || !to) return
    const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY]
    if (Math.abs(x) > 50 && Math.abs(x) > 2 * Math.abs(y)) void step(x < 0 ? 1 : -1)
    from = undefined
  })
}

/**
 * @param {number} by
 * @param {string} sign
 * @param {string} name
 */
function turn(by, sign, name) {
  const button = document.createElement('button')
  button.type = 'button'
  button.dataset.step = String(by)
  button.title = button.ariaLabel = name
  button.textContent = sign
  return button
}

/** @param {HTMLElement} target @param {HTMLElement} content */
function fill(target, content) {
  target.querySelector('.over-body')?.replaceChildren(content)
  target.querySelector('.picture')?.append(...turns)
}

/** Out of all frames that were opened one from another, back to the page. */
function leave() {
  const depth = depthHere()
  if (depth > 0) history.go(-depth)
  else close()
}

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
  const card = shownId === undefined ? null : byId(`f-${shownId}`)
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
  // A frame that was found by likeness is in no list: its neighbours are those in time.
  if (at < 0) {
    const link = dialog?.querySelector(by > 0 ? 'a[rel="next"]' : 'a[rel="prev"]')
    if (link instanceof HTMLAnchorElement) link.click()
    return
  }
  let next = links[at + by]
  if (!next && by > 0 && (await loadMore())) next = listed()[at + by]
  if (!next) {
    announce(by > 0 ? 'This is the last frame.' : 'This is the first frame.')
    return
  }
  const { href } = next
  void show(href, () => history.replaceState({ ...history.state, frame: idOf(href) }, '', href), next)
}

function showPlace() {
  const links = listed()
  const at = links.findIndex((link) => idOf(link.href) === shownId)
  const place = dialog?.querySelector('.over-bar span')
  const list = links[at]?.closest('[data-total]')
  const { total = links.length, first = 0 } = list instanceof HTMLElement ? list.dataset : {}
  const n = links[at] && (placeOf(links[at]) ?? Number(first) + at + 1)
  const counted = (/** @type {number} */ one) => one.toLocaleString('en')
  if (place) place.textContent = n === undefined ? 'Found by likeness' : `${counted(n)} of ${counted(Number(total))}`
  for (const button of turns) button.disabled = button.dataset.step === '1' ? n === Number(total) : at === 0
}

/**
 * @param {object} [options]
 * @param {() => Promise<boolean>} [options.more]
 * @param {typeof placeOf} [options.place]
 * @param {(id: string, on: boolean) => void} [options.saved]
 */
export function openFrames({ more = loadMore, place = placeOf, saved } = {}) {
  loadMore = more
  placeOf = place
  on('click', 'a[href^="/frames/"]', (/** @type {MouseEvent} */ event, link) => {
    if (!(link instanceof HTMLAnchorElement) || isForAnotherTab(event)) return
    // From a frame's own page its neighbours are pages as well.
    if (link.closest('main .frame') && !link.matches('.card-link')) return
    event.preventDefault()
    const state = { frame: idOf(link.href), depth: depthHere() + 1, behind }
    void show(link.href, () => history.pushState(state, '', link.href), link)
  })

  // Browsers leave this document in its place also for the entries of the one that was there before a reload.
  addEventListener('popstate', ({ state }) => {
    if (state?.frame && state.behind === behind) void show(location.href, () => undefined)
    else if (location.pathname === behind) close()
    else location.reload()
  })
  on('click', '[data-leave]', leave)
  on('click', '[data-step]', (_event, button) => void step(Number(button.dataset.step)))
  actOnFrames(saved)
}

export const isFrameOpen = () => dialog !== undefined

/** The id of the frame that is shown. */
export const shownFrame = () => (dialog ? shownId : undefined)

/**
 * What the article of a frame does, in the dialog and on its own page.
 * @param {(id: string, on: boolean) => void} [saved]
 */
export function actOnFrames(saved) {
  openLoops()
  on('submit', 'form.save', async (event, form) => {
    if (!(form instanceof HTMLFormElement)) return
    event.preventDefault()
    // A second press would overtake the first.
    if (form.ariaBusy === 'true') return
    const button = form.querySelector('button')
    const wasSaved = button?.getAttribute('aria-pressed') === 'true'
    const show = (/** @type {boolean} */ on) => {
      form.action = on ? '/web/unsaves' : '/web/saves'
      button?.setAttribute('aria-pressed', String(on))
      if (button) button.textContent = on ? 'Saved' : 'Save'
    }
    const id = String(new FormData(form).get('frame'))
    // What was removed comes back where it was, with its time.
    const putBack = (/** @type {import('./core.js').Undo} */ undo) =>
      send(undo.action, undo.fields).then(
        () => {
          show(true)
          saved?.(id, true)
        },
        (error) => tell(error, () => void putBack(undo)),
      )
    const sent = send(form.action, new FormData(form))
    form.ariaBusy = 'true'
    show(!wasSaved)
    let answer
    try {
      answer = await sent
    } catch (error) {
      show(wasSaved)
      tell(error, () => form.requestSubmit())
      return
    } finally {
      form.ariaBusy = null
    }
    saved?.(id, !wasSaved)
    if (wasSaved) toast('Removed from your saves.', answer.undo ? { undo: () => putBack(answer.undo) } : {})
    else toast('Saved.', { undo: () => form.requestSubmit(), link: { href: '/saves', label: 'All saves' } })
  })
  on('submit', '.pin form', async (event, form) => {
    if (!(form instanceof HTMLFormElement)) return
    event.preventDefault()
    const menu = form.closest('details')
    const frame = String(new FormData(form).get('frame'))
    const sent = send(form.action, new FormData(form))
    // Told at once, and taken back where the library refuses.
    menu?.removeAttribute('open')
    menu?.querySelector('summary')?.focus()
    toast('Pinned.')
    try {
      const { board, pinned } = await sent
      toast('Pinned.', {
        link: { href: `/boards/${board}`, label: 'To the board' },
        ...(pinned.length > 0 ? { undo: () => send('/web/unpins', { board, frame }).catch(tell) } : {}),
      })
    } catch (error) {
      menu?.setAttribute('open', '')
      tell(error, () => form.requestSubmit())
    }
  })
  on('click', '[data-copy]', (_event, button) => {
    button.closest('details')?.removeAttribute('open')
    void copy(String(button.dataset.text ?? button.previousElementSibling?.textContent), String(button.dataset.copy))
  })
  on('click', '[data-copy-image]', (_event, button) => void copyImage(String(button.dataset.copyImage)))
  // The page of a frame has a second one below the dialog.
  on('click', 'a[href="#similar"]', (event, link) => {
    const similar = link.closest('.frame')?.querySelector('.similar')
    const heading = similar?.querySelector('h2')
    if (!heading) return
    event.preventDefault()
    similar?.scrollIntoView({ block: 'start' })
    heading.focus({ preventScroll: true })
  })
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
    toast('The image could not be copied. Download it instead.')
  }
}

/** @param {HTMLImageElement} known */
function preview(known) {
  const figure = document.createElement('figure')
  figure.className = 'picture'
  const image = document.createElement('img')
  image.src = known.currentSrc || known.src
  image.alt = ''
  image.width = known.width
  image.height = known.height
  figure.style.maxWidth = `calc(74vh * ${known.width / known.height})`
  figure.append(image)
  return figure
}

/** @param {string} href */
const idOf = (href) => new URL(href, location.href).pathname.split('/')[2]

/** @param {MouseEvent} event */
const isForAnotherTab = (event) =>
  event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
