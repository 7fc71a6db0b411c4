// The page of a film: its line marks the second that is pointed at, and a player jumps to it.
import { byId, isForAnotherTab, on, toast } from './core.js'

const line = /** @type {HTMLElement | null} */ (document.querySelector('.film-line'))
const player = byId('player')
const cards = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.storyboard [data-second]'))]
const length = Number(line?.dataset.length)

const mark = document.createElement('output')
mark.ariaHidden = 'true'
mark.hidden = true
line?.append(mark)

/** @param {number} second */
function show(second) {
  mark.textContent = new Date(second * 1000)
    .toISOString()
    .slice(11, 19)
    .replace(/^(00:0?|0)/, '')
  mark.style.insetInlineStart = `${(100 * second) / length}%`
  mark.hidden = false
}
/** @param {MouseEvent} event */
function secondAt({ clientX }) {
  const { left, width } = /** @type {HTMLElement} */ (line).getBoundingClientRect()
  return Math.min(1, Math.max(0, (clientX - left) / width)) * length
}
line?.addEventListener('pointermove', (event) => show(secondAt(event)))
line?.addEventListener('pointerleave', () => {
  mark.hidden = true
})
for (const type of ['pointerover', 'focusin'])
  on(type, '.storyboard [data-second]', (_event, card) => show(Number(card.dataset.second)))

// To the frame of a second; with a player that is open, to the second itself.
line?.addEventListener('click', (event) => {
  const second = secondAt(event)
  if (player && !player.hidden) return play(second)
  const card = cards.findLast(({ dataset }) => Number(dataset.second) <= second) ?? cards[0]
  card?.scrollIntoView({ block: 'center' })
  card?.querySelector('a')?.focus({ preventScroll: true })
})

/** @param {number} second */
function play(second) {
  if (!player) return
  player.hidden = false
  player.scrollIntoView({ block: 'nearest' })
  const { file, embed } = player.dataset
  if (file) playFile(file, second)
  else playThere(String(embed), second)
}

/** By the player of another host. @param {string} embed @param {number} second */
function playThere(embed, second) {
  const frame = document.createElement('iframe')
  frame.src = embed.replace('{second}', String(Math.floor(second)))
  frame.title = 'Player'
  frame.allow = 'autoplay; encrypted-media; fullscreen; picture-in-picture'
  // YouTube refuses a page that does not say where it is.
  frame.referrerPolicy = 'strict-origin-when-cross-origin'
  player?.replaceChildren(frame)
}

/** @param {string} file @param {number} second */
function playFile(file, second) {
  let video = player?.querySelector('video')
  if (!video) {
    video = document.createElement('video')
    video.controls = true
    video.ariaLabel = 'Player'
    video.src = file
    video.addEventListener('error', ({ target }) => fail(/** @type {HTMLVideoElement} */ (target)))
    video.addEventListener('timeupdate', ({ target }) => show(/** @type {HTMLVideoElement} */ (target).currentTime))
    player?.replaceChildren(video)
  }
  video.currentTime = second
  // A browser may wait for a click on the video itself.
  video.play().catch(() => undefined)
}

/**
 * The next click tries again: where the file came from, if that has a player and the file is there, so that it is this
 * browser that cannot decode it.
 * @param {HTMLVideoElement} video
 */
async function fail(video) {
  video.remove()
  const button = document.querySelector('.tools [data-play]')
  const host = button?.getAttribute('data-host')
  const isLost = video.error?.code === MediaError.MEDIA_ERR_NETWORK
  const answer = isLost ? undefined : await fetch(video.src, { method: 'HEAD' }).catch(() => undefined)
  if (!answer?.ok) return toast('The film did not load. The next click tries again.')
  if (!button || !host) return toast('This browser cannot play the film.')
  delete player?.dataset.file
  button.textContent = `Play at ${host}`
  toast(`This browser cannot play the film. The next click plays it at ${host}.`)
}
on('click', '[data-play]', (/** @type {MouseEvent} */ event, link) => {
  if (isForAnotherTab(event)) return
  event.preventDefault()
  play(Number(link.dataset.play))
})
