import { GREY, type Oklab, PLAIN_COLORS, type Polar, plainColor, toOklab, toPolar } from '../vocabulary.ts'

/**
 * Colour as the wall's filter sees it. Pure.
 * OKLab is cut into cells, which both engines can index with the same result.
 * A frame is near a colour when enough of its area lies around the centre of that colour's cell.
 */

/** The names of colours in a palette, then what the picture as a whole is called by its colours. */
export const COLOR_NAMES = [...PLAIN_COLORS, 'warm', 'cool', 'pastel', 'vivid', 'monochrome'] as const
type ColorName = (typeof COLOR_NAMES)[number]

/** Edge of a cell. */
const STEP = 0.1
/** Distance at which a colour no longer counts. At half of it, it counts half. */
const REACH = 0.16
/** The same in cells, in each direction. */
const AROUND = Math.ceil(REACH / STEP)
/** Least sum of area × nearness. */
const ENOUGH = 0.08

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

interface Colored {
  palette: readonly string[]
  palette_shares: readonly number[]
  /** Share of its pixels that are no grey. */
  colored_share: number
}

/** Share of the area from which a colour is one of the picture. Letters in black or white fill little of it. */
const NAMED_SHARE = 0.05
const NAMED_PLAIN_SHARE = 0.02
/** Share from which a picture is mostly of a colour. */
const MOSTLY = 0.3

/** Share of coloured pixels up to which a picture is black and white. Set by hand on the sample clips. */
const NEARLY_NONE = 0.0035

/** What people call the colours of a picture, in the order of the list. `mostly`: those that fill much of it. */
export function colorNames(
  { palette, palette_shares: shares, colored_share }: Colored,
  { mostly = false } = {},
): ColorName[] {
  const total = shares.reduce((sum, share) => sum + share, 0) || 1
  const area = new Map<ColorName, number>()
  palette.forEach((hex, n) => {
    const color = toPolar(toOklab(hex))
    for (const name of [plainColor(color), ...familiesOf(color)])
      area.set(name, (area.get(name) ?? 0) + (shares[n] ?? 0) / total)
  })
  const least = (name: ColorName) => {
    if (name in FAMILIES) return FAMILIES[name as Family].least
    if (mostly) return MOSTLY
    return name === 'black' || name === 'white' ? NAMED_PLAIN_SHARE : NAMED_SHARE
  }
  // A palette has lost the little colour that a picture may have.
  const isOne = (name: ColorName) =>
    name === 'monochrome' ? colored_share <= NEARLY_NONE : (area.get(name) ?? 0) >= least(name)
  return COLOR_NAMES.filter(isOne)
}

const between = (value: number, from: number, to: number) => value >= from && value < to

/** What a picture is called that has `least` of its area in such colours. Set by hand on the sample clips. */
const FAMILIES = {
  warm: { least: 0.4, holds: ({ chroma, hue }: Polar) => chroma >= GREY && (hue < 116 || hue >= 345) },
  cool: { least: 0.4, holds: ({ chroma, hue }: Polar) => chroma >= GREY && between(hue, 168, 300) },
  pastel: { least: 0.4, holds: ({ l, chroma }: Polar) => l >= 0.78 && between(chroma, 0.025, 0.11) },
  vivid: { least: 0.25, holds: ({ chroma }: Polar) => chroma >= 0.13 },
} as const satisfies Partial<Record<ColorName, { least: number; holds: (color: Polar) => boolean }>>
type Family = keyof typeof FAMILIES

const familiesOf = (color: Polar): Family[] =>
  (Object.keys(FAMILIES) as Family[]).filter((family) => FAMILIES[family].holds(color))

/** A value of the filter by colour: a name, or else a hex value. */
export const isColorName = (value: string): value is ColorName => (COLOR_NAMES as readonly string[]).includes(value)
