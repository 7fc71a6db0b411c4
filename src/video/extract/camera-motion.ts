import { PICTURE_HEIGHT, PICTURE_WIDTH } from '../shots/features.ts'

/** How the picture as a whole moved from one frame to another, in pixels of 160×90. */
export interface Motion {
  /** Shift of the middle of the picture: negative `x` where the content goes left. */
  x: number
  y: number
  /** 0.01 where everything is one per cent farther from the middle. */
  growth: number
}

/** Blocks are looked for at half size first, by at most `REACH` of its pixels. */
const BLOCK = 16
const REACH = 7
const COLUMNS = PICTURE_WIDTH / BLOCK
const ROWS = Math.floor(PICTURE_HEIGHT / BLOCK)
const TOP = (PICTURE_HEIGHT - ROWS * BLOCK) >> 1
/** The smaller eigenvalue of the mean structure tensor: with less, a block has no texture, or a straight edge alone. */
const TEXTURE = 4
/** Levels a pixel of distance from the expected place costs, for a whole block: lines of text look alike. */
const FAR = 8
const TRIES = 60
/** A block agrees with a motion when it misses it by at most this and a part of its way. */
const TOLERANCE = 0.5
const TOLERANCE_SHARE = 0.08
const LEAST_BLOCKS = 5
const MANY_BLOCKS = 30
const LEAST_SHARE = 0.5

/** A picture, and the same at half size. */
export interface Scaled {
  full: Plane
  half: Plane
}
interface Plane {
  data: Uint8Array
  wide: number
  high: number
  block: number
}

export function scaledPicture(): Scaled {
  const plane = (by: number): Plane => {
    const [wide, high] = [PICTURE_WIDTH / by, PICTURE_HEIGHT / by]
    return { data: new Uint8Array(wide * high), wide, high, block: BLOCK / by }
  }
  return { full: plane(1), half: plane(2) }
}

export function setPicture({ full, half }: Scaled, picture: Uint8Array): void {
  full.data.set(picture)
  for (let row = 0; row < half.high; row++)
    for (let column = 0; column < half.wide; column++) {
      const at = 2 * (row * full.wide + column)
      const below = at + full.wide
      const sum = picture[at]! + picture[at + 1]! + picture[below]! + picture[below + 1]!
      half.data[row * half.wide + column] = (sum + 2) >> 2
    }
}

/** A block that was found again. `x` and `y` count from the middle of the picture. */
interface Match {
  x: number
  y: number
  dx: number
  dy: number
}

/** The motion that most of the picture follows, near what is expected. Null where there is none. */
export function motionBetween(before: Scaled, after: Scaled, expected: Motion): Motion | null {
  const places: { left: number; top: number }[] = []
  for (let n = 0; n < COLUMNS * ROWS; n++) {
    const [left, top] = [(n % COLUMNS) * BLOCK, TOP + Math.floor(n / COLUMNS) * BLOCK]
    if (textureOf(before.full.data, left, top) >= TEXTURE) places.push({ left, top })
  }
  // Where many have texture, every other one tells as much.
  const isEven = ({ left, top }: { left: number; top: number }) => ((left + top - TOP) / BLOCK) % 2 === 0
  const some = places.length > MANY_BLOCKS ? places.filter(isEven) : places
  return fitMotion(some.map(({ left, top }) => findBlock(before, after, left, top, expected)))
}

function textureOf(picture: Uint8Array, left: number, top: number): number {
  let [xx, yy, xy] = [0, 0, 0]
  for (let row = top; row < top + BLOCK - 1; row++)
    for (let at = row * PICTURE_WIDTH + left, end = at + BLOCK - 1; at < end; at++) {
      const gx = picture[at + 1]! - picture[at]!
      const gy = picture[at + PICTURE_WIDTH]! - picture[at]!
      xx += gx * gx
      yy += gy * gy
      xy += gx * gy
    }
  return (xx + yy - Math.sqrt((xx - yy) ** 2 + 4 * xy * xy)) / 2 / (BLOCK - 1) ** 2
}

function findBlock(before: Scaled, after: Scaled, left: number, top: number, expected: Motion): Match {
  const x = left + BLOCK / 2 - PICTURE_WIDTH / 2
  const y = top + BLOCK / 2 - PICTURE_HEIGHT / 2
  const toX = expected.x + expected.growth * x
  const toY = expected.y + expected.growth * y
  const coarse = bestShift(before.half, after.half, left >> 1, top >> 1, { x: toX / 2, y: toY / 2, reach: REACH }, 0, 0)
  const fine = bestShift(before.full, after.full, left, top, { x: toX, y: toY, reach: 1 }, 2 * coarse.x, 2 * coarse.y)
  const at = (dx: number, dy: number) =>
    difference(before.full, after.full, left, top, fine.x + dx, fine.y + dy, Number.POSITIVE_INFINITY)
  const here = at(0, 0)
  if (here === 0) return { x, y, dx: fine.x, dy: fine.y }
  return { x, y, dx: fine.x + lowest(at(-1, 0), here, at(1, 0)), dy: fine.y + lowest(at(0, -1), here, at(0, 1)) }
}

/** The shift around `midX` and `midY` that fits best; far from the expected one costs. */
function bestShift(
  from: Plane,
  to: Plane,
  left: number,
  top: number,
  { x, y, reach }: { x: number; y: number; reach: number },
  midX: number,
  midY: number,
) {
  const far = (FAR * from.block) / BLOCK
  const costOf = (dx: number, dy: number, most: number) => {
    const distance = far * (Math.abs(dx - x) + Math.abs(dy - y))
    return distance >= most ? most : distance + difference(from, to, left, top, dx, dy, most - distance)
  }
  let [bestX, bestY] = [midX, midY]
  let least = costOf(midX, midY, Number.POSITIVE_INFINITY)
  const [nearX, nearY] = [Math.round(x), Math.round(y)]
  if (Math.max(Math.abs(nearX - midX), Math.abs(nearY - midY)) <= reach) {
    const near = costOf(nearX, nearY, least)
    if (near < least) [bestX, bestY, least] = [nearX, nearY, near]
  }
  for (let dy = midY - reach; dy <= midY + reach; dy++)
    for (let dx = midX - reach; dx <= midX + reach; dx++) {
      const cost = costOf(dx, dy, least)
      if (cost < least) [bestX, bestY, least] = [dx, dy, cost]
    }
  return { x: bestX, y: bestY }
}

/** Sum of the absolute differences of a block and its shifted place; infinite outside of the picture. */
function difference(from: Plane, to: Plane, left: number, top: number, dx: number, dy: number, most: number): number {
  const { wide, high, block, data: first } = from
  const second = to.data
  if (left + dx < 0 || top + dy < 0 || left + dx + block > wide || top + dy + block > high)
    return Number.POSITIVE_INFINITY
  const shift = dy * wide + dx
  let sum = 0
  for (let row = top; row < top + block; row++) {
    for (let at = row * wide + left, end = at + block; at < end; at++) {
      const d = second[at + shift]! - first[at]!
      sum += (d ^ (d >> 31)) - (d >> 31)
    }
    if (sum >= most) return sum
  }
  return sum
}

/** Where a parabola through three neighbours has its lowest point, from -0.5 to 0.5. */
function lowest(before: number, here: number, behind: number): number {
  const bend = before + behind - 2 * here
  if (!Number.isFinite(bend) || bend <= 0) return 0
  return Math.max(-0.5, Math.min(0.5, (before - behind) / 2 / bend))
}

/** Shift, growth and turn that most blocks agree on: a sample consensus, then least squares over those that agree. */
function fitMotion(matches: readonly Match[]): Motion | null {
  if (matches.length < LEAST_BLOCKS) return null
  let most: Match[] = []
  // Pairs at equal steps through all of them: the same film gives the same result.
  const pairs = (matches.length * (matches.length - 1)) / 2
  const tries = Math.min(TRIES, pairs)
  for (let n = 0; n < tries; n++) {
    const place = Math.floor(((n + 0.5) * pairs) / tries)
    const second = Math.floor((1 + Math.sqrt(1 + 8 * place)) / 2)
    const model = leastSquares([matches[place - (second * (second - 1)) / 2]!, matches[second]!])
    const agree = matches.filter((match) => agrees(model, match))
    if (agree.length > most.length) most = agree
  }
  return most.length < Math.max(LEAST_BLOCKS, LEAST_SHARE * matches.length) ? null : leastSquares(most)
}

interface Model extends Motion {
  turn: number
}

function agrees({ x, y, growth, turn }: Model, match: Match): boolean {
  const missX = x + growth * match.x - turn * match.y - match.dx
  const missY = y + growth * match.y + turn * match.x - match.dy
  const most = TOLERANCE + TOLERANCE_SHARE * (Math.abs(match.dx) + Math.abs(match.dy))
  return missX * missX + missY * missY <= most * most
}

function leastSquares(matches: readonly Match[]): Model {
  let [x, y, dx, dy] = [0, 0, 0, 0]
  for (const match of matches) {
    x += match.x / matches.length
    y += match.y / matches.length
    dx += match.dx / matches.length
    dy += match.dy / matches.length
  }
  let [growth, turn, weight] = [0, 0, 0]
  for (const match of matches) {
    const [px, py, qx, qy] = [match.x - x, match.y - y, match.dx - dx, match.dy - dy]
    growth += px * qx + py * qy
    turn += px * qy - py * qx
    weight += px * px + py * py
  }
  growth /= weight
  turn /= weight
  return { growth, turn, x: dx - growth * x + turn * y, y: dy - growth * y - turn * x }
}

/** Scrolls are seen by pieces of rows, which are still where no pixel changes by more than one level. */
const PIECE = 16
const SCROLL_REACH = 45
const PIECE_CONTRAST = 20
const STILL_PIECES = 8
const MOVED_PIECES = 24
/** Of those that moved, so many are looked for. */
const MOST_PIECES = 80
/** Of the pieces that are not still, so many are found again at one height, and fewer by this factor at any other. */
const SCROLLED_SHARE = 0.35
const SCROLLED_OVER = 1.5

/** Whether a part went up or down as one while another stayed without any noise, as only a screen does. */
export function isScroll({ full: { data: before } }: Scaled, { full: { data: after } }: Scaled): boolean {
  const moved: { at: number; stay: number }[] = []
  const still: number[] = []
  for (let at = 0; at < before.length; at += PIECE) {
    if (contrastOf(before, at) < PIECE_CONTRAST) continue
    const stay = missOf(before, after, at, 0, Number.POSITIVE_INFINITY)
    if (stay > 0) moved.push({ at, stay })
    // An upright line stays when it moves up.
    else if (at + PICTURE_WIDTH < before.length && missOf(before, before, at, PICTURE_WIDTH, 1) > 0) still.push(at)
  }
  if (still.length < STILL_PIECES || moved.length < MOVED_PIECES) return false
  const every = Math.ceil(moved.length / MOST_PIECES)
  const some = moved.filter((_, n) => n % every === 0)
  const found: number[] = []
  for (let rows = -SCROLL_REACH; rows <= SCROLL_REACH; rows++) {
    let count = 0
    for (const { at, stay } of some) if (rows !== 0 && isAt(before, after, at, rows, 0.4 * stay)) count++
    found.push(count)
  }
  const most = Math.max(...found)
  const best = found.indexOf(most)
  const rival = Math.max(...found.filter((_, n) => Math.abs(n - best) > 2))
  if (most < SCROLLED_SHARE * some.length || most < SCROLLED_OVER * rival) return false
  // What fits at both places repeats, and says nothing.
  return still.filter((at) => !isAt(before, after, at, best - SCROLL_REACH, PIECE_CONTRAST)).length >= STILL_PIECES
}

/** Whether a piece is found so many rows further down. */
function isAt(before: Uint8Array, after: Uint8Array, at: number, rows: number, most: number): boolean {
  const shift = rows * PICTURE_WIDTH
  return at + shift >= 0 && at + shift < before.length && missOf(before, after, at, shift, most) < most
}

function contrastOf(picture: Uint8Array, from: number): number {
  let [low, high] = [255, 0]
  for (let at = from; at < from + PIECE; at++) {
    low = Math.min(low, picture[at]!)
    high = Math.max(high, picture[at]!)
  }
  return high - low
}

/** Sum of the differences of more than one level. */
function missOf(before: Uint8Array, after: Uint8Array, from: number, shift: number, enough: number): number {
  let sum = 0
  for (let at = from; at < from + PIECE && sum < enough; at++) {
    const d = Math.abs(after[at + shift]! - before[at]!)
    if (d > 1) sum += d
  }
  return sum
}
