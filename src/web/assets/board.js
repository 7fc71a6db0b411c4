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
 * @param {string} frame
 * @param {number} place from 0
 */
async function move(frame, place) {
  const { path, version = '' } = board().dataset
  const fields = { version, move: `${frame}:${place}` }
  try {
    const { position } = await send(`${path}/move`, fields)
    swap(await loadPage(location.href), 'board')
    announce(`Moved to ${position + 1} of ${board().dataset.total}.`)
  } catch (error) {
    // The page that answers shows both orders.
    if (/** @type {{ status?: number }} */ (error).status === 409) return submit(`${path}/move`, fields)
    toast(/** @type {Error} */ (error).message)
  }
}

/**
 * Sends a form as a page.
 * @param {string} action
 * @param {Record<string, string>} fields
 */
function submit(action, fields) {
  const form = document.createElement('form')
  form.method = 'post'
  form.action = action
  const token = /** @type {HTMLInputElement} */ (document.querySelector('#picked [name="form"]')).value
  for (const [name, value] of Object.entries({ ...fields, form: token })) {
    const input = document.createElement('input')
    input.type = 'hidden'
    input.name = name
    input.value = value
    form.append(input)
  }
  document.body.append(form)
  form.submit()
}

/** @type {HTMLElement | undefined} */
let dragged
for (const picture of document.querySelectorAll('.pins .pick')) picture.setAttribute('draggable', 'true')
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
  item.classList.add('drop-before')
})
on('drop', '.pins .pick', (event, item) => {
  if (!dragged || item === dragged) return
  event.preventDefault()
  const items = [...(item.parentElement?.children ?? [])]
  const first = Number(board().dataset.first)
  const from = items.indexOf(dragged)
  const before = items.indexOf(item)
  move(dragged.dataset.frame ?? '', first + (from < before ? before - 1 : before))
})

function unmark() {
  for (const marked of document.querySelectorAll('.drop-before')) marked.classList.remove('drop-before')
}
