import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { seededRandom } from '../../test/support/seeded-random.ts'
import type { Transition } from './clips.ts'

/*
 * Films with known transitions, made from real footage: the classes in which detectors of shots are wrong about launch
 * films. Every film has its truth beside it, in the form that `loadClips` reads.
 */

const WIDTH = 640
const HEIGHT = 360
const FPS = 30
const BYTES = WIDTH * HEIGHT * 3

/** A stretch of a file that holds one shot, in seconds. */
export interface Source {
  file: string
  from: number
  seconds: number
}

/** `clip.mp4` or `clip.mp4@3-9`: the stretch from second 3 to second 9. */
export function parseSource(text: string): Source {
  const [, file, from, to] = /^(.*?)(?:@([\d.]+)-([\d.]+))?$/.exec(text)!
  return { file: file!, from: Number(from ?? 0), seconds: Number(to ?? 1e9) - Number(from ?? 0) }
}

/** One rgb24 picture. */
type Picture = Buffer
/** The pictures of one shot; asked for in order, each at most once. */
type Shot = Picture[]
type Random = () => number

interface Overlay {
  rgb: Buffer
  alpha: Buffer
}

interface Film {
  shots: Shot[]
  transitions: Transition[]
}

interface Workshop {
  clips: Picture[][]
  random: Random
}

/** Each class of film, by name. */
const RECIPES: Record<string, (shop: Workshop) => Promise<Film>> = {
  'title-over-still': async (shop) =>
    cutsOnly([await titled(shop, still(shop, 150)), await titled(shop, still(shop, 150))]),
  'title-over-moving': async (shop) =>
    cutsOnly([await titled(shop, moving(shop, 150)), await titled(shop, moving(shop, 150))]),
  'logo-on-card': async (shop) =>
    cutsOnly([
      moving(shop, 70),
      await titled(shop, card(shop, 130)),
      moving(shop, 70),
      await titled(shop, card(shop, 110)),
    ]),
  'cut-under-title': async (shop) => {
    const shots = [moving(shop, 60)]
    for (let n = 0; n < 3; n++) {
      const ground = n === 1 ? moving(shop, 90) : card(shop, 90)
      shots.push(await titled(shop, ground, { from: between(shop, 0, 6), fade: between(shop, 8, 24) }))
    }
    return cutsOnly(shots)
  },
  'fade-from-black': async (shop) => {
    // Half of these films begin with a black picture that brightens: no transition.
    const first = moving(shop, 100)
    const rise = shop.random() < 0.5 ? between(shop, 10, 50) : 0
    for (let i = 0; i < rise; i++) dim(first, i, eased(i / rise))
    const shots: Shot[] = [first]
    const transitions: Transition[] = []
    for (let n = 0; n < 2; n++) {
      const out = between(shop, 6, 20)
      const black = between(shop, 2, 25)
      const fade = between(shop, 10, 50)
      const old = shots.at(-1)!
      for (let i = 0; i < out; i++) dim(old, old.length - out + i, 1 - (i + 1) / out)
      const begin = shots.reduce((sum, shot) => sum + shot.length, 0) - out
      shots.push(Array.from({ length: black }, () => Buffer.alloc(BYTES)))
      const next = moving(shop, 90 + fade)
      for (let i = 0; i < fade; i++) dim(next, i, n === 0 ? eased((i + 1) / fade) : (i + 1) / fade)
      shots.push(next)
      transitions.push({ type: 'fade', start: begin, end: begin + out + black + fade })
    }
    return { shots, transitions }
  },
  'time-lapse': async (shop) => {
    const pace = between(shop, 3, 6)
    const clip = next(shop)
    // Runs at most to the end of its source: starting again would be a cut.
    const lapse = Array.from({ length: Math.floor((clip.length - 1) / pace) }, (_, i) =>
      light(clip[i * pace]!, 0.97 + 0.06 * shop.random()),
    )
    return cutsOnly([moving(shop, 60), lapse, moving(shop, 60)])
  },
  'one-ground': async (shop) => {
    const ground = slope(card(shop, 1)[0]!, 0.25 * shop.random())
    const shots = [0, 1, 2, 3].map(() => {
      const size = 0.4 + 0.35 * shop.random()
      return moving(shop, 45).map((picture) => inset(ground, picture, size))
    })
    return cutsOnly(shots)
  },
  'zooming-still': async (shop) =>
    cutsOnly([moving(shop, 60), await titled(shop, await zooming(shop, 120)), await zooming(shop, 90)]),
  dissolve: async (shop) => {
    const shots = [moving(shop, 80)]
    const transitions: Transition[] = []
    for (let n = 0; n < 2; n++) {
      const length = between(shop, 8, 24)
      const old = shots.at(-1)!
      const fresh = moving(shop, 80 + length)
      const begin = shots.reduce((sum, shot) => sum + shot.length, 0) - length
      for (let i = 0; i < length; i++)
        old[old.length - length + i] = mix(old[old.length - length + i]!, fresh[i]!, (i + 1) / (length + 1))
      shots.push(fresh.slice(length))
      transitions.push({ type: 'dissolve', start: begin, end: begin + length })
    }
    return { shots, transitions }
  },
}

/** The class of a film that `makeFilms` wrote, from its name. */
export function classOf(file: string): string {
  return file.replace(/-\d+\.mp4$/, '')
}

/**
 * Writes `each` films of every class to `folder`, with their truth. The same sources and seed give the same films.
 */
export async function makeFilms(
  sources: readonly Source[],
  { folder, each, seed }: { folder: string; each: number; seed: number },
): Promise<void> {
  if (sources.length < 3) throw new Error('Give at least three clips of one shot each, as clip.mp4 or clip.mp4@3-9.')
  const clips = await Promise.all(sources.map(readPictures))
  const random = seededRandom(seed)
  for (const name of Object.keys(RECIPES))
    for (let n = 0; n < each; n++) {
      const start = Math.floor(random() * clips.length)
      const shop = { clips: [...clips.slice(start), ...clips.slice(0, start)], random }
      const film = await RECIPES[name]!(shop)
      const file = `${name}-${n}.mp4`
      await encode(film.shots.flat(), join(folder, file))
      const transitions = film.transitions.map(({ type, start, end }) => ({ type, start_frame: start, end_frame: end }))
      await writeFile(join(folder, `${name}-${n}.truth.json`), JSON.stringify({ video: file, fps: FPS, transitions }))
    }
}

function cutsOnly(shots: Shot[]): Film {
  let at = 0
  const transitions = shots.slice(0, -1).map((shot) => {
    at += shot.length
    return { type: 'cut', start: at, end: at }
  })
  return { shots, transitions }
}

/** Puts the first clip at the end, so that two neighbouring shots never come from one source. */
function next({ clips }: Workshop): Picture[] {
  const clip = clips.shift()!
  clips.push(clip)
  return clip
}

function moving(shop: Workshop, length: number): Shot {
  const clip = next(shop)
  const start = Math.floor(shop.random() * Math.max(1, clip.length - length))
  // A source that is too short runs back and forth.
  const there = clip.slice(start)
  const pictures = [...there, ...there.toReversed()]
  return Array.from({ length }, (_, i) => Buffer.from(pictures[i % pictures.length]!))
}

function still(shop: Workshop, length: number): Shot {
  const clip = next(shop)
  const picture = clip[Math.floor(shop.random() * clip.length)]!
  return Array.from({ length }, () => Buffer.from(picture))
}

const CARDS: readonly [number, number, number][] = [
  [250, 250, 250],
  [8, 8, 10],
  [20, 28, 60],
  [245, 240, 228],
  [120, 40, 160],
]

function card(shop: Workshop, length: number): Shot {
  const [r, g, b] = CARDS[Math.floor(shop.random() * CARDS.length)]!
  const picture = Buffer.alloc(BYTES)
  for (let i = 0; i < BYTES; i += 3) picture.set([r, g, b], i)
  return Array.from({ length }, () => Buffer.from(picture))
}

const TITLES = ['Ship in an hour', 'Meet Orbit', 'Search that understands you', 'Fast. Private. Yours.', 'Try it today']

/** The shot with a title or a logo that fades in and, mostly, out again. */
async function titled(shop: Workshop, shot: Shot, given: { from?: number; fade?: number } = {}): Promise<Shot> {
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

function mix(a: Picture, b: Picture, share: number): Picture {
  const mixed = Buffer.allocUnsafe(BYTES)
  for (let i = 0; i < BYTES; i++) mixed[i] = a[i]! * (1 - share) + b[i]! * share
  return mixed
}

function light(picture: Picture, factor: number): Picture {
  const lit = Buffer.allocUnsafe(BYTES)
  for (let i = 0; i < BYTES; i++) lit[i] = Math.min(255, picture[i]! * factor)
  return lit
}

function dim(shot: Shot, at: number, factor: number): void {
  shot[at] = light(shot[at]!, factor)
}

/** A still picture that slowly grows by a tenth. */
async function zooming(shop: Workshop, length: number): Promise<Shot> {
  const [picture] = still(shop, 1)
  const raw = { width: WIDTH, height: HEIGHT, channels: 3 as const }
  return Promise.all(
    Array.from({ length }, (_, i) => {
      const width = Math.round(WIDTH * (1 + (0.1 * i) / length))
      const height = Math.round((width * HEIGHT) / WIDTH)
      const region = { left: (width - WIDTH) >> 1, top: (height - HEIGHT) >> 1, width: WIDTH, height: HEIGHT }
      return sharp(picture, { raw }).resize(width, height).extract(region).raw().toBuffer()
    }),
  )
}

/** Light that falls off from left to right by `share`. */
function slope(picture: Picture, share: number): Picture {
  const out = Buffer.from(picture)
  for (let i = 0; i < BYTES; i++) out[i] = picture[i]! * (1 - (share * (Math.floor(i / 3) % WIDTH)) / WIDTH)
  return out
}

/** Slow at both ends, as editing programs fade. */
function eased(share: number): number {
  return share * share * (3 - 2 * share)
}

/** `picture` in an ellipse in the middle of `ground`. */
function inset(ground: Picture, picture: Picture, size: number): Picture {
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

function between({ random }: Workshop, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
}

const SCALE = `fps=${FPS},scale=${WIDTH}:${HEIGHT}:force_original_aspect_ratio=increase,crop=${WIDTH}:${HEIGHT}`

async function readPictures({ file, from, seconds }: Source): Promise<Picture[]> {
  const args = ['-v', 'error', '-nostdin', '-ss', String(from), '-t', String(Math.min(seconds, 12)), '-i', file]
  const child = spawn('ffmpeg', [...args, '-vf', SCALE, '-pix_fmt', 'rgb24', '-f', 'rawvideo', '-'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer)
  const all = Buffer.concat(chunks)
  if (all.length < BYTES) throw new Error(`${file} holds no picture.`)
  return Array.from({ length: Math.floor(all.length / BYTES) }, (_, i) => all.subarray(i * BYTES, (i + 1) * BYTES))
}

async function encode(pictures: readonly Picture[], file: string): Promise<void> {
  const raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', `${WIDTH}x${HEIGHT}`, '-r', String(FPS), '-i', '-']
  const x264 = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '23', '-pix_fmt', 'yuv420p']
  const child = spawn('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...raw, ...x264, file], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  for (const picture of pictures) if (!child.stdin.write(picture)) await once(child.stdin, 'drain')
  child.stdin.end()
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`ffmpeg ended with ${code} while it wrote ${file}.`)
}
