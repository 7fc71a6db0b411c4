/** A letter and where its middle lies, in columns of the strip. */
export interface Letter {
  text: string
  /** 0–1. */
  confidence: number
  x: number
}

/** The pixels of a line, RGB. */
export interface Strip {
  data: Uint8Array
  width: number
  height: number
}

/** Letters without a gap, and the box of their ink in the strip. */
export interface Part {
  letters: Letter[]
  left: number
  top: number
  right: number
  bottom: number
}

/**
 * Between two words the gap is so wide: a multiple of the line's usual gap, and a share of the ink's height. Few
 * letters tell little of what is usual, and beside a mark a terminal's letters stand further apart: on both its sides.
 * Behind the mark that ends a sentence or a part of it the gap is wider than before it.
 */
const GAP = { ofUsual: 2.2, ofHeight: 0.18, ofHeightInShort: 0.3, ofHeightAtMark: 0.5, ofHeightBehind: 0.25, short: 12 }
/** A word's ink ends so many letters from the middle of its last one: beyond stands the line of a box. */
const REACH = 0.9
/** Japanese and Chinese are written without spaces. */
export const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\u30fc\uff01-\uff5e]/u

/** Splits a line at the spaces that were read, and at wide gaps in its pixels: letters are often read joined. */
export function splitWords(letters: readonly Letter[], strip: Strip): Part[] {
  const ink = findInk(strip)
  const gaps = gapsOf(ink)
  const usual = middleOf(gaps.map(({ from, to }) => to - from)) ?? 0
  const pieces = [...gaps, { from: ink.right }].map(({ from }, n) => ink.within(gaps[n - 1]?.to ?? ink.left, from))
  // Without what stands above or below few letters: the edge of a box.
  const ends = (side: 'top' | 'bottom') => pieces.map((piece) => piece[side]).toSorted((a, b) => a - b)
  const height = ends('bottom').at(-1 - Math.floor(gaps.length / 20))! - ends('top')[Math.floor(gaps.length / 20)]!
  const isShort = letters.length < GAP.short
  const least = Math.max((isShort ? GAP.ofHeightInShort : GAP.ofHeight) * height, GAP.ofUsual * usual)
  const isMark = (letter: Letter) => !/[\p{L}\p{N}]/u.test(letter.text)
  const findGap = (a: Letter, b: Letter) => {
    if (UNSPACED.test(a.text) && UNSPACED.test(b.text)) return undefined
    const wide = isMark(a) || isMark(b) ? Math.max(least, GAP.ofHeightAtMark * height) : least
    const gap = gaps.find(({ from, to }, n) => {
      const before = /[.,;:!?]/.test(a.text) && !isMark(b) && gaps[n - 1]
      const enough = before
        ? Math.max(least, GAP.ofHeightBehind * height, GAP.ofUsual * (before.to - before.from))
        : wide
      return to - from >= Math.min(wide, enough) && from + to > 2 * a.x && from + to < 2 * b.x
    })
    return gap && (gap.from + gap.to) / 2
  }
  const parts: { letters: Letter[]; left: number; right: number }[] = []
  let last: Letter | undefined
  for (const letter of letters) {
    if (letter.text === ' ') {
      last = undefined
      continue
    }
    const cut = last && findGap(last, letter)
    if (!last || cut !== undefined) {
      const previous = parts.at(-1)
      const middle = cut ?? (previous ? ((previous.letters.at(-1)?.x ?? 0) + letter.x) / 2 : 0)
      if (previous) previous.right = middle
      parts.push({ letters: [], left: middle, right: strip.width })
    }
    parts.at(-1)!.letters.push(letter)
    last = letter
  }
  const reach = REACH * (middleOf(letters.slice(1).map(({ x }, n) => x - letters[n]!.x)) ?? strip.width)
  return parts.map(({ letters: those, left, right }) => ({
    letters: those,
    ...ink.within(Math.floor(Math.max(left, those[0]!.x - reach)), Math.ceil(Math.min(right, those.at(-1)!.x + reach))),
  }))
}

const middleOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[(values.length - 1) >> 1]

/** The least usual distance from one letter to the next, in columns. Null where letters are not told apart. */
export function pitchOf(strip: Strip): number | null {
  const ink = findInk(strip)
  const gaps = gapsOf(ink)
  const middles = gaps.slice(1).map(({ from }, n) => (gaps[n]!.to + from) / 2)
  const pitches = middles.slice(1).map((middle, n) => middle - middles[n]!)
  const least = pitches.toSorted((a, b) => a - b)[Math.floor(pitches.length / 10)]
  return least !== undefined && least < ink.bottom - ink.top ? least : null
}

/** Columns without ink between columns with ink. */
function gapsOf({ columns }: { columns: Uint8Array }): { from: number; to: number }[] {
  const gaps: { from: number; to: number }[] = []
  let end = -1
  for (let x = 0; x < columns.length; x++) {
    if (columns[x] === 0) continue
    if (end >= 0 && x > end) gaps.push({ from: end, to: x })
    end = x + 1
  }
  return gaps
}

/** The pixels that differ from the ground, which is what most of the strip's rim shows. */
function findInk({ data, width, height }: Strip) {
  const ground = groundOf({ data, width, height })
  const apart = new Uint8Array(width * height)
  for (let i = 0; i < apart.length; i++)
    for (let c = 0; c < 3; c++) apart[i] = Math.max(apart[i]!, Math.abs(data[i * 3 + c]! - ground[c]!))
  const from = splitLevels(apart)
  const isInk = (x: number, y: number) => apart[y * width + x]! > from
  const within = (left: number, right: number) => {
    const box = { left: right, top: height, right: left, bottom: 0 }
    for (let y = 0; y < height; y++)
      for (let x = left; x < right; x++) {
        if (!isInk(x, y)) continue
        box.left = Math.min(box.left, x)
        box.right = Math.max(box.right, x + 1)
        box.top = Math.min(box.top, y)
        box.bottom = Math.max(box.bottom, y + 1)
      }
    return box.right > box.left ? box : { left, right, top: 0, bottom: height }
  }
  const columns = new Uint8Array(width)
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (isInk(x, y)) columns[x] = 1
  return { columns, within, ...within(0, width) }
}

function groundOf({ data, width, height }: Strip): number[] {
  const rim: number[] = []
  for (let x = 0; x < width; x++) rim.push(x, (height - 1) * width + x)
  for (let y = 0; y < height; y++) rim.push(y * width, y * width + width - 1)
  return [0, 1, 2].map((c) => middleOf(rim.map((at) => data[at * 3 + c]!))!)
}

/** The level that parts the values best in two (Otsu). */
function splitLevels(values: Uint8Array): number {
  const counts = new Float64Array(256)
  for (const value of values) counts[value]!++
  const sum = counts.reduce((total, count, level) => total + count * level, 0)
  let [below, sumBelow, best, bestAt] = [0, 0, -1, 0]
  for (let level = 0; level < 255; level++) {
    below += counts[level]!
    sumBelow += counts[level]! * level
    const above = values.length - below
    if (below === 0 || above === 0) continue
    const between = below * above * (sumBelow / below - (sum - sumBelow) / above) ** 2
    if (between > best) [best, bestAt] = [between, level]
  }
  return bestAt
}
