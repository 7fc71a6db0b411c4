// A frame's own page. Frames like it open over it.
import { keys } from './core.js'
import { isFrameOpen, openFrames, step } from './frame-dialog.js'

openFrames()

/** In the frame that is open, else on the page. @param {string} selector */
const click = (selector) => {
  const target = (document.querySelector('dialog.over') ?? document).querySelector(selector)
  if (target instanceof HTMLElement) target.click()
}
/** @param {number} by @param {string} selector */
const go = (by, selector) => () => (isFrameOpen() ? void step(by) : click(selector))
keys({
  ArrowLeft: { does: 'The frame before, in its video', act: go(-1, 'a[rel="prev"]') },
  ArrowRight: { does: 'The frame after, in its video', act: go(1, 'a[rel="next"]') },
  s: { does: 'Save this frame', act: () => click('form.save button, a[data-sign-in]') },
  b: { does: 'Put it on a board', act: () => click('.pin summary') },
})
