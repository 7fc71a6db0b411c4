// One way to select frames on every page: a click on the tick of one, `x`, or a long press on a touch screen. While a
// frame is selected, a click on another selects it too, and with Shift all between. Escape ends it.
import { announce, toast } from './core.js'

/** As many as one form takes. */
export const MOST = 120
const CARDS = 'main .sheet .card-link'
/** @type {Set<string>} */
const picked = new Set()
/** The frame that was selected last: a range begins there. @type {string | undefined} */
let last
/** What can be done with those that are selected. @type {() => [string, () => unknown][]} */
let acts = () => []

/** @param {Element} card */
export const frameOf = (card) => card.id.slice(2)
/** @param {string} id */
export const cellOf = (id) => document.getElementById(`f-${id}`)?.closest('li')
/** On the page, and once more beside a frame that is open over it. @param {string} id */
export const cellsOf = (id) => [...document.querySelectorAll(`li:has(> #f-${CSS.escape(id)})`)]
export const pickedFrames = () => [...picked]
/** Those that are seen: what shows the same as one of them has its own box. */
const all = () => [...document.querySelectorAll(CARDS)].filter((card) => card.checkVisibility()).map(frameOf)

/** What a card is to this person, in words and by its tick. @param {string} id */
export function describe(id) {
  const isPicked = picked.has(id)
  for (const cell of cellsOf(id)) {
    cell.toggleAttribute('data-picked', isPicked)
    const tick = cell.querySelector('.tick input')
    if (tick instanceof HTMLInputElement) tick.checked = isPicked
    const states = [isPicked && 'Selected', cell.hasAttribute('data-saved') && 'Saved']
    cell.querySelector('.card-link')?.setAttribute('aria-description', states.filter(Boolean).join(', '))
  }
}

/** Selects frames, or no longer. @param {readonly string[]} ids @param {boolean} [on] */
export function pick(ids, on = true) {
  for (const id of ids) {
    if (!on) picked.delete(id)
    else if (picked.size < MOST) picked.add(id)
    describe(id)
  }
  if (on) last = ids.at(-1)
  if (on && ids.some((id) => !picked.has(id))) toast(`At most ${MOST} frames can be selected at once.`)
  else announce(`${picked.size} selected.`)
  showBar()
}

/** @param {string} id @param {{ shiftKey?: boolean }} [event] */
export function togglePick(id, { shiftKey = false } = {}) {
  const ids = shiftKey ? all() : []
  const [from = -1, to = -1] = [ids.indexOf(last ?? ''), ids.indexOf(id)].sort((a, b) => a - b)
  if (from < 0) return pick([id], !picked.has(id))
  pick(ids.slice(from, to + 1))
  last = id
}

/** Whether there was a selection. */
export function clearPicked() {
  const were = pickedFrames()
  picked.clear()
  last = undefined
  for (const id of were) describe(id)
  showBar()
  return were.length > 0
}

function showBar() {
  const old = document.getElementById('selection')
  if (old?.firstChild && picked.size > 0) old.firstChild.textContent = `${picked.size} selected`
  else if (old) {
    const back = old.contains(document.activeElement) && document.querySelector(`${CARDS}:not([tabindex="-1"])`)
    old.remove()
    if (back instanceof HTMLElement) back.focus({ preventScroll: true })
  }
  if (old || picked.size === 0) return
  const bar = document.createElement('div')
  bar.id = 'selection'
  bar.className = 'row'
  bar.setAttribute('role', 'group')
  bar.setAttribute('aria-label', 'Selected frames')
  bar.append(`${picked.size} selected`)
  for (const [label, act] of [...acts(), ['All', () => pick(all())], ['Clear', clearPicked]]) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = String(label)
    button.addEventListener('click', /** @type {() => unknown} */ (act))
    bar.append(button)
  }
  document.body.append(bar)
}

const LONG_PRESS_MS = 500
/** The frame under a finger that was pressed long. @type {string | undefined} */
let held
export const heldFrame = () => held

/** @param {typeof acts} found */
export function openSelecting(found) {
  acts = found
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let press
  const cardAt = (/** @type {EventTarget | null} */ target) =>
    target instanceof Element ? target.closest(CARDS) : null
  document.addEventListener(
    'click',
    (event) => {
      const { target } = event
      const isTick = target instanceof HTMLInputElement && target.matches('.tick input')
      const link = isTick ? target.closest('li')?.querySelector('.card-link') : cardAt(target)
      if (!link || event.metaKey || event.ctrlKey || event.button !== 0) return
      if (!isTick && held === undefined && picked.size === 0) return
      // A tick shows what is selected once the event is over.
      if (isTick) setTimeout(() => togglePick(frameOf(link), event))
      else {
        event.preventDefault()
        event.stopPropagation()
        if (held === undefined) togglePick(frameOf(link), event)
      }
      held = undefined
    },
    { capture: true },
  )
  document.addEventListener('pointerdown', ({ target, pointerType }) => {
    const link = cardAt(target)
    clearTimeout(press)
    held = undefined
    if (pointerType !== 'touch' || !link) return
    press = setTimeout(() => {
      held = frameOf(link)
      togglePick(held)
    }, LONG_PRESS_MS)
  })
  for (const name of ['pointerup', 'pointercancel', 'scroll'])
    document.addEventListener(name, () => clearTimeout(press), { capture: true, passive: true })
  // A long press on a link would open its menu as well.
  document.addEventListener('contextmenu', (event) => {
    if (held !== undefined) event.preventDefault()
  })
  document.addEventListener('keydown', (event) => {
    const isOpen = document.querySelector('dialog[open], :popover-open')
    if (event.key === 'Escape' && !event.defaultPrevented && !isOpen) clearPicked()
  })
}
