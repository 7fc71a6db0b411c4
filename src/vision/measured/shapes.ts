import { INK_COLUMNS, INK_ROWS, type Raster } from './picture.ts'

/** A region of one colour, or of a smooth gradient, on a drawn ground. Places are shares of the picture. */
export interface Shape {
  x: number
  y: number
  width: number
  height: number
  /** Height ÷ width in pixels. */
  aspect: number
  /** Share of its box that it covers. */
  fill: number
  /** Share of its box's rim, without the corners, that it covers: near 1 for panels, also for those with content. */
  rim: number
}

/** The shapes of a picture on its ground. */
export interface Drawing {
  /** Share of the picture that is ground. */
  ground: number
  /** The colour of the upper left corner, `#rrggbb`. */
  groundColour: string
  /** The largest boxes first. */
  shapes: Shape[]
  /** The share that is not ground of each cell of a 32×18 grid, by rows, 0–100. */
  ink: number[]
}

const COLUMNS = 320
/** How much a region may change from one pixel to its neighbour, and how far a ground's colours lie from a corner's. */
const STEP = 7
const FROM_CORNER = 26
/** Specks and small letters have fewer pixels. */
const LEAST = 40
const MOST_SHAPES = 80

/** Splits a picture into regions: about 15 ms. */
export function measureDrawing(raster: Raster): Drawing {
  const { rgb, width, height } = shrink(raster)
  const corners = [2, height - 3].flatMap((y) => [y * width + 2, y * width + width - 3])
  const seen = new Uint8Array(width * height)
  const isInk = new Uint8Array(width * height).fill(1)
  const shapes: Shape[] = []
  let ground = 0
  for (let from = 0; from < seen.length; from++) {
    if (seen[from] === 1) continue
    const region = grow(from, { rgb, width, height }, seen)
    const isGround = corners.some((corner) => apart(rgb, from, corner) <= FROM_CORNER) && reaches(region, width, height)
    if (isGround || corners.every((corner) => apart(rgb, from, corner) <= STEP)) {
      ground += region.pixels.length
      for (const at of region.pixels) isInk[at] = 0
    } else if (region.pixels.length >= LEAST) shapes.push(toShape(region, width, height))
  }
  shapes.sort((a, b) => b.width * b.height - a.width * a.height)
  const ink = countInk(isInk, width, height)
  const groundColour = `#${Buffer.from(rgb.subarray(corners[0]! * 3, corners[0]! * 3 + 3)).toString('hex')}`
  return { ground: ground / seen.length, groundColour, shapes: shapes.slice(0, MOST_SHAPES), ink }
}

function countInk(isInk: Uint8Array, width: number, height: number): number[] {
  const ink = new Uint32Array(INK_COLUMNS * INK_ROWS)
  const all = new Uint32Array(INK_COLUMNS * INK_ROWS)
  for (let at = 0; at < isInk.length; at++) {
    const row = Math.floor((Math.floor(at / width) * INK_ROWS) / height)
    const cell = row * INK_COLUMNS + Math.floor(((at % width) * INK_COLUMNS) / width)
    all[cell]!++
    ink[cell]! += isInk[at]!
  }
  return Array.from(ink, (count, cell) => Math.round((count / Math.max(1, all[cell]!)) * 100))
}

interface Grid {
  rgb: Uint8Array
  width: number
  height: number
}

function shrink({ data, width, height }: Raster): Grid {
  const columns = Math.min(COLUMNS, width)
  const rows = Math.max(1, Math.round((height * columns) / width))
  const rgb = new Uint8Array(columns * rows * 3)
  for (let y = 0, to = 0; y < rows; y++) {
    const line = Math.floor(((y + 0.5) * height) / rows) * width
    for (let x = 0; x < columns; x++, to += 3) {
      const from = (line + Math.floor(((x + 0.5) * width) / columns)) * 3
      rgb.set(data.subarray(from, from + 3), to)
    }
  }
  return { width: columns, height: rows, rgb }
}

function apart(rgb: Uint8Array, a: number, b: number): number {
  const [i, j] = [a * 3, b * 3]
  const red = Math.abs(rgb[i]! - rgb[j]!)
  const green = Math.abs(rgb[i + 1]! - rgb[j + 1]!)
  return Math.max(red, green, Math.abs(rgb[i + 2]! - rgb[j + 2]!))
}

interface Region {
  pixels: number[]
  left: number
  top: number
  right: number
  bottom: number
}

function grow(from: number, { rgb, width, height }: Grid, seen: Uint8Array): Region {
  const region: Region = { pixels: [from], left: width, top: height, right: 0, bottom: 0 }
  const { pixels } = region
  seen[from] = 1
  for (let n = 0; n < pixels.length; n++) {
    const at = pixels[n]!
    const x = at % width
    const y = (at - x) / width
    if (x < region.left) region.left = x
    if (x > region.right) region.right = x
    if (y < region.top) region.top = y
    if (y > region.bottom) region.bottom = y
    if (x > 0) visit(at - 1, at)
    if (x < width - 1) visit(at + 1, at)
    if (y > 0) visit(at - width, at)
    if (y < height - 1) visit(at + width, at)
  }
  return region

  function visit(next: number, at: number): void {
    if (seen[next] === 1 || apart(rgb, at, next) > STEP) return
    seen[next] = 1
    pixels.push(next)
  }
}

/** Ground touches at least two borders of the picture. */
function reaches({ left, top, right, bottom }: Region, width: number, height: number): boolean {
  return [left === 0, top === 0, right === width - 1, bottom === height - 1].filter(Boolean).length >= 2
}

function toShape({ pixels, left, top, right, bottom }: Region, width: number, height: number): Shape {
  const [w, h] = [right - left + 1, bottom - top + 1]
  // Round corners are no part of the rim: a quarter of the shorter side is left out at each end.
  const round = Math.floor(Math.min(w, h) / 4)
  const border = Math.max(1, Math.min(2, Math.floor(Math.min(w, h) / 4)))
  const sides = [new Set<number>(), new Set<number>(), new Set<number>(), new Set<number>()]
  for (const at of pixels) {
    const x = at % width
    const y = (at - x) / width
    const isAcross = x >= left + round && x <= right - round
    const isAlong = y >= top + round && y <= bottom - round
    if (isAcross && y < top + border) sides[0]!.add(x)
    if (isAcross && y > bottom - border) sides[1]!.add(x)
    if (isAlong && x < left + border) sides[2]!.add(y)
    if (isAlong && x > right - border) sides[3]!.add(y)
  }
  const lengths = [w - 2 * round, w - 2 * round, h - 2 * round, h - 2 * round]
  return {
    x: left / width,
    y: top / height,
    width: w / width,
    height: h / height,
    aspect: h / w,
    fill: pixels.length / (w * h),
    rim: Math.min(...sides.map((side, n) => side.size / Math.max(1, lengths[n]!))),
  }
}
