// The operator's list of videos: rows change in place, the order never does, and a selection acts without a new page.
import { announce, byId, loadPage, on, send, stream, swap, tell, toast } from './core.js'

const form = /** @type {HTMLFormElement} */ (byId('videos'))
const boxes = () => [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[name="video"]'))]

/** Says what the buttons would act on. */
function count() {
  const n = boxes().filter((box) => box.checked).length
  const told = document.querySelector('#videos [data-count]')
  if (told) told.textContent = n === 0 ? 'Nothing selected' : `${n} selected`
  for (const button of document.querySelectorAll('#videos [data-bulk] button'))
    if (button instanceof HTMLButtonElement) button.disabled = n === 0
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
  const button = event.submitter
  if (event.target !== form || !(button instanceof HTMLButtonElement)) return
  const act = button.name === 'act' ? button.value : button.value.split(':')[0]
  if (act !== 'retry' && act !== 'cancel') return
  event.preventDefault()
  try {
    const { done, refused } = await send(form.action, new FormData(form, button))
    const what = act === 'retry' ? 'queued again' : 'cancelled'
    toast(`${done} ${what}.${refused.map((/** @type {{ reason: string }} */ one) => ` ${one.reason}`).join('')}`)
  } catch (error) {
    tell(error, () => button.click())
  }
})

/** States by video, as they came. @type {Map<string, string>} */
const states = new Map()

/** What was added just now is told beside its file as well. */
function tellStates() {
  for (const link of document.querySelectorAll('#uploads [data-follows]'))
    link.textContent = states.get(link.getAttribute('href')?.split('/').at(-1) ?? '') ?? link.textContent
}
// A state may come before the answer that names the video.
document.addEventListener('queued', tellStates)

/**
 * Puts what changed into a row. A cell that holds the focus waits: nothing moves under a person's hands.
 * @param {string} id
 * @param {string | null} html null for a video that is gone
 */
function changeRow(id, html) {
  const template = document.createElement('template')
  template.innerHTML = html ?? ''
  const next = template.content.querySelector('tr')
  states.set(id, next?.dataset.status ?? 'deleted')
  tellStates()
  const row = byId(`v-${id}`)
  if (!row) return
  if (html === null) return markGone(row)
  if (!next) return
  row.dataset.status = next.dataset.status ?? ''
  for (const cell of row.querySelectorAll('[data-live]')) {
    const name = /** @type {HTMLElement} */ (cell).dataset.live
    const fresh = next.querySelector(`[data-live="${name}"]`)
    if (fresh && fresh.innerHTML !== cell.innerHTML && !cell.contains(document.activeElement))
      cell.replaceChildren(...fresh.childNodes)
  }
}

/** @param {HTMLElement} row */
function markGone(row) {
  row.classList.add('gone')
  for (const control of row.querySelectorAll('input, button')) control.setAttribute('disabled', '')
  const state = row.querySelector('[data-live="state"]')
  if (state) state.textContent = 'deleted'
}

/** @type {Set<string>} */
const added = new Set()

/** Shows the new videos when they are asked for. */
async function showNew() {
  const button = /** @type {HTMLButtonElement} */ (byId('new'))
  const n = added.size
  added.clear()
  button.hidden = true
  swap(await loadPage(location.href), 'videos', 'counts')
  count()
  byId('videos')?.querySelector('input')?.focus({ preventScroll: true })
  announce(`${n} new ${n === 1 ? 'video' : 'videos'} shown.`)
}
byId('new')?.addEventListener('click', showNew)

/** @param {readonly string[]} ids */
function tellNew(ids) {
  const button = byId('new')
  for (const id of ids) if (!byId(`v-${id}`)) added.add(id)
  if (!button || added.size === 0) return
  button.hidden = false
  button.textContent = `Show ${added.size} new`
}

/** Reads the page once more. */
async function refresh() {
  const page = await loadPage(location.href).catch(() => undefined)
  if (!page) return
  const rows = /** @type {HTMLElement[]} */ ([...page.querySelectorAll('tr[data-video]')])
  for (const row of rows) changeRow(row.dataset.video ?? '', row.outerHTML)
  // What was added while nobody listened stands above the first row that is here: the newest come first. A list of one
  // state has older ones there too.
  const known = rows.findIndex(({ id }) => byId(id))
  const asked = new URLSearchParams(location.search)
  const isNewest = (asked.get('page') ?? '1') === '1' && (asked.get('show') ?? 'all') === 'all'
  if (isNewest) tellNew(rows.slice(0, known < 0 ? rows.length : known).map(({ dataset }) => dataset.video ?? ''))
  swap(page, 'stages')
}

stream('/web/events', {
  // At the start, and after every break: what was missed is read once.
  hello: refresh,
  videos({ rows, added: ids }) {
    for (const [id, html] of Object.entries(rows)) changeRow(id, html)
    tellNew(ids)
    // The page of one video has its stages.
    if (byId('stages') && Object.keys(rows).some((id) => byId(`v-${id}`))) void refresh()
  },
  counts({ html }) {
    const counts = byId('counts')
    if (!counts || counts.contains(document.activeElement)) return
    const here = counts.querySelector('[aria-current]')?.getAttribute('data-list')
    counts.innerHTML = html
    if (here) counts.querySelector(`[data-list="${here}"]`)?.setAttribute('aria-current', 'true')
  },
})
