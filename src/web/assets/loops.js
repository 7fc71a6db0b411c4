// Two seconds of a moving shot: over a card while a mouse points at it or the keys have reached it, over the large
// picture on request. Nothing is loaded before, and nothing further once it ends.
import { on } from './core.js'

const WAIT_MS = 200
/** Addresses that did not come. */
const failed = new Set()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting
/** The element whose loop plays or waits. @type {HTMLElement | null} */
let current = null
/** @type {HTMLImageElement | undefined} */
let loop

function stop() {
  clearTimeout(waiting)
  current?.matches('button') && current.setAttribute('aria-pressed', 'false')
  current = null
  if (!loop) return
  loop.onerror = null
  // Without an address the browser ends the download.
  loop.removeAttribute('src')
  loop.remove()
  loop = undefined
}

/** @param {HTMLElement} owner */
function play(owner) {
  const src = String(owner.dataset.loop)
  const still = owner.closest('.picture, .card-link')?.querySelector('img')
  if (!still || failed.has(src)) return stop()
  loop = new Image()
  loop.className = 'loop'
  loop.alt = ''
  loop.onerror = () => {
    failed.add(src)
    stop()
  }
  const { width, height } = still.getBoundingClientRect()
  loop.style.aspectRatio = `${width} / ${height}`
  loop.src = src
  still.after(loop)
}

/** @param {EventTarget | null} target */
function aim(target) {
  const card = target instanceof Element ? target.closest('.sheet > li')?.querySelector(':scope > [data-loop]') : null
  if (card === current || (!card && current?.matches('button'))) return
  stop()
  const calm = matchMedia('(prefers-reduced-motion: reduce), (prefers-reduced-data: reduce)').matches
  if (!(card instanceof HTMLElement) || calm || /** @type {any} */ (navigator).connection?.saveData) return
  current = card
  waiting = setTimeout(play, WAIT_MS, card)
}

/** Plays loops of this page, also of cards that come later. */
export function openLoops() {
  addEventListener('pointerover', ({ target, pointerType }) => pointerType !== 'touch' && aim(target))
  document.documentElement.addEventListener('pointerleave', () => aim(null))
  addEventListener(
    'focusin',
    ({ target }) => target instanceof Element && target.matches(':focus-visible') && aim(target),
  )
  addEventListener('focusout', () => aim(null))
  addEventListener('keydown', ({ key }) => key === 'Escape' && stop())
  addEventListener('click', () => aim(null))
  on('click', 'button[data-loop]', (_event, button) => {
    const isOn = current === button
    stop()
    if (isOn) return
    current = button
    button.setAttribute('aria-pressed', 'true')
    play(button)
  })
}
