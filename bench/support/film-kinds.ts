import type { Transition } from './clips.ts'
import { animated, screen } from './film-drawings.ts'
import {
  BYTES,
  between,
  blurred,
  card,
  dim,
  eased,
  fast,
  flashed,
  inset,
  lengthened,
  light,
  mix,
  moving,
  next,
  type Picture,
  type Shot,
  slid,
  slope,
  slowly,
  titled,
  WAYS,
  type Way,
  type Workshop,
  whipped,
  zooming,
} from './film-pictures.ts'

export interface Film {
  pictures: Picture[]
  transitions: Transition[]
  fps?: number
  /** A filter of ffmpeg that the pictures go through. */
  filter?: string
  /** x264's constant rate factor (default 23). */
  crf?: number
  /** Three pictures of eleven are left out, unevenly. The others keep their times. */
  varying?: boolean
}

/** Puts shots one after the other and writes the transitions down. */
class Reel {
  pictures: Picture[]
  transitions: Transition[] = []

  constructor(first: Shot) {
    this.pictures = [...first]
  }

  cut(shot: Shot): this {
    this.#note('cut', this.pictures.length, 0)
    this.pictures.push(...shot)
    return this
  }

  dissolve(shot: Shot, length: number): this {
    const begin = this.pictures.length - length
    for (let i = 0; i < length; i++)
      this.pictures[begin + i] = mix(this.pictures[begin + i]!, shot[i]!, (i + 1) / (length + 1))
    this.pictures.push(...shot.slice(length))
    this.#note('dissolve', begin, length)
    return this
  }

  push(shot: Shot, length: number, way: Way): this {
    const begin = this.pictures.length - length
    for (let i = 0; i < length; i++)
      this.pictures[begin + i] = slid(this.pictures[begin + i]!, shot[i]!, (i + 1) / (length + 1), way)
    this.pictures.push(...shot.slice(length))
    this.#note('wipe', begin, length)
    return this
  }

  /** `colour` is the level of the blank picture: 0 black, 255 white. */
  fade(shot: Shot, times: { out: number; blank: number; in: number; smooth?: boolean; colour?: number }): this {
    const blank = Buffer.alloc(BYTES, times.colour ?? 0)
    const shown = (share: number) => (times.smooth ? eased(share) : share)
    const begin = this.pictures.length - times.out
    for (let i = 0; i < times.out; i++)
      this.pictures[begin + i] = mix(blank, this.pictures[begin + i]!, 1 - (i + 1) / times.out)
    for (let i = 0; i < times.blank; i++) this.pictures.push(blank)
    const risen = shot.map((picture, i) => (i < times.in ? mix(blank, picture, shown((i + 1) / times.in)) : picture))
    this.pictures.push(...risen)
    this.#note('fade', begin, times.out + times.blank + times.in)
    return this
  }

  #note(type: string, start: number, length: number): void {
    this.transitions.push({ type, start, end: start + length })
  }
}

function cutsOnly([first, ...others]: Shot[]): Film {
  const reel = new Reel(first!)
  for (const shot of others) reel.cut(shot)
  return reel
}

const fadeOf = (shop: Workshop) => ({
  out: between(shop, 6, 20),
  blank: between(shop, 2, 25),
  in: between(shop, 10, 50),
  smooth: shop.random() < 0.5,
})

/** A film of everyday: cuts, a dissolve, a fade and a title. With `times` 2 it has twice the pictures. */
async function everyday(shop: Workshop, times: 1 | 2 = 1): Promise<Reel> {
  const shot = (length: number) => lengthened(moving(shop, length), times)
  const long = (low: number, high: number) => between(shop, low, high) * times
  return new Reel(shot(60))
    .cut(shot(50))
    .dissolve(shot(80), long(10, 20))
    .cut(await titled(shop, shot(80), { fade: long(8, 20) }))
    .fade(shot(90), { out: long(8, 16), blank: long(3, 12), in: long(10, 25) })
    .cut(shot(50))
}

type Recipe = (shop: Workshop) => Promise<Film>

const CLASSES_OF_ERROR: Record<string, Recipe> = {
  'title-over-still': async (shop) =>
    cutsOnly([await titled(shop, stillShot(shop, 150)), await titled(shop, stillShot(shop, 150))]),
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
    return new Reel(first).fade(moving(shop, 140), fadeOf(shop)).fade(moving(shop, 140), fadeOf(shop))
  },
  'fade-under-title': async (shop) =>
    new Reel(moving(shop, 90))
      .fade(await titled(shop, moving(shop, 150), { from: between(shop, 5, 40) }), fadeOf(shop))
      .fade(moving(shop, 120), { ...fadeOf(shop), colour: 255 }),
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
}

const MOVES: Record<string, Recipe> = {
  dissolve: async (shop) => {
    const reel = new Reel(moving(shop, 80))
    for (let n = 0; n < 2; n++) reel.dissolve(moving(shop, 110), between(shop, 8, 24))
    return reel
  },
  'quick-dissolve': async (shop) => {
    const reel = new Reel(fast(shop, 50))
    for (let n = 0; n < 3; n++) {
      const length = between(shop, 3, 8)
      const soft = shop.random() < 0.5 ? between(shop, 4, 10) : 0
      reel.pictures = await blurred(reel.pictures, soft, 'end')
      reel.dissolve(await blurred(fast(shop, 55), soft, 'start'), length)
    }
    return reel
  },
  'cuts-in-motion': async (shop) => cutsOnly([0, 1, 2, 3].map(() => fast(shop, 30))),
  flash: async (shop) => cutsOnly([0, 1, 2].map(() => flashed(shop, moving(shop, 80)))),
  'whip-pan': async (shop) => cutsOnly([await whipped(shop, 80), moving(shop, 50), await whipped(shop, 80)]),
  'crash-zoom': async (shop) =>
    cutsOnly([await zooming(shop, 80, 1, between(shop, 6, 20)), moving(shop, 50), await zooming(shop, 80, 1, 10)]),
  screen: async (shop) => cutsOnly([await screen(shop, 200), moving(shop, 50), await screen(shop, 150)]),
  animation: async (shop) => cutsOnly([await animated(shop, 60), await animated(shop, 50), await animated(shop, 60)]),
}

const PICTURES: Record<string, Recipe> = {
  'at-24': async (shop) => ({ ...(await everyday(shop)), fps: 24 }),
  'at-25': async (shop) => ({ ...(await everyday(shop)), fps: 25 }),
  'at-50': async (shop) => ({ ...(await everyday(shop, 2)), fps: 50 }),
  'at-60': async (shop) => ({ ...(await everyday(shop, 2)), fps: 60 }),
  'at-varying': async (shop) => ({ ...(await everyday(shop)), varying: true }),
  letterbox: async (shop) => ({ ...(await everyday(shop)), filter: 'crop=640:270,pad=640:360:0:45' }),
  portrait: async (shop) => ({ ...(await everyday(shop)), filter: 'crop=202:360,scale=360:640' }),
  dark: async (shop) => ({ ...(await everyday(shop)), filter: 'eq=brightness=-0.08:contrast=0.35:gamma=0.8' }),
  grain: async (shop) => ({ ...(await everyday(shop)), filter: 'noise=alls=28:allf=t' }),
  'low-bitrate': async (shop) => ({ ...(await everyday(shop)), crf: 40 }),
}

/** Pushes to each side. Their shots move: people, pages, drawings. */
const pushes = async (shop: Workshop, length: number): Promise<Film> => {
  const reel = new Reel(moving(shop, 70))
  for (const way of WAYS) reel.push(moving(shop, 70 + length), length, way)
  return reel
}

const SLIDES: Record<string, Recipe> = {
  'slide-9': (shop) => pushes(shop, 9),
  'slide-24': (shop) => pushes(shop, 24),
  'slow-moves': async (shop) => cutsOnly([await slowly(shop, 110), await slowly(shop, 90), await slowly(shop, 110)]),
}

/** Each kind of film, by name. */
export const KINDS: Record<string, Recipe> = { ...CLASSES_OF_ERROR, ...MOVES, ...PICTURES, ...SLIDES }

function stillShot(shop: Workshop, length: number): Shot {
  const clip = next(shop)
  const picture = clip[Math.floor(shop.random() * clip.length)]!
  return Array.from({ length }, () => Buffer.from(picture))
}
