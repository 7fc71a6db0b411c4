import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { seededRandom } from '../../test/support/seeded-random.ts'
import { HEIGHT, WIDTH, writeFilm } from './film-pictures.ts'
import { CHANGING_SCENES, GROUNDED_SCENES } from './motion-changes.ts'
import { SCENES, type Scene, type Shape, shapesAt } from './motion-scenes.ts'

/** A stretch of a film, in seconds, in which a composition is complete and at rest. */
export interface Composition {
  from: number
  to: number
  kind: string
  /** Its build-up is cut off just when it is complete: it counts as it was at its fullest. */
  isCutOff: boolean
}

export interface MotionFilm {
  file: string
  fps: number
  compositions: Composition[]
}

const RATES = [24, 25, 30, 50, 60]
/** Films from this seed on are made of what changes in place or moves behind words. */
const FIRST_CHANGING = 201
/** From this one on something is built up over a photograph, a gradient or a ground that moves. */
const FIRST_GROUNDED = 401
const GROUNDS = ['#ffffff', '#f6f1e7', '#0d1117', '#1e1b4b', '#eef4ff', '#101010', '#0b3d2e', '#fde7ef']

/**
 * Makes a film of motion graphics for each seed, or takes it from the folder: scenes that build up, rest and leave,
 * with the truth of every composition. The same seed gives the same film.
 */
export async function makeMotionFilms(folder: string, seeds: readonly number[]): Promise<MotionFilm[]> {
  await mkdir(folder, { recursive: true })
  const films: MotionFilm[] = []
  for (const seed of seeds) {
    const truth = join(folder, `motion-${seed}.json`)
    if (!existsSync(truth)) {
      const file = join(folder, `motion-${seed}.mp4`)
      const film = await makeFilm(seed, file)
      await writeFile(`${truth}.new`, JSON.stringify(film))
      await rename(`${truth}.new`, truth)
    }
    films.push(JSON.parse(await readFile(truth, 'utf8')) as MotionFilm)
  }
  return films
}

interface PlacedScene extends Scene {
  startSec: number
  endSec: number
  ground: string
}

async function makeFilm(seed: number, file: string): Promise<MotionFilm> {
  const random = seededRandom(seed * 7919)
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const fps = one(RATES)
  const changing = seed < FIRST_GROUNDED ? CHANGING_SCENES : GROUNDED_SCENES
  const kinds = seed < FIRST_CHANGING ? SCENES : { ...changing, logo: SCENES.logo! }
  // Every kind comes, in an order of the seed's; the logo is the end.
  const order = Object.keys(kinds)
    .filter((name) => name !== 'logo')
    .sort(() => random() - 0.5)
  if (seed >= FIRST_CHANGING) order.push(...order)
  const scenes: PlacedScene[] = []
  const compositions: Composition[] = []
  let at = 0
  let ground = one(GROUNDS)
  for (const kind of [...order.slice(0, 7), 'logo']) {
    if (random() < 0.3) ground = one(GROUNDS)
    const scene = kinds[kind]!({ random, dark: isDark(ground) })
    for (const { from, to, isCutOff = false } of scene.rests)
      compositions.push({ from: at + from, to: at + to, kind, isCutOff })
    scenes.push({ ...scene, startSec: at, endSec: at + scene.lengthSec, ground })
    // The next scene begins behind this one, or while this one leaves.
    at += scene.lengthSec - (random() < 0.25 ? scene.leaveSec : -0.2 * random())
  }
  const grain = random() < 0.25 ? ['-vf', 'noise=alls=5:allf=t'] : []
  const encode = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', String(20 + Math.floor(random() * 8))]
  const drawn = async function* () {
    let last = { svg: '', picture: Buffer.alloc(0) }
    for (let frame = 0; frame < Math.round(at * fps); frame++) {
      const svg = drawAt(scenes, frame / fps)
      if (svg !== last.svg) last = { svg, picture: await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer() }
      yield last.picture
    }
  }
  await writeFilm(file, drawn(), { fps, coded: [...grain, ...encode, '-pix_fmt', 'yuv420p'] })
  return { file, fps, compositions: await Promise.all(compositions.map((one) => asSeen(one, scenes, fps))) }
}

/** A person sees no difference where fewer pixels differ, and no film shows the rest of what it cuts off. */
const SEEN_PIXELS = 60
const SEEN_OF_CUT_OFF = 600

/** With the frames around the rest that look the same: the last breath of an easing, the first of a leaving. */
async function asSeen(composition: Composition, scenes: readonly PlacedScene[], fps: number): Promise<Composition> {
  const render = (sec: number) =>
    sharp(Buffer.from(drawAt(scenes, sec)))
      .greyscale()
      .raw()
      .toBuffer()
  const seen = { ...composition }
  for (const [end, step] of [
    ['from', -1 / fps],
    ['to', 1 / fps],
  ] as const) {
    const settled = await render(composition[end] - step / 2)
    for (let n = 1; n <= 0.5 * fps; n++) {
      const other = await render(composition[end] + n * step)
      let differing = 0
      for (let i = 0; i < other.length; i++) if (Math.abs(other[i]! - settled[i]!) > 32) differing++
      if (differing > (composition.isCutOff ? SEEN_OF_CUT_OFF : SEEN_PIXELS)) break
      seen[end] = composition[end] + n * step
    }
  }
  return seen
}

function drawAt(scenes: readonly PlacedScene[], sec: number): string {
  const shown = scenes.filter(({ startSec, endSec }) => sec >= startSec && sec < endSec)
  const ground = scenes.findLast(({ startSec }) => sec >= startSec)?.ground ?? scenes[0]!.ground
  const drawn = shown.map((scene) => draw(shapesAt(scene, sec - scene.startSec), scene, sec - scene.startSec))
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}"><rect width="100%" height="100%"
    fill="${ground}"/>${drawn.join('')}</svg>`
}

function draw(shapes: readonly Shape[], { driftShare }: Scene, sec: number): string {
  const grown = 1 + driftShare * sec
  const drift = `translate(${(WIDTH / 2) * (1 - grown)} ${(HEIGHT / 2) * (1 - grown)}) scale(${grown})`
  const inside = shapes.map(
    ({ svg, x, y, opacity, scale }) =>
      `<g opacity="${opacity.toFixed(3)}"
       transform="translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale.toFixed(4)})">${svg}</g>`,
  )
  return `<g transform="${drift}">${inside.join('')}</g>`
}

function isDark(ground: string): boolean {
  return Number.parseInt(ground.slice(1, 3), 16) < 128
}
