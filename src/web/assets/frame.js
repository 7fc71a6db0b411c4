// A frame's own page.
import { keys } from './core.js'
import { actOnFrames } from './frame-dialog.js'

actOnFrames()

/** @param {string} selector */
const click = (selector) => {
  const target = document.querySelector(selector)
  if (target instanceof HTMLElement) target.click()
}
keys({
  ArrowLeft: { does: 'The frame before, in its video', act: () => click('a[rel="prev"]') },
  ArrowRight: { does: 'The frame after, in its video', act: () => click('a[rel="next"]') },
  s: { does: 'Save this frame', act: () => click('form.save button, a[data-sign-in]') },
  b: { does: 'Put it on a board', act: () => click('.pin summary') },
})
