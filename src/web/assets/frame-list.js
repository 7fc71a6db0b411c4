// A page with frames that is not the wall: of a video, a brand, a technique, a board, or of one frame.
import { markSaved } from './collect.js'
import { isInMain, keys, loadPage, tell } from './core.js'
import { CARD_KEYS, isFrameOpen, openFrames, step } from './frame-dialog.js'

/** @type {Promise<unknown> | undefined} */
let coming
/** Puts the frames of the next page below those of this one. Says whether there were any. */
function more() {
  coming ??= load()
    .catch(tell)
    .finally(() => {
      coming = undefined
    })
  return coming
}

async function load() {
  const pager = document.querySelector('main .pager')
  const next = pager?.querySelector('a[rel="next"]')
  if (!(next instanceof HTMLAnchorElement)) return false
  const page = await loadPage(next.href)
  const list = document.querySelector('main .sheet')
  // What came into the library meanwhile has moved frames from page to page.
  const fresh = [...page.querySelectorAll('main .sheet > li')]
  list?.append(...fresh.filter((cell) => !isInMain(String(cell.querySelector('.card-link')?.id))))
  pager?.replaceWith(page.querySelector('main .pager') ?? '')
  if (list) void markSaved(list)
  return true
}

openFrames({ more })
void markSaved(document.querySelector('main') ?? document.body)

/** Beside an open frame; else, on a frame's own page, in its video. @param {number} by @param {string} link */
const go = (by, link) => () => {
  const neighbour = document.querySelector(`main > .frame a[rel="${link}"]`)
  if (isFrameOpen()) void step(by)
  else if (neighbour instanceof HTMLElement) neighbour.click()
}
keys({
  ArrowLeft: { does: 'The frame before, while one is open', act: go(-1, 'prev') },
  ArrowRight: { does: 'The frame after, while one is open', act: go(1, 'next') },
  ...CARD_KEYS,
})
