import { clock } from '../clean-text.ts'
import type { ShownFrame } from '../search/library-search.ts'
import { type Html, html, trusted } from './html.ts'

/** What every page with frames shares. */

/**
 * Pictures at the top of a page, which load at once; the first of them before anything else. Six rows of six fill a
 * window of 1920 × 1080: a lazy picture within the window waits for the style sheet and the first layout.
 */
const EAGER = 36
const FIRST = 6

/**
 * A frame in a grid; `n` counts from the top of the page. Its place has its size and colour before the picture.
 * `time`: of a storyboard, where its second is always seen. `note`: in place of where it is from. `id`: of its cell.
 * `extra`: what else is in there.
 */
export function frameCard(
  frame: ShownFrame,
  n: number,
  { time, id, note, extra }: { time?: string; id?: string; note?: string | null; extra?: Html | false } = {},
): Html {
  const timed = time !== undefined && html` id="t-${frame.id}" data-second="${frame.t_sec}"`
  const cell = timed || (id !== undefined && html` id="${id}"`)
  const credit = html`<span class="credit"><span
>${frame.author ?? frame.video.title}</span><span>${time ?? clock(frame.t_sec)}</span></span>`
  return html`<li${cell}><a class="card-link ${shapeOf(frame)}" href="/frames/${frame.id}"
id="f-${frame.id}"${loopOf(frame)}
>${thumb(frame, { n, alt: altOf(frame, time) }, shapeOf(frame))}${
    note ? html`<span class="credit note">${note}</span>` : credit
  }</a>${extra}</li>`
}

/** Cells of a grid are 16:9. The height of a higher picture decides, the width of a wider one. */
const shapeOf = ({ width, height }: ShownFrame) => (width * 9 < height * 16 ? 'fit-height' : 'fit-width')

/** In the cell of a frame: those that show the same. They open over the page. */
export function alikeGrid(id: string, alike: readonly ShownFrame[]): Html {
  const label = `${alike.length} more like it`
  const at = `alike-${id}`
  return html`<button type="button" class="alike" popovertarget="${at}"><span>${label}</span></button><div popover
id="${at}" class="over-page"><h2>${label}</h2><button type="button" class="close" popovertarget="${at}"
aria-label="Close">×</button>${frameGrid(alike)}</div>`
}

/** The attribute by which scripts find and play its loop. */
export function loopOf({ loop_path: path }: ShownFrame): Html | false {
  return path !== undefined && html` data-loop="${path}"`
}

/** Frames in a grid of their own. `from`: the place of the first, below the top of a page. */
export function frameGrid(frames: readonly ShownFrame[], from = EAGER): Html {
  return html`<div class="wall"><ol class="sheet">${frames.map((frame, n) => frameCard(frame, from + n))}</ol></div>`
}

/** Of one shape, among others. */
export function smallThumb(frame: ShownFrame, options: { n: number; alt: string }): Html {
  return thumb(frame, options, 'still')
}

interface Tile {
  href: string
  label: string
  hint: Html | string
  /** Absent: an empty place. */
  cover: ShownFrame | undefined
  alt?: string
  /** Its place on the page. */
  n: number
  /** Of a film. */
  length?: number | null
}

/** What something looks like in a list of pictures. */
export function tile({ href, label, hint, cover, alt = '', n, length = null }: Tile): Html {
  const time = length !== null && html`<span class="time">${clock(length)}</span>`
  return html`<a href="${href}"><span class="still">${cover && smallThumb(cover, { n, alt })}${time}</span><span
class="label">${label}</span></a>
<span class="hint">${hint}</span>`
}

/** `n`: its place on the page; later ones load when they come near. */
function thumb(frame: ShownFrame, { n, alt }: { n: number; alt: string }, shape: string): Html {
  const loading = n >= EAGER ? trusted(' loading="lazy"') : n < FIRST && trusted(' fetchpriority="high"')
  const size = html`width="${frame.width}" height="${frame.height}"`
  return html`<img class="${shape} ${placeholderClass(frame.palette)}" src="${frame.thumb_path}" alt="${alt}" ${size}
decoding="async"${loading}>`
}

type Captioned = Pick<ShownFrame, 'caption' | 't_sec'> & { video: { title: string } }

/** Frames of a film may have one caption: the place in it tells them apart. */
export function altOf({ caption, video, t_sec }: Captioned, time = clock(t_sec)): string {
  const place = `${video.title}, ${time}`
  return caption === null ? place : `${caption} (${place})`
}

export function swatch(color: string, width: number, height: number): Html {
  const size = html`width="${width}" height="${height}"`
  return html`<svg ${size} aria-hidden="true"><rect ${size} fill="${color}"/></svg>`
}

/**
 * The colour of a picture's place before the picture is there. Our policy allows no style attribute, so a colour is a
 * class. Each channel has four steps: near enough for the moment that it is seen.
 */
const STEPS = [0, 85, 170, 255]

/** The class for the largest colour of a palette. */
export function placeholderClass(palette: readonly string[]): string {
  const value = Number.parseInt((palette[0] ?? '#808080').slice(1), 16)
  const step = (shift: number) => Math.round(((value >> shift) & 255) / 85)
  return `p${step(16)}${step(8)}${step(0)}`
}

/** The rules of all classes. */
export function placeholderStyles(): string {
  const hex = (channel: number) => channel.toString(16).padStart(2, '0')
  const rules = STEPS.flatMap((red, r) =>
    STEPS.flatMap((green, g) =>
      STEPS.map((blue, b) => `.p${r}${g}${b}{background:#${hex(red)}${hex(green)}${hex(blue)}}`),
    ),
  )
  return `${rules.join('\n')}\n`
}

/** What is shown where a link to a page is pasted. */
interface Card {
  title: string
  description: string
  /** Path of the page. */
  path: string
  image: Pick<ShownFrame, 'image_path' | 'width' | 'height'> | undefined
}

/** Open Graph (ogp.me), the same for X cards. */
export function openGraph(publicUrl: string, { title, description, path, image }: Card): Html {
  const address = publicUrl + path
  const picture =
    image &&
    html`<meta property="og:image" content="${publicUrl}${image.image_path}">
<meta property="og:image:width" content="${image.width}">
<meta property="og:image:height" content="${image.height}">
`
  return html`<link rel="canonical" href="${address}">
<meta property="og:site_name" content="Frame Library">
<meta property="og:type" content="article">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${address}">
${picture}<meta name="twitter:card"
 content="${image ? 'summary_large_image' : 'summary'}">
`
}
