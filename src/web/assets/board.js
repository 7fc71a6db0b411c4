// The order of a board: its buttons without a new page, and dragging on top.
import { announce, byId, loadPage, on, send, swap, tell, toast } from './core.js'

const board = () => /** @type {HTMLElement} */ (byId('board'))

document.addEventListener('submit', (event) => {
  const button = event.submitter
  if (!(button instanceof HTMLButtonElement) || button.name !== 'move') return
  event.preventDefault()
  if (button.getAttribute('aria-disabled') === 'true') return
  const [frame, place] = button.value.split(':')
  move(String(frame), Number(place))
})

/**
 * Moves a frame, and shows the order as it is then.
 * @param {string} frame
 * @param {number} place from 0
 */
async function move(frame, place) {
  const { path, total } = board().dataset
  try {
    const { position } = await send(`${path}/move`, { move: `${frame}:${place}` })
    const told = `Moved to ${position + 1} of ${total}.`
    // The move is made, whether or not the page can be loaded again.
    await show().then(
      () => announce(told),
      () => toast(`${told} Load the page again to see it.`),
    )
  } catch (error) {
    tell(error, () => move(frame, place))
  }
}

/** Shows the board as it is now. What was selected stays selected. */
async function show() {
  const page = await loadPage(location.href)
  const boxes = () => /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('#pins input'))
  const selected = new Set([...boxes()].flatMap((box) => (box.checked ? [box.value] : [])))
  slide(() => swap(page, 'board'))
  for (const box of boxes()) box.checked = selected.has(box.value)
  boxes()[0]?.dispatchEvent(new Event('change', { bubbles: true }))
}

/**
 * Lets the frames slide from where they were.
 * @param {() => void} change
 */
function slide(change) {
  const items = () => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('#pins .pick'))
  const old = new Map([...items()].map((item) => [item.id, item.getBoundingClientRect()]))
  change()
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
  for (const item of items()) {
    const [was, is] = [old.get(item.id), item.getBoundingClientRect()]
    if (!was || (was.x === is.x && was.y === is.y)) continue
    const from = { transform: `translate(${was.x - is.x}px, ${was.y - is.y}px)` }
    item.animate([from, { transform: 'none' }], { duration: 150, easing: 'ease-out' })
  }
}

/** @type {HTMLElement | undefined} */
let dragged
// Links and pictures are draggable by default.
on('dragstart', '.pins .pick', (_event, item) => {
  dragged = item
  item.classList.add('dragged')
})
on('dragend', '.pins .pick', (_event, item) => {
  dragged = undefined
  item.classList.remove('dragged')
  unmark()
})
on('dragover', '.pins .pick', (event, item) => {
  if (!dragged) return
  event.preventDefault()
  unmark()
  item.classList.add(isAfter(event, item) ? 'drop-after' : 'drop-before')
})
on('drop', '.pins .pick', (event, item) => {
  if (!dragged) return
  event.preventDefault()
  if (item === dragged) return
  const items = [...(item.parentElement?.children ?? [])]
  const first = Number(board().dataset.first)
  // A page that was loaded meanwhile has put another element in its place.
  const from = items.findIndex(({ id }) => id === dragged?.id)
  const before = items.indexOf(item) + (isAfter(event, item) ? 1 : 0)
  move(dragged.dataset.frame ?? '', first + (from < before ? before - 1 : before))
})

/**
 * Whether a drop goes behind the frame under it, so that the last place can be reached.
 * @param {Event} event
 * @param {HTMLElement} item
 */
function isAfter(event, item) {
  const { x, width } = item.getBoundingClientRect()
  return /** @type {DragEvent} */ (event).clientX > x + width / 2
}

function unmark() {
  for (const marked of document.querySelectorAll('.drop-before, .drop-after'))
    marked.classList.remove('drop-before', 'drop-after')
}
