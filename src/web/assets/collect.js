// Saving, pinning and selecting frames of a grid.
import { announce, ask, openDialog, readAnswer, send, tell, toast, whoAmI } from './core.js'

const viewer = document.body.dataset.viewer
/** @type {Set<string>} */
const picked = new Set()
/** The frame that was selected last: a range begins there. @type {string | undefined} */
let last

/** @param {Element} card */
export const frameOf = (card) => card.id.slice(2)
/** @param {string} id */
const cellOf = (id) => document.getElementById(`f-${id}`)?.closest('li')

/** Marks the frames of a part that the person has saved, and those that are selected. @param {Element} part */
export async function markSaved(part) {
  addHearts(part)
  for (const id of picked) cellOf(id)?.setAttribute('data-picked', '')
  if (viewer === 'anyone') return
  const frame = [...part.querySelectorAll('.card-link')].map(frameOf)
  if (frame.length === 0) return
  const { saved } = await send('/web/saved', { frame }).catch(() => ({ saved: [] }))
  for (const id of saved) mark(id, true)
}

/** A finger does not hover: it finds a button on each frame. @param {Element} part */
function addHearts(part) {
  if (!matchMedia('(hover: none)').matches) return
  for (const card of part.querySelectorAll('.card-link')) {
    if (card.nextElementSibling) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'heart'
    button.ariaPressed = String(cellOf(frameOf(card))?.hasAttribute('data-saved'))
    button.ariaLabel = `Save: ${card.querySelector('img')?.alt}`
    button.addEventListener('click', () => toggleSave(frameOf(card)))
    card.after(button)
  }
}

/** Frames that the library holds as saved. The page may be ahead of it. @type {Set<string>} */
const held = new Set()
/** @param {string} id @param {boolean} on */
const hold = (id, on) => (on ? held.add(id) : held.delete(id))

/** Shows what the library holds. @param {string} id @param {boolean} on */
export function mark(id, on) {
  hold(id, on)
  show(id, on)
}

/** @param {string} id @param {boolean} on */
function show(id, on) {
  const cell = cellOf(id)
  cell?.toggleAttribute('data-saved', on)
  const button = cell?.querySelector('#card-tools button')
  if (button) button.textContent = on ? 'Saved' : 'Save'
  cell?.querySelector('.heart')?.setAttribute('aria-pressed', String(on))
  describe(id)
}

/** What a card is to this person, in words. @param {string} id */
function describe(id) {
  const cell = cellOf(id)
  const states = [cell?.hasAttribute('data-picked') && 'Selected', cell?.hasAttribute('data-saved') && 'Saved']
  cell?.querySelector('.card-link')?.setAttribute('aria-description', states.filter(Boolean).join(', '))
}

function signIn() {
  const to = location.pathname + location.search
  toast('Sign in to save frames and make boards.', {
    link: { href: `/sign-in?to=${encodeURIComponent(to)}`, label: 'Sign in' },
  })
}

/** Settles with the last change. Each change waits for it, so none overtakes another. @type {Promise<unknown>} */
let turn = Promise.resolve()

/** @param {readonly string[]} frame @param {boolean} [on] */
export async function save(frame, on = true) {
  if (viewer === 'anyone') return signIn()
  const what = frame.length === 1 ? 'Frame' : `${frame.length} frames`
  // Shown at once, and taken back where the library refuses.
  for (const id of frame) show(id, on)
  // Undo of the earlier change no longer applies.
  document.getElementById('toast')?.remove()
  const sent = turn.then(() => send(on ? '/web/saves' : '/web/unsaves', { frame }))
  turn = sent.catch(() => undefined)
  try {
    const { saved, undo } = await sent
    for (const id of frame) hold(id, on)
    // Frames that were saved before stay.
    if (on) toast(`${what} saved.`, saved.length > 0 ? { undo: () => save(saved, false) } : {})
    else toast(`${what} removed from your saves.`, undo ? { undo: () => putBack(undo) } : {})
  } catch (error) {
    for (const id of frame) show(id, held.has(id))
    tell(error, () => save(frame, on))
  }
}

/** Puts removed saves back where they were. @param {import('./core.js').Undo} undo */
async function putBack(undo) {
  try {
    const { back } = await send(undo.action, undo.fields)
    for (const id of back) mark(id, true)
    announce('Put back.')
  } catch (error) {
    tell(error, () => putBack(undo))
  }
}

/** Saves a frame, or takes the save back. @param {string} id */
export const toggleSave = (id) => save([id], !cellOf(id)?.hasAttribute('data-saved'))

/** Asks for a board and pins frames to it. @param {readonly string[]} frame */
export async function pin(frame) {
  if (viewer === 'anyone') return signIn()
  const dialog = openDialog(frame.length === 1 ? 'Put on a board' : `Put ${frame.length} frames on a board`)
  const list = document.createElement('ul')
  list.className = 'pick-list'
  const form = document.createElement('form')
  form.className = 'wall-form'
  form.innerHTML = `<label for="new-board">New board</label>
<input id="new-board" name="name" required maxlength="120"><button class="primary">Make and pin</button>`
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const name = String(new FormData(form).get('name'))
    pinTo({ name }, name)
  })
  // It opens under the finger; the boards come into it.
  dialog.append(list, form)
  try {
    const boards = ask('/web/boards', { headers: { accept: 'application/json' } }).then(readAnswer)
    const [me, answer] = await Promise.all([whoAmI(), boards])
    if (me?.plan !== 'pro') throw new Error('Boards need the pro plan.')
    for (const { id, name } of answer.boards) {
      const button = document.createElement('button')
      button.type = 'button'
      button.textContent = name
      button.addEventListener('click', () => pinTo({ board: id }, name))
      const item = document.createElement('li')
      item.append(button)
      list.append(item)
    }
    // Who types a name already stays there.
    if (form.contains(document.activeElement)) return
    const first = list.querySelector('button') ?? form.querySelector('input')
    first?.focus()
  } catch (error) {
    dialog.close()
    tell(error, () => void pin(frame))
  }

  /** Told at once, and taken back where the library refuses. @param {Record<string, string>} to @param {string} name */
  async function pinTo(to, name) {
    dialog.close()
    const were = frame.every((id) => picked.has(id)) ? [...picked] : []
    if (were.length > 0) clearPicked()
    const told = `On “${name}”.`
    toast(told)
    try {
      const { board, pinned } = await send('/web/pins', { ...to, frame })
      toast(told, {
        link: { href: `/boards/${board}`, label: 'To the board' },
        ...(pinned.length > 0 ? { undo: () => send('/web/unpins', { board, frame: pinned }).catch(tell) } : {}),
      })
    } catch (error) {
      for (const id of were) if (!picked.has(id)) pick(id)
      tell(error, () => pinTo(to, name))
    }
  }
}

/** Selects a frame, or no longer. @param {string} id */
export function pick(id) {
  if (picked.has(id)) picked.delete(id)
  else picked.add(id)
  last = id
  cellOf(id)?.toggleAttribute('data-picked', picked.has(id))
  describe(id)
  announce(picked.has(id) ? `Selected, ${picked.size} in all.` : `Not selected, ${picked.size} in all.`)
  showSelection()
}

/** Selects every frame from the last one to this. @param {string} id */
function pickTo(id) {
  const all = [...document.querySelectorAll('#wall .card-link')].map(frameOf)
  const ends = [all.indexOf(last ?? id), all.indexOf(id)].sort((a, b) => a - b)
  for (const one of all.slice(Math.max(0, ends[0] ?? 0), (ends[1] ?? 0) + 1)) if (!picked.has(one)) pick(one)
  last = id
}

const LONG_PRESS_MS = 500

/**
 * Selecting is a mode: while a frame is selected, a click on another selects it too, and with Shift all between. A long
 * press begins it on a touch screen.
 */
export function openSelecting() {
  let pressed = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let press
  document.addEventListener(
    'click',
    (event) => {
      const link = event.target instanceof Element ? event.target.closest('#wall .card-link') : null
      if (!link || event.metaKey || event.ctrlKey || event.button !== 0 || (!pressed && picked.size === 0)) return
      event.preventDefault()
      event.stopPropagation()
      if (pressed) pressed = false
      else if (event.shiftKey) pickTo(frameOf(link))
      else pick(frameOf(link))
    },
    { capture: true },
  )
  document.addEventListener('pointerdown', ({ target, pointerType }) => {
    const link = target instanceof Element ? target.closest('#wall .card-link') : null
    clearTimeout(press)
    pressed = false
    if (pointerType !== 'touch' || !link) return
    press = setTimeout(() => {
      pressed = true
      pick(frameOf(link))
    }, LONG_PRESS_MS)
  })
  for (const name of ['pointerup', 'pointercancel', 'scroll'])
    document.addEventListener(name, () => clearTimeout(press), { capture: true, passive: true })
  // A long press on a link would open its menu as well.
  document.addEventListener('contextmenu', (event) => {
    if (pressed) event.preventDefault()
  })
}

export function clearPicked() {
  const had = picked.size > 0
  const were = [...picked]
  picked.clear()
  last = undefined
  for (const id of were) {
    cellOf(id)?.removeAttribute('data-picked')
    describe(id)
  }
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
