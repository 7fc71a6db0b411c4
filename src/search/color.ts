import { COLOR_NAMES, type ColorName } from './attribute-words.ts'

/**
 * Colour as the wall's filter sees it. Pure.
 * OKLab (Björn Ottosson, 2020) is cut into cells, which both engines can index with the same result.
 * A frame is near a colour when enough of its area lies around the centre of that colour's cell.
 */

/** Edge of a cell. */
const STEP = 0.1
/** Distance at which a colour no longer counts. At half of it, it counts half. */
const REACH = 0.16
/** The same in cells, in each direction. */
const AROUND = Math.ceil(REACH / STEP)
/** Least sum of area × nearness. */
const ENOUGH = 0.08

export interface Oklab {
  l: number
  a: number
  b: number
}

export function toOklab(hex: string): Oklab {
  const value = Number.parseInt(hex.slice(1), 16)
  const linear = (channel: number) => {
    const c = channel / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }
  const r = linear((value >> 16) & 255)
  const g = linear((value >> 8) & 255)
  const b = linear(value & 255)
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return {
    l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    a: 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    b: 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  }
}

export function distance(one: Oklab, other: Oklab): number {
  const l = one.l - other.l
  const a = one.a - other.a
  const b = one.b - other.b
  return Math.sqrt(l * l + a * a + b * b)
}

const index = (value: number) => Math.round(value / STEP)
// Eleven steps of lightness, and nine each of a and b from -0.4 to 0.4, hold every sRGB colour and its surroundings.
const pack = (l: number, a: number, b: number) => (l * 9 + (a + 4)) * 9 + (b + 4)
const CELLS = 11 * 9 * 9

/** The cell of a colour: the filter searches for it. */
export function cellOf(hex: string): number {
  const { l, a, b } = toOklab(hex)
  return pack(index(l), index(a), index(b))
}

/** The cells that a palette is near to, sorted: a document holds them. */
export function cellsOf(palette: readonly string[], shares: readonly number[]): number[] {
  const weights = new Float64Array(CELLS)
  const total = shares.reduce((sum, share) => sum + share, 0) || 1
  palette.forEach((hex, n) => {
    const color = toOklab(hex)
    const share = (shares[n] ?? 0) / total
    // Runs twice for every frame, so the loops skip cells out of reach.
    for (let l = Math.max(0, index(color.l) - AROUND); l <= Math.min(10, index(color.l) + AROUND); l++) {
      const dl = color.l - l * STEP
      for (let a = Math.max(-4, index(color.a) - AROUND); a <= Math.min(4, index(color.a) + AROUND); a++) {
        const da = color.a - a * STEP
        for (let b = Math.max(-4, index(color.b) - AROUND); b <= Math.min(4, index(color.b) + AROUND); b++) {
          const db = color.b - b * STEP
          const square = dl * dl + da * da + db * db
          if (square >= REACH * REACH) continue
          weights[pack(l, a, b)]! += (1 - Math.sqrt(square) / REACH) * share
        }
      }
    }
  })
  const cells: number[] = []
  for (let cell = 0; cell < CELLS; cell++) if (weights[cell]! >= ENOUGH) cells.push(cell)
  return cells
}

/** How alike two palettes are, 0–1: each colour's area against the nearest colours of the other, both ways. */
export function paletteLikeness(
  one: { palette: readonly string[]; palette_shares: readonly number[] },
  other: { palette: readonly string[]; palette_shares: readonly number[] },
): number {
  const a = one.palette.map((hex, n) => ({ color: toOklab(hex), share: one.palette_shares[n] ?? 0 }))
  const b = other.palette.map((hex, n) => ({ color: toOklab(hex), share: other.palette_shares[n] ?? 0 }))
  return (towards(a, b) + towards(b, a)) / 2
}

type Weighted = { color: Oklab; share: number }[]

function towards(from: Weighted, to: Weighted): number {
  let sum = 0
  let area = 0
  for (const { color, share } of from) {
    let best = 0
    for (const target of to) {
      const near = Math.max(0, 1 - distance(color, target.color) / 0.25)
      // A match in a much smaller area counts less.
      best = Math.max(best, near * Math.min(1, (target.share + 0.05) / (share + 0.05)))
    }
    sum += best * share
    area += share
  }
  return area > 0 ? sum / area : 0
}

/** Share of the area from which a colour is one of the picture. Letters in black or white fill little of it. */
const NAMED_SHARE = 0.05
const NAMED_PLAIN_SHARE = 0.02
/** Share from which a picture is mostly of a colour. */
const MOSTLY = 0.3

/** What people call the colours of a palette, in the order of the list. `mostly`: those that fill much of a picture. */
export function colorNames(
  palette: readonly string[],
  shares: readonly number[],
  { mostly = false } = {},
): ColorName[] {
  const total = shares.reduce((sum, share) => sum + share, 0) || 1
  const area = new Map<ColorName, number>()
  palette.forEach((hex, n) => {
    const color = toPolar(toOklab(hex))
    for (const name of [colorName(color), ...familiesOf(color)])
      area.set(name, (area.get(name) ?? 0) + (shares[n] ?? 0) / total)
  })
  const least = (name: ColorName) => {
    if (name in FAMILIES) return FAMILIES[name as Family].least
    if (mostly) return MOSTLY
    return name === 'black' || name === 'white' ? NAMED_PLAIN_SHARE : NAMED_SHARE
  }
  return COLOR_NAMES.filter((name) => (area.get(name) ?? 0) >= least(name))
}

/** Below this a colour is a grey. */
const GREY = 0.035
const between = (value: number, from: number, to: number) => value >= from && value < to

/** What a picture is called that has `least` of its area in such colours. Set by hand on the sample clips. */
const FAMILIES = {
  warm: { least: 0.4, holds: ({ chroma, hue }: Polar) => chroma >= GREY && (hue < 116 || hue >= 345) },
  cool: { least: 0.4, holds: ({ chroma, hue }: Polar) => chroma >= GREY && between(hue, 168, 300) },
  pastel: { least: 0.4, holds: ({ l, chroma }: Polar) => l >= 0.78 && between(chroma, 0.025, 0.11) },
  vivid: { least: 0.25, holds: ({ chroma }: Polar) => chroma >= 0.13 },
  monochrome: { least: 0.98, holds: ({ chroma }: Polar) => chroma < GREY },
} as const satisfies Partial<Record<ColorName, { least: number; holds: (color: Polar) => boolean }>>
type Family = keyof typeof FAMILIES

/** OKLab by angle: the hue in degrees. */
interface Polar {
  l: number
  chroma: number
  hue: number
}

const toPolar = ({ l, a, b }: Oklab): Polar => ({
  l,
  chroma: Math.hypot(a, b),
  hue: ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360,
})

const familiesOf = (color: Polar): Family[] =>
  (Object.keys(FAMILIES) as Family[]).filter((family) => FAMILIES[family].holds(color))

/** A value of the filter by colour: a name, or else a hex value. */
export const isColorName = (value: string): value is ColorName => (COLOR_NAMES as readonly string[]).includes(value)

/** Hues in degrees of OKLab, each up to the next. */
const HUES: readonly (readonly [number, ColorName])[] = [
  [8, 'pink'],
  [42, 'red'],
  [78, 'orange'],
  [116, 'yellow'],
  [168, 'green'],
  [215, 'teal'],
  [282, 'blue'],
  [325, 'purple'],
  [360, 'pink'],
]

function colorName({ l, chroma, hue }: Polar): ColorName {
  if (l < 0.22) return 'black'
  if (chroma < GREY) {
    if (l > 0.9) return 'white'
    return l < 0.3 ? 'black' : 'grey'
  }
  const name = HUES.find(([below]) => hue < below)?.[1] ?? 'pink'
  const isMuddy = chroma < 0.09 || (l < 0.62 && chroma < 0.13)
  return (name === 'orange' || name === 'red') && isMuddy ? 'brown' : name
}
