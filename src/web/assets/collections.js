// Saves and boards: how many are selected, and removals in place with a way back. Without it the forms do the same.
import { announce, byId, copy, loadPage, on, send, swap, tell, toast } from './core.js'

const boxes = () => /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[name="frame"]'))
const selected = () => [...boxes()].filter((box) => box.checked)

/** Says how many frames the buttons would act on. */
function count() {
  const n = selected().length
  const form = document.querySelector('form[data-bulk]')
  const told = form?.querySelector('[data-count]')
  if (told) told.textContent = n === 0 ? 'Nothing selected' : `${n} selected`
  for (const button of form?.querySelectorAll('button') ?? []) button.disabled = n === 0
}
on('change', 'input[name="frame"]', count)
addEventListener('pageshow', count)
count()

on('click', '[data-copy-from]', (_event, button) => {
  const field = byId(button.dataset.copyFrom ?? '')
  if (field instanceof HTMLInputElement) void copy(field.value, 'Link')
})

// A removal stays on the page: the list closes up, and the message at the foot takes it back.
document.addEventListener('submit', async (event) => {
  const button = event.submitter
  if (!(event.target instanceof HTMLFormElement) || !(button instanceof HTMLButtonElement)) return
  if (button.dataset.removes === undefined) return
  event.preventDefault()
  const fields = new FormData(event.target, button)
  try {
    const { removed, undo } = await send(button.formAction, fields)
    await refresh()
    const told = `${removed.length} ${removed.length === 1 ? 'frame' : 'frames'} removed.`
    toast(told, undo ? { undo: () => takeBack(undo) } : {})
  } catch (error) {
    tell(error, () => button.click())
  }
})

/** @param {import('./core.js').Undo} undo */
async function takeBack(undo) {
  try {
    const { back } = await send(undo.action, undo.fields)
    await refresh()
    announce(`${back.length} put back.`)
  } catch (error) {
    tell(error, () => takeBack(undo))
  }
}

async function refresh() {
  swap(await loadPage(location.href), 'board', 'picks')
  count()
}
