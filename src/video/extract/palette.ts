import { GREY, oklabOf } from '../../vocabulary.ts'

const COLOURS = 5
const MIN_SEED_DISTANCE = 0.09

/**
 * Five colours by area: k-means in OKLab. The seeds are the commonest colours that lie apart, so that the same picture
 * always gives the same palette. A picture of fewer colours repeats its last one with share 0. `colored`: the share of
 * pixels that are no grey, which five colours hide.
 */
export function measurePalette(rgb: Uint8Array): { palette: string[]; shares: number[]; colored: number } {
  const colours = countColours(rgb)
  const centres = seedCentres(colours)
  let clusters: Float64Array = new Float64Array()
  for (let round = 0; round < 8; round++) {
    clusters = sumClusters(colours, centres)
    for (let c = 0; c < centres.length / 3; c++) {
      const count = clusters[c * CLUSTER]!
      if (count > 0) for (let k = 0; k < 3; k++) centres[c * 3 + k] = clusters[c * CLUSTER + 1 + k]! / count
    }
  }
  const total = rgb.length / 3
  const palette: string[] = []
  const shares: number[] = []
  const order = Array.from({ length: centres.length / 3 }, (_, c) => c * CLUSTER).sort(
    (a, b) => clusters[b]! - clusters[a]!,
  )
  for (const at of order) {
    const count = clusters[at]!
    if (count === 0) continue
    palette.push(toHex(clusters[at + 4]! / count, clusters[at + 5]! / count, clusters[at + 6]! / count))
    shares.push(toShare(count / total))
  }
  while (palette.length < COLOURS) {
    palette.push(palette.at(-1) ?? '#000000')
    shares.push(0)
  }
  return { palette, shares, colored: toShare(countColoured(colours) / total) }
}

const toShare = (share: number) => Math.round(share * 10_000) / 10_000

// Each loop over many numbers is a small function: as one large function they took longer to optimise than to run.

/**
 * The picture's colours in 15 bits, the most frequent first. Each has `CLUSTER` numbers: the count, OKLab of the mean,
 * and the sums of red, green and blue.
 */
function countColours(rgb: Uint8Array): Float64Array {
  const bins = new Uint32Array(4 << 15)
  const keys: number[] = []
  for (let i = 0; i < rgb.length; i += 3) {
    const r = rgb[i]!
    const g = rgb[i + 1]!
    const b = rgb[i + 2]!
    const key = ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3)
    const at = key << 2
    if (bins[at] === 0) keys.push(key)
    bins[at]! += 1
    bins[at + 1]! += r
    bins[at + 2]! += g
    bins[at + 3]! += b
  }
  keys.sort((a, b) => bins[b << 2]! - bins[a << 2]! || a - b)
  const colours = new Float64Array(keys.length * CLUSTER)
  for (const [i, key] of keys.entries()) {
    const [count, r, g, b] = bins.subarray(key << 2, (key << 2) + 4) as unknown as [number, number, number, number]
    const { l, a, b: blue } = oklabOf(Math.round(r / count), Math.round(g / count), Math.round(b / count))
    colours.set([count, l, a, blue, r, g, b], i * CLUSTER)
  }
  return colours
}

/** Numbers per colour or cluster: the count, three of OKLab, three of RGB. */
const CLUSTER = 7

function countColoured(colours: Float64Array): number {
  let count = 0
  for (let at = 0; at < colours.length; at += CLUSTER)
    if (Math.hypot(colours[at + 2]!, colours[at + 3]!) >= GREY) count += colours[at]!
  return count
}

function seedCentres(colours: Float64Array): Float64Array {
  const centres: number[] = []
  for (const distance of [MIN_SEED_DISTANCE, MIN_SEED_DISTANCE / 3, 0.004]) {
    for (let at = 0; at < colours.length && centres.length < COLOURS * 3; at += CLUSTER) {
      if (nearestCentre(colours, at, centres).distance >= distance * distance)
        centres.push(colours[at + 1]!, colours[at + 2]!, colours[at + 3]!)
    }
  }
  return Float64Array.from(centres)
}

function sumClusters(colours: Float64Array, centres: Float64Array): Float64Array {
  const clusters = new Float64Array((centres.length / 3) * CLUSTER)
  for (let at = 0; at < colours.length; at += CLUSTER) {
    const to = nearestCentre(colours, at, centres).centre * CLUSTER
    const count = colours[at]!
    clusters[to]! += count
    for (let k = 1; k < 4; k++) clusters[to + k]! += colours[at + k]! * count
    for (let k = 4; k < CLUSTER; k++) clusters[to + k]! += colours[at + k]!
  }
  return clusters
}

function nearestCentre(
  colours: Float64Array,
  at: number,
  centres: ArrayLike<number>,
): { centre: number; distance: number } {
  let centre = 0
  let distance = Number.POSITIVE_INFINITY
  for (let c = 0; c < centres.length; c += 3) {
    const d =
      (colours[at + 1]! - centres[c]!) ** 2 +
      (colours[at + 2]! - centres[c + 1]!) ** 2 +
      (colours[at + 3]! - centres[c + 2]!) ** 2
    if (d < distance) {
      distance = d
      centre = c / 3
    }
  }
  return { centre, distance }
}

function toHex(r: number, g: number, b: number): string {
  return `#${[r, g, b].map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`
}
