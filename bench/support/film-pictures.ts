import { spawn } from 'node:child_process'
import { once } from 'node:events'
import sharp from 'sharp'

export const WIDTH = 640
export const HEIGHT = 360
export const BYTES = WIDTH * HEIGHT * 3
const RAW = { width: WIDTH, height: HEIGHT, channels: 3 as const }

/** One rgb24 picture. */
export type Picture = Buffer
/** The pictures of one shot. */
export type Shot = Picture[]

export interface Workshop {
  clips: Picture[][]
  random: () => number
}

interface Overlay {
  rgb: Buffer
  alpha: Buffer
}

/** Puts the first clip at the end, so that two neighbouring shots never come from one source. */
export function next({ clips }: Workshop): Picture[] {
  const clip = clips.shift()!
  clips.push(clip)
  return clip
}

export function moving(shop: Workshop, length: number): Shot {
  const clip = next(shop)
  const start = Math.floor(shop.random() * Math.max(1, clip.length - length))
  // A source that is too short runs back and forth.
  const there = clip.slice(start)
  const pictures = [...there, ...there.toReversed()]
  return Array.from({ length }, (_, i) => Buffer.from(pictures[i % pictures.length]!))
}

const CARDS: readonly [number, number, number][] = [
  [250, 250, 250],
  [8, 8, 10],
  [20, 28, 60],
  [245, 240, 228],
  [120, 40, 160],
]

export function card(shop: Workshop, length: number): Shot {
  const [r, g, b] = CARDS[Math.floor(shop.random() * CARDS.length)]!
  const picture = Buffer.alloc(BYTES)
  for (let i = 0; i < BYTES; i += 3) picture.set([r, g, b], i)
  return Array.from({ length }, () => Buffer.from(picture))
}

const TITLES = ['Ship in an hour', 'Meet Orbit', 'Search that understands you', 'Fast. Private. Yours.', 'Try it today']

/** The shot with a title or a logo that fades in and, mostly, out again. */
export async function titled(shop: Workshop, shot: Shot, given: { from?: number; fade?: number } = {}): Promise<Shot> {
  // Half of the titles darken the picture behind them, as launch films do.
  const scrim = shop.random() < 0.5 ? 0.35 + 0.4 * shop.random() : 0
  const fade = given.fade ?? between(shop, 6, 30)
  const from = given.from ?? between(shop, 12, 36)
  const until = shop.random() < 0.7 ? shot.length - between(shop, 6, 20) - fade : Number.POSITIVE_INFINITY
  const ground = shot[Math.floor(shot.length / 2)]!
  const overlay = await renderTitle(shop, mean(ground) * (1 - scrim) > 128, scrim)
  return shot.map((picture, i) => {
    const alpha = Math.min(1, (i - from + 1) / fade, (until + fade - i) / fade)
    return alpha <= 0 ? picture : lay(picture, overlay, alpha)
  })
}

async function renderTitle(shop: Workshop, onBright: boolean, scrim: number): Promise<Overlay> {
  const colour = onBright ? '#141414' : '#f8f8f8'
  const size = between(shop, 36, 84)
  const text = TITLES[Math.floor(shop.random() * TITLES.length)]!
  const y = between(shop, 160, 280)
  const side = between(shop, 80, 180)
  const box = `x="${(WIDTH - side) / 2}" y="${y - size - side}" width="${side}" height="${side}" rx="18"`
  const mark = shop.random() < 0.5 ? `<rect ${box} fill="#2f6bff"/>` : ''
  const veil = scrim > 0 ? `<rect width="${WIDTH}" height="${HEIGHT}" opacity="${scrim}"/>` : ''
  const length = Math.min(580, text.length * size * 0.6)
  const font = `font-family="DejaVu Sans" font-weight="700" font-size="${size}" fill="${colour}"`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">${veil}${mark}
    <text x="${WIDTH / 2}" y="${y}" text-anchor="middle" textLength="${length}" lengthAdjust="spacingAndGlyphs"
      ${font}>${text}</text></svg>`
  const { data } = await sharp(Buffer.from(svg)).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  const rgb = Buffer.alloc(BYTES)
  const alpha = Buffer.alloc(WIDTH * HEIGHT)
  for (let p = 0; p < alpha.length; p++) {
    rgb.set(data.subarray(4 * p, 4 * p + 3), 3 * p)
    alpha[p] = data[4 * p + 3]!
  }
  return { rgb, alpha }
}

function lay(picture: Picture, { rgb, alpha }: Overlay, strength: number): Picture {
  for (let p = 0; p < alpha.length; p++) {
    if (alpha[p] === 0) continue
    const a = (alpha[p]! / 255) * strength
    for (let c = 3 * p; c < 3 * p + 3; c++) picture[c] = picture[c]! * (1 - a) + rgb[c]! * a
  }
  return picture
}

export function mix(a: Picture, b: Picture, share: number): Picture {
  const mixed = Buffer.allocUnsafe(BYTES)
  for (let i = 0; i < BYTES; i++) mixed[i] = a[i]! * (1 - share) + b[i]! * share
  return mixed
}

export function light(picture: Picture, factor: number): Picture {
  const lit = Buffer.allocUnsafe(BYTES)
  for (let i = 0; i < BYTES; i++) lit[i] = Math.min(255, picture[i]! * factor)
  return lit
}

export function dim(shot: Shot, at: number, factor: number): void {
  shot[at] = light(shot[at]!, factor)
}

/** A still picture that grows by `by`, evenly or within `quick` pictures in the middle. */
export async function zooming(shop: Workshop, length: number, by = 0.1, quick?: number): Promise<Shot> {
  const clip = next(shop)
  const picture = clip[Math.floor(shop.random() * clip.length)]!
  return Promise.all(
    Array.from({ length }, (_, i) => {
      const share = quick === undefined ? i / length : eased(Math.min(1, Math.max(0, (i - length / 2) / quick + 0.5)))
      const width = Math.round(WIDTH * (1 + by * share))
      const height = Math.round((width * HEIGHT) / WIDTH)
      const region = { left: (width - WIDTH) >> 1, top: (height - HEIGHT) >> 1, width: WIDTH, height: HEIGHT }
      return sharp(picture, { raw: RAW }).resize(width, height).extract(region).raw().toBuffer()
    }),
  )
}

/** A camera that swings across a still picture twice as wide, with the blur of its motion. */
export async function whipped(shop: Workshop, length: number): Promise<Shot> {
  const clip = next(shop)
  const picture = clip[Math.floor(shop.random() * clip.length)]!
  const wide = await sharp(picture, { raw: RAW })
    .resize(2 * WIDTH, 2 * HEIGHT)
    .raw()
    .toBuffer()
  const swing = between(shop, 5, 14)
  const top = between(shop, 0, HEIGHT)
  const leftAt = (i: number) => WIDTH * eased(Math.min(1, Math.max(0, (i - length / 2) / swing + 0.5)))
  return Array.from({ length }, (_, i) => {
    const samples = Array.from({ length: 8 }, (_, k) => Math.round(leftAt(i + k / 16)))
    return window(wide, top, samples)
  })
}

/** A camera that goes slowly over a still picture twice as wide and as high, evenly or from rest to rest. */
export async function slowly(shop: Workshop, length: number): Promise<Shot> {
  const clip = next(shop)
  const wide = sharp(clip[Math.floor(shop.random() * clip.length)]!, { raw: RAW }).resize(2 * WIDTH, 2 * HEIGHT)
  const { data, info } = await wide.raw().toBuffer({ resolveWithObject: true })
  const ends = [between(shop, 0, WIDTH), between(shop, 0, WIDTH), between(shop, 0, HEIGHT), between(shop, 0, HEIGHT)]
  const [left, toLeft, top, toTop] = ends as [number, number, number, number]
  const move = between(shop, 24, length)
  const isEven = shop.random() < 0.5
  return Promise.all(
    Array.from({ length }, (_, i) => {
      const share = Math.min(1, Math.max(0, (i - (length - move) / 2) / move))
      const gone = isEven ? share : eased(share)
      const place = { left: Math.round(left + gone * (toLeft - left)), top: Math.round(top + gone * (toTop - top)) }
      const region = { ...place, width: WIDTH, height: HEIGHT }
      return sharp(data, { raw: { width: info.width, height: info.height, channels: 3 } })
        .extract(region)
        .raw()
        .toBuffer()
    }),
  )
}

export const WAYS = ['left', 'right', 'up', 'down'] as const
export type Way = (typeof WAYS)[number]

/** `fresh` drives `old` out to the left, right, top or bottom, as `slideleft` and the others of ffmpeg's `xfade`. */
export function slid(old: Picture, fresh: Picture, share: number, way: Way): Picture {
  const out = Buffer.allocUnsafe(BYTES)
  const row = 3 * WIDTH
  if (way === 'left' || way === 'right') {
    const shift = 3 * Math.round(WIDTH * (way === 'left' ? share : 1 - share))
    const [first, second] = way === 'left' ? [old, fresh] : [fresh, old]
    for (let at = 0; at < BYTES; at += row) {
      first.copy(out, at, at + shift, at + row)
      second.copy(out, at + row - shift, at, at + shift)
    }
    return out
  }
  const shift = row * Math.round(HEIGHT * (way === 'up' ? share : 1 - share))
  const [first, second] = way === 'up' ? [old, fresh] : [fresh, old]
  first.copy(out, 0, shift)
  second.copy(out, BYTES - shift, 0, shift)
  return out
}

/** The mean of several places of a picture twice as wide and as high. */
function window(wide: Buffer, top: number, lefts: readonly number[]): Picture {
  const out = Buffer.allocUnsafe(BYTES)
  const places = new Set(lefts).size === 1 ? lefts.slice(0, 1) : lefts
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < 3 * WIDTH; x++) {
      let sum = 0
      for (const left of places) sum += wide[(y + top) * 6 * WIDTH + 3 * left + x]!
      out[y * 3 * WIDTH + x] = sum / places.length
    }
  return out
}

/** A shot at three times its speed, each picture blurred by its motion. */
export function fast(shop: Workshop, length: number): Shot {
  const slow = moving(shop, 3 * length)
  return Array.from({ length }, (_, i) => mix(slow[3 * i]!, mix(slow[3 * i + 1]!, slow[3 * i + 2]!, 0.5), 2 / 3))
}

/** The shot, going out of focus over its last `pictures`, or coming into it over its first. */
export async function blurred(shot: Shot, pictures: number, at: 'start' | 'end'): Promise<Shot> {
  if (pictures === 0) return shot
  return Promise.all(
    shot.map((picture, i) => {
      const far = at === 'end' ? shot.length - 1 - i : i
      if (far >= pictures) return picture
      const sigma = 1 + (8 * (pictures - far)) / pictures
      return sharp(picture, { raw: RAW }).blur(sigma).raw().toBuffer()
    }),
  )
}

/** The shot with a flash of light or two: bright at once, then back within a few pictures. */
export function flashed(shop: Workshop, shot: Shot): Shot {
  const white = Buffer.alloc(BYTES, 255)
  for (const at of [between(shop, 15, 35), between(shop, 45, 65)]) {
    const peak = 0.6 + 0.4 * shop.random()
    const length = between(shop, 1, 5)
    for (let i = 0; i < length; i++) shot[at + i] = mix(shot[at + i]!, white, peak * (1 - i / length))
  }
  return shot
}

/** With `times` 2, one more picture between two: the mean of both. */
export function lengthened(shot: Shot, times: 1 | 2): Shot {
  if (times === 1) return shot
  return shot.flatMap((picture, i) => [picture, mix(picture, shot[i + 1] ?? picture, 0.5)])
}

/** Light that falls off from left to right by `share`. */
export function slope(picture: Picture, share: number): Picture {
  const out = Buffer.from(picture)
  for (let i = 0; i < BYTES; i++) out[i] = picture[i]! * (1 - (share * (Math.floor(i / 3) % WIDTH)) / WIDTH)
  return out
}

/** Slow at both ends, as editing programs fade. */
export function eased(share: number): number {
  return share * share * (3 - 2 * share)
}

/** `picture` in an ellipse in the middle of `ground`. */
export function inset(ground: Picture, picture: Picture, size: number): Picture {
  const out = Buffer.from(ground)
  const [rx, ry] = [(WIDTH * size) / 2, (HEIGHT * size) / 2]
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) {
      const [dx, dy] = [(x - WIDTH / 2) / rx, (y - HEIGHT / 2) / ry]
      if (dx * dx + dy * dy > 1) continue
      const at = 3 * (y * WIDTH + x)
      out[at] = picture[at]!
      out[at + 1] = picture[at + 1]!
      out[at + 2] = picture[at + 2]!
    }
  return out
}

function mean(picture: Picture): number {
  let sum = 0
  for (let i = 0; i < BYTES; i += 97) sum += picture[i]!
  return sum / Math.ceil(BYTES / 97)
}

export function between({ random }: Workshop, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
}

/** Writes pictures as a film; `coded` says how, in ffmpeg's words. */
export async function writeFilm(
  file: string,
  pictures: Iterable<Picture> | AsyncIterable<Picture>,
  { fps, coded }: { fps: number; coded: readonly string[] },
): Promise<void> {
  const raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', `${WIDTH}x${HEIGHT}`, '-r', String(fps), '-i', '-']
  const child = spawn('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...raw, ...coded, file], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  for await (const picture of pictures) if (!child.stdin.write(picture)) await once(child.stdin, 'drain')
  child.stdin.end()
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`ffmpeg ended with ${code} while it wrote ${file}.`)
}
