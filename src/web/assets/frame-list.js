// A page with frames that open over it: a video, a brand, a technique.
import { keys } from './core.js'
import { isFrameOpen, openFrames, step } from './frame-dialog.js'

openFrames()
/** @param {number} by */
const go = (by) => () => isFrameOpen() && void step(by)
keys({
  ArrowLeft: { does: 'The frame before, while one is open', act: go(-1) },
  ArrowRight: { does: 'The frame after, while one is open', act: go(1) },
})
