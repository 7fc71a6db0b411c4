// The operator's list of videos: rows change in place, the order never does, and a selection acts without a new page.
import { announce, byId, loadPage, lookAgain, on, send, swap, tell, toast } from './core.js'

const boxes = () => [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[name="video"]'))]

/** Says what the buttons would act on. */
function count() {
  const n = boxes().filter((box) => box.checked).length
  const told = document.querySelector('#videos [data-count]')
  if (told) told.textContent = `${n} selected`
  const all = /** @type {HTMLInputElement | null} */ (document.querySelector('[data-all]'))
  if (!all) return
  all.hidden = false
  all.checked = n > 0 && n === boxes().length
}
on('change', 'input[name="video"]', count)
on('change', '[data-all]', (_event, all) => {
  for (const box of boxes()) box.checked = /** @type {HTMLInputElement} */ (all).checked
  count()
})
addEventListener('pageshow', count)
count()

// What needs no question is done here; a deletion and a re-annotation ask first, on a page of their own.
document.addEventListener('submit', async (event) => {
  const { submitter: button, target: form } = event
  if (!(form instanceof HTMLFormElement) || form.id !== 'videos' || !(button instanceof HTMLButtonElement)) return
  const act = button.name === 'act' ? button.value : button.value.split(':')[0]
  if (act !== 'retry' && act !== 'cancel') return
  event.preventDefault()
  try {
    const { done, refused } = await send(form.action, new FormData(form, button))
    const what = act === 'retry' ? 'queued again' : 'cancelled'
    toast(`${done} ${what}.${refused.map((/** @type {{ reason: string }} */ one) => ` ${one.reason}`).join('')}`)
    void refresh().catch(tell)
  } catch (error) {
    tell(error, () => button.click())
  }
})

/**
 * Puts what changed into a row. A cell that holds the focus waits: nothing moves under a person's hands.
 * @param {HTMLElement} row
 * @param {HTMLElement} next
 */
function changeRow(row, next) {
  for (const cell of row.querySelectorAll('[data-live]')) {
    const fresh = next.querySelector(`[data-live="${/** @type {HTMLElement} */ (cell).dataset.live}"]`)
    if (fresh && fresh.innerHTML !== cell.innerHTML && !cell.contains(document.activeElement))
      cell.replaceChildren(...fresh.childNodes)
  }
}

/** @param {HTMLElement} row */
function markGone(row) {
  row.classList.add('gone')
  for (const control of row.querySelectorAll('input, button')) control.setAttribute('disabled', '')
  const state = row.querySelector('[data-live="state"]')
  if (state) state.textContent = 'no longer in this list'
}

/** Shows the new videos when they are asked for. */
async function showNew() {
  swap(await loadPage(location.href), 'videos', 'counts')
  tellNew(0)
  count()
  byId('videos')?.querySelector('input')?.focus({ preventScroll: true })
  announce('New videos are shown.')
}
on('click', '#new', (_event, button) => void showNew().catch((error) => tell(error, () => button.click())))

/** @param {number} n */
function tellNew(n) {
  const button = byId('new')
  if (!button) return
  button.hidden = n === 0
  button.textContent = `Show ${n} new`
}

/** @param {ParentNode} place */
const rowsOf = (place) => /** @type {HTMLElement[]} */ ([...place.querySelectorAll('tr[data-video]')])

/** Reads the page once more. Rows change in place. */
async function refresh() {
  const page = await loadPage(location.href)
  const next = rowsOf(page)
  for (const row of rowsOf(document)) {
    const fresh = page.getElementById(row.id)
    if (fresh) changeRow(row, fresh)
    // A page that is followed by another one may have handed it on.
    else if (!page.querySelector('.pager [rel="next"]')) markGone(row)
  }
  // The newest come first. A list of one state has older ones there too.
  const known = next.findIndex(({ id }) => byId(id))
  const asked = new URLSearchParams(location.search)
  const isNewest = (asked.get('page') ?? '1') === '1' && (asked.get('show') ?? 'all') === 'all'
  if (isNewest) tellNew(known < 0 ? next.length : known)
  swap(page, 'counts', 'stages')
}
// What was added here is told at once.
document.addEventListener('queued', () => void refresh().catch(tell))

lookAgain(3_000, '[data-under-way]', refresh)
