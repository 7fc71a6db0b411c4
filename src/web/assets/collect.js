// Saving, pinning and selecting frames of a grid.
import { announce, openDialog, send, toast, whoAmI } from './core.js'

const viewer = document.body.dataset.viewer
/** @type {Set<string>} */
const picked = new Set()

/** @param {Element} card */
export const frameOf = (card) => card.id.slice(2)
/** @param {string} id */
const cellOf = (id) => document.getElementById(`f-${id}`)?.closest('li')

/** Marks the frames of a part that the person has saved, and those that are selected. @param {Element} part */
export async function markSaved(part) {
  for (const id of picked) cellOf(id)?.setAttribute('data-picked', '')
  if (viewer === 'anyone') return
  const frame = [...part.querySelectorAll('.card-link')].map(frameOf)
  if (frame.length === 0) return
  const { saved } = await send('/web/saved', { frame }).catch(() => ({ saved: [] }))
  for (const id of saved) mark(id, true)
}

/** @param {string} id @param {boolean} on */
export function mark(id, on) {
  cellOf(id)?.toggleAttribute('data-saved', on)
}

function signIn() {
  const to = location.pathname + location.search
  toast('Sign in to save frames and make boards.', {
    link: { href: `/sign-in?to=${encodeURIComponent(to)}`, label: 'Sign in' },
  })
}

/** @param {readonly string[]} frame @param {boolean} [on] */
export async function save(frame, on = true) {
  if (viewer === 'anyone') return signIn()
  const what = frame.length === 1 ? 'Frame' : `${frame.length} frames`
  try {
    const { undo } = await send(on ? '/web/saves' : '/web/unsaves', { frame })
    for (const id of frame) mark(id, on)
    if (on) toast(`${what} saved.`, { undo: () => save(frame, false) })
    else toast(`${what} removed from your saves.`, undo ? { undo: () => putBack(frame, undo) } : {})
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}

/**
 * Puts removed saves back where they were. @param {readonly string[]} frame @param {string} removal
 */
async function putBack(frame, removal) {
  try {
    await send('/web/undo', { removal })
    for (const id of frame) mark(id, true)
    announce('Put back.')
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}

/** Saves a frame, or takes the save back. @param {string} id */
export const toggleSave = (id) => save([id], !cellOf(id)?.hasAttribute('data-saved'))

/** Asks for a board and pins frames to it. @param {readonly string[]} frame */
export async function pin(frame) {
  if (viewer === 'anyone') return signIn()
  const [me, answer] = await Promise.all([
    whoAmI(),
    fetch('/web/boards', { headers: { accept: 'application/json' } }).then((response) => response.json()),
  ])
  if (me?.plan !== 'pro') return toast('Boards need the pro plan.')
  const dialog = openDialog(frame.length === 1 ? 'Put on a board' : `Put ${frame.length} frames on a board`)
  const list = document.createElement('ul')
  list.className = 'pick-list'
  for (const { id, name } of answer.boards ?? []) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = name
    button.addEventListener('click', () => pinTo({ board: id }, name))
    const item = document.createElement('li')
    item.append(button)
    list.append(item)
  }
  const form = document.createElement('form')
  form.className = 'wall-form'
  form.innerHTML = `<label for="new-board">New board</label>
<input id="new-board" name="name" required maxlength="120"><button class="primary">Make and pin</button>`
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const name = String(new FormData(form).get('name'))
    pinTo({ name }, name)
  })
  dialog.append(list, form)

  /** @param {Record<string, string>} to @param {string} name */
  async function pinTo(to, name) {
    dialog.close()
    try {
      const { board, pinned } = await send('/web/pins', { ...to, frame })
      toast(`On “${name}”.`, {
        link: { href: `/boards/${board}`, label: 'To the board' },
        ...(pinned.length > 0 ? { undo: () => send('/web/unpins', { board, frame: pinned }) } : {}),
      })
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error))
    }
  }
}

/** Selects a frame, or no longer. @param {string} id */
export function pick(id) {
  if (picked.has(id)) picked.delete(id)
  else picked.add(id)
  cellOf(id)?.toggleAttribute('data-picked', picked.has(id))
  announce(picked.has(id) ? `Selected, ${picked.size} in all.` : `Not selected, ${picked.size} in all.`)
  showSelection()
}

export function clearPicked() {
  for (const id of picked) cellOf(id)?.removeAttribute('data-picked')
  const had = picked.size > 0
  picked.clear()
  showSelection()
  return had
}

export const pickedFrames = () => [...picked]

function showSelection() {
  document.getElementById('selection')?.remove()
  if (picked.size === 0) return
  const bar = document.createElement('div')
  bar.id = 'selection'
  bar.setAttribute('role', 'group')
  bar.setAttribute('aria-label', 'Selected frames')
  bar.append(`${picked.size} selected`)
  /** @type {[string, () => unknown][]} */
  const acts = [
    ['Save', () => save(pickedFrames())],
    ['Board', () => pin(pickedFrames())],
    ['Clear', clearPicked],
  ]
  for (const [label, act] of acts) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = label
    button.addEventListener('click', act)
    bar.append(button)
  }
  document.body.append(bar)
}

/** One set of buttons, over the frame that the pointer is on: a set for each would double the page. */
export function openCardTools() {
  const tools = document.createElement('div')
  tools.id = 'card-tools'
  /** @type {[string, (id: string) => unknown][]} */
  const acts = [
    ['Save', toggleSave],
    ['Board', (id) => pin([id])],
    ['Select', pick],
  ]
  for (const [label, act] of acts) {
    const button = document.createElement('button')
    button.type = 'button'
    // The keys do the same for those who use no pointer.
    button.tabIndex = -1
    button.textContent = label
    button.addEventListener('click', () => {
      const card = tools.parentElement?.querySelector('.card-link')
      if (card) act(frameOf(card))
    })
    tools.append(button)
  }
  document.addEventListener('pointerover', ({ target, pointerType }) => {
    if (pointerType !== 'mouse' || !(target instanceof Element)) return
    const cell = target.closest('.sheet > li')
    if (!cell) return tools.remove()
    if (tools.parentElement === cell) return
    const button = tools.firstElementChild
    if (button) button.textContent = cell.hasAttribute('data-saved') ? 'Saved' : 'Save'
    cell.append(tools)
  })
}
