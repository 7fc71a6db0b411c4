import type { Raster } from './picture.ts'

/** A box in pixels. `right` and `bottom` lie outside. */
export interface LineBox {
  left: number
  top: number
  right: number
  bottom: number
}

/** Neighbouring pixels of detail differ by more. */
const DETAIL = 8
/** Pixels of another letter differ by more than this share of the contrast of a line, and at most by so much. */
const CHANGED_SHARE = 0.35
const CHANGED = 64

/** The bounds of all detail of a picture, with some ground around it. Null where it is flat. */
export function findDetail({ data, width, height }: Raster, around: number): LineBox | null {
  let [left, top, right, bottom] = [width, height, 0, 0]
  for (let y = 0; y < height; y++)
    for (let at = y * width * 3; at < ((y + 1) * width - 1) * 3; at++) {
      if (Math.abs(data[at]! - data[at + 3]!) <= DETAIL) continue
      const x = Math.floor(at / 3) - y * width
      left = Math.min(left, x)
      top = Math.min(top, y)
      right = Math.max(right, x + 2)
      bottom = y + 1
    }
  return bottom === 0 ? null : grown({ left, top, right, bottom }, around, { width, height })
}

/** A box with so much around it as the picture has. */
export function grown({ left, top, right, bottom }: LineBox, by: number, within: Pick<Raster, 'width' | 'height'>) {
  return {
    left: Math.max(0, left - by),
    top: Math.max(0, top - by),
    right: Math.min(within.width, right + by),
    bottom: Math.min(within.height, bottom + by),
  }
}

/** The pixels of a box, row by row. */
export function cutOut({ data, width }: Raster, { left, top, right, bottom }: LineBox): Uint8Array {
  const rowOf = (y: number) => data.subarray((y * width + left) * 3, (y * width + right) * 3)
  return Buffer.concat(Array.from({ length: bottom - top }, (_, n) => rowOf(top + n)))
}

/** Whether two pieces of one size show the same, also where their letters are faint. */
export function looksAlike(one: Uint8Array, other: Uint8Array): boolean {
  const contrast = one.reduce((max, value) => Math.max(max, value)) - one.reduce((min, value) => Math.min(min, value))
  const changed = Math.min(CHANGED, contrast * CHANGED_SHARE)
  return one.every((value, at) => Math.abs(value - other[at]!) <= changed)
}

/** What the detector was trained with: a pixel is text from the first on, a line from the mean of the second on. */
const TEXT = 0.2
const LINE = 0.4
/** The detector marks the middle of a line. The whole line is larger by this share of area ÷ circumference. */
const GROWN_BY = 1.6
const LEAST_SIDE = 3

/** The upright lines of text on the detector's map of chances. */
export function findLines(map: ArrayLike<number>, width: number, height: number): LineBox[] {
  const seen = new Uint8Array(width * height)
  const lines: LineBox[] = []
  for (let from = 0; from < seen.length; from++) {
    if (seen[from] === 1 || map[from]! < TEXT) continue
    const box = boundsOf(from, { map, width, height }, seen)
    const [w, h] = [box.right - box.left, box.bottom - box.top]
    if (Math.min(w, h) < LEAST_SIDE || meanOf(map, width, box) < LINE) continue
    lines.push(grown(box, (w * h * GROWN_BY) / (2 * (w + h)), { width, height }))
  }
  return lines
}

interface ChanceMap {
  map: ArrayLike<number>
  width: number
  height: number
}

/** The bounds of the pixels of text that hang together with one. */
function boundsOf(from: number, { map, width, height }: ChanceMap, seen: Uint8Array): LineBox {
  const box = { left: width, top: height, right: 0, bottom: 0 }
  const open = [from]
  seen[from] = 1
  while (open.length > 0) {
    const at = open.pop()!
    const x = at % width
    const y = (at - x) / width
    box.left = Math.min(box.left, x)
    box.right = Math.max(box.right, x + 1)
    box.top = Math.min(box.top, y)
    box.bottom = Math.max(box.bottom, y + 1)
    for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++)
      for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++) {
        const next = row * width + column
        if (seen[next] === 1 || map[next]! < TEXT) continue
        seen[next] = 1
        open.push(next)
      }
  }
  return box
}

function meanOf(map: ArrayLike<number>, width: number, { left, top, right, bottom }: LineBox): number {
  let sum = 0
  for (let y = top; y < bottom; y++) for (let x = left; x < right; x++) sum += map[y * width + x]!
  return sum / ((right - left) * (bottom - top))
}

/** Joins what stands in one row, no further apart than it is high: large letters are found word by word. */
export function joinRows(boxes: readonly LineBox[]): LineBox[] {
  const rows: LineBox[] = []
  for (const box of boxes.toSorted((a, b) => a.left - b.left)) {
    const row = rows.find((one) => {
      const height = Math.min(one.bottom - one.top, box.bottom - box.top)
      const shared = Math.min(one.bottom, box.bottom) - Math.max(one.top, box.top)
      const isAlike = height >= ALIKE * Math.max(one.bottom - one.top, box.bottom - box.top)
      return isAlike && shared >= ALIKE * height && box.left - one.right <= height
    })
    if (!row) rows.push({ ...box })
    else {
      row.top = Math.min(row.top, box.top)
      row.right = Math.max(row.right, box.right)
      row.bottom = Math.max(row.bottom, box.bottom)
    }
  }
  return rows
}

/** The share of their height that two words of one row have in common. */
const ALIKE = 0.6
/** A gap between rows parts more than one between columns. */
const ROWS_FIRST = 3

/** As a person reads: what the widest gaps part, from the top down or from the left to the right, and so on inside. */
export function inReadingOrder<T extends { box: LineBox }>(lines: readonly T[]): T[] {
  const down = widestGap(lines, ({ box }) => [box.top, box.bottom])
  const across = widestGap(lines, ({ box }) => [box.left, box.right])
  const { before, behind, gap } = ROWS_FIRST * down.gap >= across.gap ? down : across
  if (gap <= 0) return lines.toSorted((a, b) => a.box.top - b.box.top || a.box.left - b.box.left)
  return [...inReadingOrder(before), ...inReadingOrder(behind)]
}

function widestGap<T>(lines: readonly T[], rangeOf: (line: T) => [from: number, to: number]) {
  const sorted = lines.toSorted((a, b) => rangeOf(a)[0] - rangeOf(b)[0])
  let widest = { at: 0, gap: 0 }
  let end = Number.POSITIVE_INFINITY
  for (const [at, line] of sorted.entries()) {
    const [from, to] = rangeOf(line)
    if (from - end > widest.gap) widest = { at, gap: from - end }
    end = at === 0 ? to : Math.max(end, to)
  }
  return { before: sorted.slice(0, widest.at), behind: sorted.slice(widest.at), gap: widest.gap }
}
