/** Facts about one picture, measured on a copy 640 wide. Shares are 0–1. */
export interface Picture {
  luma: number
  /** Share of the commonest colour, of 4096. */
  commonest: number
  /** How many of 4096 colours hold at least a thousandth of the picture. */
  colours: number
  /** Share of 8×8 blocks without any detail: drawn pictures have many, filmed ones few. */
  flat: number
  /** Share of blocks with weak detail: noise, cloth, skin, foliage. */
  soft: number
  /** Share of blocks whose pixels swing between two levels as letters do. */
  letters: number
  /** Places where four or more letter blocks follow each other at one bright or dark level, as a line of print does. */
  textRuns: number
  /** The longest such line, blocks. */
  longestRun: number
  /** The share of pixels that are not of the commonest colour in each cell of a 32×18 grid, by rows, 0–100. */
  ink: number[]
  /** The commonest colour, and the commonest of those that differ from it clearly: `#rrggbb`. */
  groundColour: string
  inkColour: string | null
}

export const INK_COLUMNS = 32
export const INK_ROWS = 18

export interface Raster {
  data: Uint8Array
  width: number
  height: number
}

const BLOCK = 8
/** Luma range of a block: up to the first it is flat, from the second on it may hold letters. */
const FLAT_RANGE = 8
const LETTER_RANGE = 56
/** The shortest run of letter blocks that counts, and how much its bright or dark level may vary. */
const LETTER_RUN = 4
const LETTER_LEVEL = 24

/** Measures an RGB raster: about 3 ms for 640×360. */
export function measurePicture({ data, width, height }: Raster): Picture {
  const pixels = width * height
  const luma = new Uint8Array(pixels)
  const histogram = new Uint32Array(4096)
  let lumaSum = 0
  for (let i = 0, p = 0; i < pixels; i++, p += 3) {
    const r = data[p]!
    const g = data[p + 1]!
    const b = data[p + 2]!
    const y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    luma[i] = y
    lumaSum += y
    histogram[((r >> 4) << 8) | ((g >> 4) << 4) | (b >> 4)]!++
  }
  let ground = 0
  let colours = 0
  for (let colour = 0; colour < histogram.length; colour++) {
    const count = histogram[colour]!
    if (count > histogram[ground]!) ground = colour
    if (count * 1000 >= pixels) colours++
  }
  return {
    luma: lumaSum / pixels,
    commonest: histogram[ground]! / pixels,
    colours,
    ...measureBlocks(luma, width, height),
    ink: measureInk({ data, width, height }, ground),
    groundColour: toHex(ground),
    inkColour: inkColourOf(histogram, ground),
  }
}

/** The middle of a step of 16, stretched so that black and white stay themselves. */
function toHex(colour: number): string {
  const channels = [colour >> 8, (colour >> 4) & 15, colour & 15]
  return `#${channels.map((step) => (step * 17).toString(16).padStart(2, '0')).join('')}`
}

function inkColourOf(histogram: Uint32Array, ground: number): string | null {
  let ink = -1
  for (let colour = 0; colour < histogram.length; colour++) {
    const isClear = [8, 4, 0].some((shift) => Math.abs(((colour >> shift) & 15) - ((ground >> shift) & 15)) > 3)
    if (isClear && histogram[colour]! > (histogram[ink] ?? 0)) ink = colour
  }
  return ink < 0 ? null : toHex(ink)
}

/** How much a channel may differ from the ground colour. The ground is known in steps of 16. */
const GROUND_TOLERANCE = 28

function measureInk({ data, width, height }: Raster, ground: number): number[] {
  const [red, green, blue] = [((ground >> 8) << 4) + 8, (((ground >> 4) & 15) << 4) + 8, ((ground & 15) << 4) + 8]
  const cells = new Uint32Array(INK_COLUMNS * INK_ROWS)
  const columns = Uint8Array.from({ length: width }, (_, x) => Math.floor((x * INK_COLUMNS) / width))
  for (let y = 0, p = 0; y < height; y++) {
    const row = Math.floor((y * INK_ROWS) / height) * INK_COLUMNS
    for (let x = 0; x < width; x++, p += 3) {
      const isGround =
        Math.abs(data[p]! - red) <= GROUND_TOLERANCE &&
        Math.abs(data[p + 1]! - green) <= GROUND_TOLERANCE &&
        Math.abs(data[p + 2]! - blue) <= GROUND_TOLERANCE
      if (!isGround) cells[row + columns[x]!]!++
    }
  }
  const size = (width * height) / cells.length
  return Array.from(cells, (count) => Math.min(100, Math.round((count / size) * 100)))
}

interface Block {
  kind: 'flat' | 'soft' | 'letters' | 'edge'
  min: number
  max: number
}

function measureBlocks(luma: Uint8Array, width: number, height: number) {
  const columns = Math.floor(width / BLOCK)
  const rows = Math.floor(height / BLOCK)
  const counts = { flat: 0, soft: 0, letters: 0, edge: 0 }
  let textRuns = 0
  let longestRun = 0
  for (let row = 0; row < rows; row++) {
    const blocks: Block[] = []
    for (let column = 0; column < columns; column++) {
      const block = measureBlock(luma, width, column * BLOCK, row * BLOCK)
      counts[block.kind]++
      blocks.push(block)
    }
    for (let column = 0; column < columns; column++) {
      const length = runLength(blocks, column)
      if (length >= LETTER_RUN) textRuns++
      if (length > longestRun) longestRun = length
    }
  }
  const total = Math.max(1, rows * columns)
  return { flat: counts.flat / total, soft: counts.soft / total, letters: counts.letters / total, textRuns, longestRun }
}

/** How many letter blocks follow each other from `start` while their bright or their dark level stays the same. */
function runLength(blocks: readonly Block[], start: number): number {
  const bright = { low: 255, high: 0 }
  const dark = { low: 255, high: 0 }
  let end = start
  for (; blocks[end]?.kind === 'letters'; end++) {
    const { min, max } = blocks[end]!
    widen(bright, max)
    widen(dark, min)
    if (bright.high - bright.low > LETTER_LEVEL && dark.high - dark.low > LETTER_LEVEL) break
  }
  return end - start
}

function widen(range: { low: number; high: number }, value: number) {
  range.low = Math.min(range.low, value)
  range.high = Math.max(range.high, value)
}

function measureBlock(luma: Uint8Array, width: number, left: number, top: number): Block {
  let min = 255
  let max = 0
  for (let y = 0; y < BLOCK; y++) {
    const start = (top + y) * width + left
    for (let x = 0; x < BLOCK; x++) {
      const value = luma[start + x]!
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  const range = max - min
  if (range <= FLAT_RANGE) return { kind: 'flat', min, max }
  if (range < LETTER_RANGE) return { kind: 'soft', min, max }
  // Letters cross the middle level several times in a row; an object's edge crosses it once.
  const middle = (min + max) / 2
  let crossings = 0
  for (let y = 0; y < BLOCK; y++) {
    const start = (top + y) * width + left
    for (let x = 1; x < BLOCK; x++) if (luma[start + x]! > middle !== luma[start + x - 1]! > middle) crossings++
  }
  return { kind: crossings >= 8 ? 'letters' : 'edge', min, max }
}

/** A drawn or captured screen: one dominant colour, or a flat gradient, and few others. Filmed pictures have more. */
export function isDrawn({ commonest, colours, flat }: Picture): boolean {
  return colours <= 40 && (commonest >= 0.4 || (commonest >= 0.2 && flat >= 0.5))
}

/** Whether a face may be in it: skin is soft, and letters on a flat ground are not. */
export function mayHoldFace(picture: Picture): boolean {
  return !isDrawn(picture) || picture.soft >= 0.005
}

/**
 * Whether the picture is worth the second that reading takes: it has letters in lines of one level. Leaves and cloth in
 * a filmed picture form short lines, so more is required there.
 */
export function holdsText(picture: Picture): boolean {
  if (isDrawn(picture)) return picture.textRuns > 0 || picture.letters >= 0.004
  return picture.longestRun >= 6 && picture.textRuns >= 12
}
