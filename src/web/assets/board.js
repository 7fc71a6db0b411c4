// A board, and what is saved: the order, additions and removals without a new page. Without it the forms do the same.
import { markSaved, putBack, sendInTurn } from './collect.js'
import { announce, byId, loadPage, on, swap, tell, toast } from './core.js'
import { cellOf, heldFrame, pick, pickedFrames } from './select.js'

const board = () => /** @type {HTMLElement} */ (byId('board'))

/** That of the window may be a frame's. */
const address = location.href

/** Shows the board as it is now. What was selected stays selected. */
async function show() {
  const page = await loadPage(address)
  slide(() => swap(page, 'lead', 'arrange', 'export', 'board'))
  const gone = pickedFrames().filter((id) => !cellOf(id))
  if (gone.length > 0) pick(gone, false)
  void markSaved(board())
}

// What is done in the choice of a board, or taken back, may be of this one.
document.addEventListener('collected', () => void show().catch(tell))

/**
 * Lets the frames slide from where they were.
 * @param {() => void} change
 */
function slide(change) {
  const items = () => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('#pins > li'))
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

document.addEventListener('submit', (event) => {
  const button = event.submitter
  if (!(button instanceof HTMLButtonElement) || !(event.target instanceof HTMLFormElement)) return
  if (button.name === 'move') {
    event.preventDefault()
    const [frame, place] = button.value.split(':')
    if (button.getAttribute('aria-disabled') !== 'true') void move(String(frame), Number(place))
  } else if (button.dataset.removes !== undefined) {
    event.preventDefault()
    void remove(button, new FormData(event.target, button))
  }
})

/**
 * Shows and tells what was done, whether or not the page can be loaded again.
 * @param {string} told
 * @param {import('./core.js').Undo} [undo]
 */
async function showDone(told, undo) {
  const ways = undo ? { undo: () => putBack(undo) } : {}
  await show().then(
    () => (undo ? toast(told, ways) : announce(told)),
    () => toast(`${told} Load the page again to see it.`, ways),
  )
}

/**
 * Moves a frame, and shows the order as it is then.
 * @param {string} frame
 * @param {number} place from 0
 */
async function move(frame, place) {
  const { path, total } = board().dataset
  try {
    const { position } = await sendInTurn(`${path}/move`, { move: `${frame}:${place}` })
    await showDone(`Moved to ${position + 1} of ${total}.`)
  } catch (error) {
    tell(error, () => move(frame, place))
  }
}

/**
 * The list closes up, and a message at the foot takes it back.
 * @param {HTMLButtonElement} button
 * @param {FormData} fields
 */
async function remove(button, fields) {
  try {
    const { removed, undo } = await sendInTurn(button.formAction, fields)
    await showDone(`${removed.length} ${removed.length === 1 ? 'frame' : 'frames'} removed.`, undo)
  } catch (error) {
    tell(error, () => button.click())
  }
}

/* ---------- dragging: with a mouse at any time, with a finger after a long press ---------- */

/** @type {HTMLElement | undefined} */
let dragged
// Links and pictures are draggable by default; out of the window they are an address and a picture.
on('dragstart', '#board[data-path] #pins > li', (_event, item) => take(item))
on('dragend', '#pins > li', () => take(undefined))
on('dragover', '#pins > li', (/** @type {DragEvent} */ event, item) => {
  if (!dragged) return
  event.preventDefault()
  aim(item, event.clientX)
})
on('drop', '#pins > li', (/** @type {DragEvent} */ event, item) => {
  if (!dragged) return
  event.preventDefault()
  drop(item, event.clientX)
})

/** A finger that moves on after a long press takes the frame along; the page stays where it is. */
document.addEventListener(
  'touchmove',
  (event) => {
    const [touch] = event.touches
    const frame = heldFrame()
    if (frame === undefined || !touch || !board().dataset.path) return
    event.preventDefault()
    if (!dragged) {
      pick([frame], false)
      take(byId(`pin-${frame}`) ?? undefined)
    }
    aim(itemAt(touch), touch.clientX)
    // Near an edge of the window the board goes on.
    const edge = 70
    if (touch.clientY < edge) scrollBy(0, -12)
    else if (touch.clientY > innerHeight - edge) scrollBy(0, 12)
  },
  { passive: false },
)
document.addEventListener('touchend', ({ changedTouches: [touch] }) => {
  const item = touch && itemAt(touch)
  if (dragged && item) drop(item, touch.clientX)
  take(undefined)
})
document.addEventListener('touchcancel', () => take(undefined))

/** @param {Touch} touch */
const itemAt = ({ clientX, clientY }) =>
  /** @type {HTMLElement | undefined} */ (
    document.elementFromPoint(clientX, clientY)?.closest('#pins > li') ?? undefined
  )

/** @param {HTMLElement | undefined} item */
function take(item) {
  dragged?.classList.remove('dragged')
  dragged = item
  item?.classList.add('dragged')
  if (!item) aim(undefined, 0)
}

/** Shows where a drop would put the frame. @param {HTMLElement | undefined} item @param {number} x */
function aim(item, x) {
  for (const marked of document.querySelectorAll('.drop-before, .drop-after'))
    marked.classList.remove('drop-before', 'drop-after')
  item?.classList.add(isAfter(item, x) ? 'drop-after' : 'drop-before')
}

/** @param {HTMLElement} item @param {number} x */
function drop(item, x) {
  if (!dragged || item === dragged) return
  const items = [...(item.parentElement?.children ?? [])]
  const first = Number(board().dataset.first)
  // A page that was loaded meanwhile has put another element in its place.
  const from = items.findIndex(({ id }) => id === dragged?.id)
  const before = items.indexOf(item) + (isAfter(item, x) ? 1 : 0)
  void move(dragged.id.slice('pin-'.length), first + (from < before ? before - 1 : before))
}

/**
 * Whether a drop goes behind the frame under it, so that the last place can be reached.
 * @param {HTMLElement} item
 * @param {number} x
 */
function isAfter(item, x) {
  const { left, width } = item.getBoundingClientRect()
  return x > left + width / 2
}

/* ---------- adding from within the board ---------- */

const MOST_FOUND = 48

on('submit', '.adding form', async (event, form) => {
  event.preventDefault()
  const found = byId('found')
  if (!(form instanceof HTMLFormElement) || !found) return
  const query = new URLSearchParams(/** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form))))
  try {
    const page = await loadPage(`/?${query}`)
    const links = [...page.querySelectorAll('#wall .card-link')].slice(0, MOST_FOUND)
    found.replaceChildren(...links.map(toButton))
    announce(page.getElementById('count')?.textContent || 'No frames match.')
    if (links.length === 0) found.innerHTML = '<li>No frames match.</li>'
  } catch (error) {
    tell(error, () => form.requestSubmit())
  }
})

/** @param {Element} link of a frame on the wall */
function toButton(link) {
  const image = link.querySelector('img')
  const button = document.createElement('button')
  button.type = 'button'
  button.dataset.add = link.id.slice(2)
  button.ariaPressed = String(byId(`pin-${button.dataset.add}`) !== null)
  button.ariaLabel = `Add: ${image?.alt}`
  if (image) button.append(image)
  const item = document.createElement('li')
  item.append(button)
  return item
}

on('click', '[data-add]', async (_event, button) => {
  const frame = String(button.dataset.add)
  const isOn = button.ariaPressed === 'true'
  button.ariaPressed = String(!isOn)
  const { id } = board().dataset
  const act = `/web/${isOn ? 'un' : ''}${id ? 'pins' : 'saves'}`
  try {
    const { undo } = await sendInTurn(act, id ? { board: id, frame } : { frame })
    await showDone(isOn ? 'Removed.' : 'Added.', undo)
  } catch (error) {
    button.ariaPressed = String(isOn)
    tell(error, () => button.click())
  }
})
