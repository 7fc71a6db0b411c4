// Saving frames and putting them on boards, from a grid and from the page of a frame.
import { announce, openDialog, post, readAnswer, readPage, send, tell, toast } from './core.js'
import { tellFault } from './faults.js'
import { cellOf, cellsOf, clearPicked, describe, frameOf, MOST, pick, pickedFrames } from './select.js'

const viewer = document.body.dataset.viewer

/** Marks the frames of a part that the person has saved. @param {Element} part */
export async function markSaved(part) {
  for (const id of pickedFrames()) describe(id)
  if (viewer === 'anyone') return
  const frame = [...part.querySelectorAll('.card-link')].map(frameOf)
  for (let n = 0; n < frame.length; n += MOST) {
    const some = frame.slice(n, n + MOST)
    const { saved } = await send('/web/saved', { frame: some }).catch(() => ({ saved: [] }))
    for (const id of saved) mark(id, true)
  }
}

/** Frames that the library holds as saved. The page may be ahead of it. @type {Set<string>} */
const held = new Set()

/** Shows what the library holds. @param {string} id @param {boolean} on */
export function mark(id, on) {
  if (on) held.add(id)
  else held.delete(id)
  show(id, on)
}

/** @param {string} id @param {boolean} on */
function show(id, on) {
  for (const cell of cellsOf(id)) {
    cell.toggleAttribute('data-saved', on)
    const button = cell.querySelector('#card-tools button')
    if (button) button.textContent = on ? 'Saved' : 'Save'
  }
  for (const large of document.querySelectorAll(`.frame[data-id="${CSS.escape(id)}"] form.save button`)) {
    large.setAttribute('aria-pressed', String(on))
    large.textContent = on ? 'Saved' : 'Save'
  }
  describe(id)
}

function signIn() {
  const to = location.pathname + location.search
  toast('Sign in to save frames and make boards.', {
    link: { href: `/sign-in?to=${encodeURIComponent(to)}`, label: 'Sign in' },
  })
}

/** Settles with the last change. @type {Promise<unknown>} */
let turn = Promise.resolve()
/**
 * Each change waits for the one before, so none overtakes another.
 * @type {typeof send}
 */
export function sendInTurn(url, fields) {
  const sent = turn.then(() => send(url, fields))
  turn = sent.catch(() => undefined)
  return sent
}

/** @param {readonly string[]} frame @param {boolean} [on] */
export async function save(frame, on = true) {
  if (viewer === 'anyone') return signIn()
  const what = frame.length === 1 ? 'Frame' : `${frame.length} frames`
  // Shown at once, and taken back where the library refuses.
  for (const id of frame) show(id, on)
  // Undo of the earlier change no longer applies.
  document.getElementById('toast')?.remove()
  try {
    const { saved, undo } = await sendInTurn(on ? '/web/saves' : '/web/unsaves', { frame })
    document.dispatchEvent(new Event('collected'))
    for (const id of frame) mark(id, on)
    // Frames that were saved before stay.
    if (on) toast(`${what} saved.`, saved.length > 0 ? { undo: () => save(saved, false), link: SAVES } : {})
    else toast(`${what} removed from your saves.`, undo ? { undo: () => putBack(undo) } : {})
  } catch (error) {
    for (const id of frame) show(id, held.has(id))
    tell(error, () => save(frame, on))
  }
}
const SAVES = { href: '/saves', label: 'All saves' }

/** Takes back what was done: saves and pins come to where they were. @param {import('./core.js').Undo} undo */
export async function putBack(undo) {
  try {
    const { back } = await sendInTurn(undo.action, undo.fields)
    if (undo.action.startsWith('/web/unsaves')) for (const id of back) mark(id, true)
    document.dispatchEvent(new Event('collected'))
    announce('Undone.')
  } catch (error) {
    tell(error, () => putBack(undo))
  }
}

/** Saves a frame, or takes the save back. @param {string} id */
export function toggleSave(id) {
  const large = document.querySelector(`.frame[data-id="${CSS.escape(id)}"] form.save button`)
  return save([id], !(cellOf(id)?.hasAttribute('data-saved') || large?.getAttribute('aria-pressed') === 'true'))
}

/** Asks for a board and puts frames on it. @param {readonly string[]} frame */
export async function pin(frame) {
  if (viewer === 'anyone') return signIn()
  const dialog = openDialog(frame.length === 1 ? 'Put on a board' : `Put ${frame.length} frames on a board`)
  const picture = frame.length === 1 && document.querySelector(`#f-${frame[0]} img, .frame[data-id="${frame[0]}"] img`)
  if (picture) dialog.querySelector('h2')?.prepend(picture.cloneNode())
  const parts = `<div id="choices"></div><form class="row create" action="/web/pins" novalidate>
<label class="visually-hidden" for="new-board">New board</label>
<input id="new-board" name="name" required maxlength="120" placeholder="Name of a new board">
<button class="primary">Create</button></form>`
  dialog.insertAdjacentHTML('beforeend', parts)
  dialog.addEventListener('submit', (event) => {
    event.preventDefault()
    const { submitter, target: form } = event
    if (!(form instanceof HTMLFormElement)) return
    const fields = new FormData(form, submitter)
    const name = String(submitter?.dataset.name ?? fields.get('name'))
    if (name.trim() === '') return void tellFault(form, form.querySelector('#new-board'), 'Fill this in.')
    void choose(submitter?.getAttribute('formaction') ?? '/web/pins', fields, name)
  })
  // It opens under the finger; the boards come into it.
  try {
    const response = await post('/web/pins', { frame })
    if (!response.ok) await readAnswer(response)
    const choices = (await readPage(response)).getElementById('choices')
    if (choices) dialog.querySelector('#choices')?.replaceWith(choices)
    // Who types a name already stays there.
    if (dialog.querySelector('.create :focus')) return
    const first = dialog.querySelector('#choices button')
    if (first instanceof HTMLElement) first.focus()
  } catch (error) {
    dialog.close()
    tell(error, () => void pin(frame))
  }

  /**
   * Told at once, and taken back where the library refuses.
   * @param {string} action
   * @param {FormData} fields
   * @param {string} name
   */
  async function choose(action, fields, name) {
    dialog.close()
    fields.delete('frame')
    for (const id of frame) fields.append('frame', id)
    const isOn = !action.startsWith('/web/un')
    if (action.endsWith('saves')) return save(frame, isOn)
    const were = frame.every((id) => pickedFrames().includes(id)) ? pickedFrames() : []
    if (were.length > 0) clearPicked()
    const told = isOn ? `On “${name}”.` : `No longer on “${name}”.`
    toast(told)
    try {
      const { board, pinned = [], undo } = await sendInTurn(action, fields)
      document.dispatchEvent(new Event('collected'))
      /** @type {import('./messages.js').Ways} */
      const ways = isOn ? { link: { href: `/boards/${board}`, label: 'To the board' } } : {}
      if (undo) ways.undo = () => putBack(undo)
      else if (pinned.length > 0) ways.undo = () => putBack({ action: '/web/unpins', fields: { board, frame: pinned } })
      toast(told, ways)
    } catch (error) {
      if (were.length > 0) pick(were)
      tell(error, () => choose(action, fields, name))
    }
  }
}

/** One set of buttons, over the frame that the pointer is on: a set for each would double the page. */
export function openCardTools() {
  const tools = document.createElement('div')
  tools.id = 'card-tools'
  tools.innerHTML = `<button type="button">Save</button><button type="button">Board</button>`
  const tick = document.createElement('label')
  tick.className = 'tick'
  tick.innerHTML = `<input type="checkbox" tabindex="-1" aria-label="Select">`
  const at = () => tools.parentElement?.querySelector('.card-link')
  const first = tools.querySelector('button')
  // The keys do the same for those who use no pointer.
  for (const button of tools.querySelectorAll('button')) button.tabIndex = -1
  tools.addEventListener('click', ({ target }) => {
    const card = at()
    if (card) void (target === first ? toggleSave(frameOf(card)) : pin([frameOf(card)]))
  })
  document.addEventListener('pointerover', ({ target, pointerType }) => {
    if (pointerType !== 'mouse' || !(target instanceof Element)) return
    const cell = target.closest('.sheet > li')
    if (!cell) {
      tick.remove()
      return tools.remove()
    }
    if (tools.parentElement === cell) return
    cell.append(tools)
    // What lies in a dialog is not selected.
    tick.remove()
    if (cell.closest('main') && !cell.querySelector('.tick')) cell.append(tick)
    const card = at()
    if (card) show(frameOf(card), cell.hasAttribute('data-saved'))
  })
}
