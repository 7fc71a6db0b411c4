// The order of a board: its buttons without a new page, and dragging on top. A move names the state that was seen.
import { announce, byId, loadPage, on, send, swap, toast } from './core.js'

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
 * Moves a frame. Where the board was changed meanwhile, it goes beside the neighbour that was meant, and a message
 * takes it back.
 * @param {string} frame
 * @param {number} place from 0
 */
async function move(frame, place) {
  const before = orderOf()
  const first = Number(board().dataset.first)
  const neighbour = before.filter((id) => id !== frame)[place - first - 1]
  try {
    await sendMove(frame, place)
  } catch (error) {
    if (/** @type {{ status?: number }} */ (error).status !== 409) return toast(/** @type {Error} */ (error).message)
    swap(await loadPage(location.href), 'board')
    const now = orderOf().filter((id) => id !== frame)
    const at = neighbour === undefined ? -1 : now.indexOf(neighbour)
    const to = neighbour !== undefined && at < 0 ? place : first + at + 1
    const from = first + orderOf().indexOf(frame)
    const moved = await sendMove(frame, to).then(
      () => true,
      (again) => toast(/** @type {Error} */ (again).message),
    )
    if (moved) toast('The board was changed meanwhile. Your frame is moved.', { undo: () => move(frame, from) })
  }
}

const orderOf = () =>
  [...document.querySelectorAll('#pins .pick')].map((item) => /** @type {HTMLElement} */ (item).dataset.frame)

/**
 * @param {string} frame
 * @param {number} place
 */
async function sendMove(frame, place) {
  const { path, version = '' } = board().dataset
  const { position } = await send(`${path}/move`, { version, move: `${frame}:${place}` })
  const page = await loadPage(location.href)
  slide(() => swap(page, 'board'))
  announce(`Moved to ${position + 1} of ${board().dataset.total}.`)
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
// A link and its picture can be dragged without being told.
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
  if (!dragged || item === dragged) return
  event.preventDefault()
  const items = [...(item.parentElement?.children ?? [])]
  const first = Number(board().dataset.first)
  const from = items.indexOf(dragged)
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
