import type { FrameRest, Subject } from '../../vocabulary.ts'
import { isDrawn, type Picture } from './picture.ts'
import type { Word } from './read-text.ts'
import { type Conclusion, inkInWords } from './rules.ts'
import type { Drawing, Shape } from './shapes.ts'

/** What the shapes on a drawn ground are. */
export interface Parts {
  phones: Shape[]
  /** Panels that hold an interface: windows, lists, dialogs. */
  windows: Shape[]
  /** Panels of one size, each with content. */
  cards: Shape[]
  bubbles: Shape[]
  /** Columns of a chart. */
  bars: Shape[]
  ring: Shape | null
  /** Marks one under the other, each with words beside it. */
  ticks: Shape[]
  /** Whether numbers stand one under the other in equal steps. */
  hasAxis: boolean
  /** A brand's mark with its name beside it or under it. */
  mark: Shape | null
  /** Whether the words are all there is, apart from underlines and small marks. */
  onlyWords: boolean
}

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

const right = ({ x, width }: Box) => x + width
const bottom = ({ y, height }: Box) => y + height
const areaOf = ({ width, height }: Box) => width * height
const middleX = ({ x, width }: Box) => x + width / 2
const middleY = ({ y, height }: Box) => y + height / 2
const isNear = (a: number, b: number, by: number) => Math.abs(a - b) <= by

/** Whether the middle of one box lies in another. */
function isAround(outer: Box, inner: Box): boolean {
  const [x, y] = [middleX(inner), middleY(inner)]
  return x > outer.x && x < right(outer) && y > outer.y && y < bottom(outer)
}

export function holds(outer: Box, inner: Box): boolean {
  return isAround(outer, inner) && areaOf(inner) < areaOf(outer) * 0.7
}

const isPanel = (shape: Shape) => shape.rim >= 0.8 && shape.fill >= 0.4 && shape.width >= 0.03 && shape.height >= 0.03

/** The parts of a drawn picture, or null where its ground is not drawn. */
export function findParts(picture: Picture, drawing: Drawing, words: readonly Word[]): Parts | null {
  const { ground, shapes, ink } = drawing
  if (!isDrawn(picture) && (ground < DRAWN.ground || picture.soft > DRAWN.soft || picture.flat < DRAWN.flat))
    return null
  const figures = shapes.filter((shape) => !isLetter(shape, words))
  const panels = figures.filter(isPanel)
  const contentOf = (panel: Shape) => ({
    shapes: figures.filter((shape) => shape !== panel && holds(panel, shape) && areaOf(shape) > 0.0006),
    words: words.filter((word) => holds(panel, word)),
  })
  const phones = outermost(
    panels.filter((panel) => {
      if (panel.aspect < 1.7 || panel.aspect > 2.4 || panel.height < 0.4 || panel.height > 1.05) return false
      const { shapes: inside, words: text } = contentOf(panel)
      return inside.length >= 2 && inside.length + text.length >= 4
    }),
  )
  const others = panels.filter((panel) => !phones.some((phone) => phone === panel || holds(phone, panel)))
  const cards = alikes(others, (a, b) => isNear(a.width, b.width, 0.012) && isNear(a.height, b.height, 0.02))
    .filter((group) => group.every((one) => areaOf(one) >= 0.02))
    .find((group) =>
      group.every((one) => {
        const { shapes: inside, words: text } = contentOf(one)
        return inside.length >= 1 && inside.length + text.length >= 2
      }),
    )
  const windows = outermost(
    others.filter((panel) => {
      if (cards?.includes(panel)) return false
      if (areaOf(panel) < 0.1 || panel.width > 0.97 || panel.height > 0.97) return false
      const { shapes: inside, words: text } = contentOf(panel)
      return inside.length >= 3 && inside.length + text.length >= 5
    }),
  )
  const bars = findBars(others, contentOf)
  return {
    phones,
    windows,
    cards: cards ?? [],
    bubbles: findBubbles(others, words),
    bars,
    ring: findRing(figures, words),
    mark: findMark(figures, words),
    ticks: findTicks(figures, words),
    hasAxis: hasAxis(words),
    onlyWords: figures.every((shape) => areaOf(shape) < 0.006) && inkInWords(words, { ink }) >= 0.6,
  }
}

/** A ground that is no single colour: most of the picture, smooth, and nothing soft as filmed things are. */
const DRAWN = { ground: 0.35, soft: 0.05, flat: 0.8 }

/** Whether the shape is a letter, or what letters enclose. */
function isLetter(shape: Shape, words: readonly Word[]): boolean {
  return words.some((word) => {
    // A lone figure reads as one letter, and columns read as ones.
    if (/^(.|[Il1|]+)$/u.test(word.text)) return false
    const x = Math.min(right(word), right(shape)) - Math.max(word.x, shape.x)
    const y = Math.min(bottom(word), bottom(shape)) - Math.max(word.y, shape.y)
    return x > 0 && y > 0 && x * y >= 0.6 * areaOf(shape) && shape.height <= word.height * 1.3
  })
}

function outermost(shapes: readonly Shape[]): Shape[] {
  return shapes.filter((shape) => !shapes.some((other) => other !== shape && covers(other, shape)))
}

function covers(outer: Box, inner: Box): boolean {
  return isAround(outer, inner) && areaOf(inner) < areaOf(outer)
}

/** Groups of at least two shapes that are alike. */
function alikes(shapes: readonly Shape[], isAlike: (a: Shape, b: Shape) => boolean): Shape[][] {
  const groups: Shape[][] = []
  for (const shape of shapes) {
    const group = groups.find(([first]) => isAlike(first!, shape))
    if (group) group.push(shape)
    else groups.push([shape])
  }
  return groups.filter((group) => group.length >= 2)
}

type ContentOf = (panel: Shape) => { shapes: Shape[]; words: Word[] }

/** Columns that stand on one line, of one width and many heights, with nothing in them. */
function findBars(shapes: readonly Shape[], contentOf: ContentOf): Shape[] {
  const columns = shapes.filter((shape) => shape.fill >= 0.85 && contentOf(shape).shapes.length === 0)
  const groups = alikes(columns, (a, b) => isNear(bottom(a), bottom(b), 0.012) && isNear(a.width, b.width, 0.012))
  return (
    groups.find((group) => {
      const heights = group.map(({ height }) => height)
      const [least, most] = [Math.min(...heights), Math.max(...heights)]
      const steps = new Set(heights.map((height) => Math.round(height * 50))).size
      return group.length >= 3 && most >= 0.15 && least <= 0.85 * most && steps >= 3
    }) ?? []
  )
}

/** Messages: one under the other, of one height, each with words, some further to the right than others. */
function findBubbles(shapes: readonly Shape[], words: readonly Word[]): Shape[] {
  const isWide = ({ aspect, height }: Shape) => aspect < 0.5 && height >= 0.06
  const wide = shapes.filter(isWide)
  const groups = alikes(wide, (a, b) => isNear(a.height, b.height, 0.02))
  return (
    groups.find((group) => {
      const sorted = group.toSorted((a, b) => a.y - b.y)
      const isStack = sorted.every((one, n) => n === 0 || one.y >= bottom(sorted[n - 1]!) - 0.005)
      const lefts = sorted.map(({ x }) => x)
      const rights = sorted.map(right)
      const spread = (values: number[]) => Math.max(...values) - Math.min(...values)
      const isWritten = group.some((shape) => words.filter((word) => holds(shape, word)).length >= 2)
      return group.length >= 3 && isWritten && isStack && spread(lefts) > 0.05 && spread(rights) > 0.05
    }) ?? []
  )
}

/** Small figures of one size in a column, each with words at its right. */
function findTicks(figures: readonly Shape[], words: readonly Word[]): Shape[] {
  const small = figures.filter(
    (shape) =>
      shape.height <= 0.12 &&
      words.some(
        (word) => word.x > shape.x && isNear(middleY(word), middleY(shape), 0.03) && word.x - right(shape) < 0.1,
      ),
  )
  const groups = alikes(small, (a, b) => isNear(a.x, b.x, 0.012) && isNear(a.height, b.height, 0.012))
  return groups.find((group) => group.length >= 3) ?? []
}

/** A share in the middle of a circle that is not filled. */
function findRing(figures: readonly Shape[], words: readonly Word[]): Shape | null {
  const share = words.find(({ text }) => /^\d+%$/.test(text))
  if (!share) return null
  const isAround = (shape: Shape) =>
    shape.fill < 0.6 && shape.rim < 0.6 && shape.height >= 0.2 && shape.height > 2.5 * share.height
  const parts = figures.filter((shape) => isAround(shape) && holds(shape, share))
  return parts.find((shape) => isNear(shape.aspect, 1, 0.15)) ?? null
}

/** Numbers of an axis: falling in a column, or rising in a long row, as far apart in value as in place. */
function hasAxis(words: readonly Word[]): boolean {
  const numbers = words.filter(({ text }) => /^-?\d+(\.\d+)?[%kKmM]?$/.test(text))
  const isEven = (steps: readonly number[]) => steps.every((step) => isNear(step, steps[0]!, Math.abs(steps[0]!) * 0.1))
  const isAxis = (of: (word: Word) => number, along: (word: Word) => number, sign: number, least: number) =>
    numbers.some((first) => {
      const line = numbers.filter((other) => isNear(of(first), of(other), 0.012)).sort((a, b) => along(a) - along(b))
      if (line.length < 4 || along(line.at(-1)!) - along(line[0]!) < least) return false
      const stepsOf = (value: (word: Word) => number) => line.slice(1).map((word, n) => value(word) - value(line[n]!))
      const values = stepsOf(({ text }) => Number.parseFloat(text))
      // Steps and cards are counted so, not measured.
      if (sign > 0 && values[0] === 1 && Number.parseFloat(line[0]!.text) <= 1) return false
      return values[0]! * sign > 0 && isEven(values) && isEven(stepsOf(along))
    })
  return isAxis(right, middleY, -1, 0) || isAxis(({ x }) => x, middleY, -1, 0) || isAxis(bottom, middleX, 1, 0.3)
}

/** One compact figure in the middle, alone or with one line of large letters beside or under it. */
function findMark(figures: readonly Shape[], read: readonly Word[]): Shape | null {
  const words = read.filter(({ text }) => text.length > 1)
  if (figures.length === 0 || figures.length > 4 || words.length > 2 || words.length === 0) return null
  const mark = unite(figures)
  const name = unite(words)
  if (mark.height < 1.25 * name.height) return null
  if (mark.height < 0.1 || mark.height > 0.45 || mark.width > 0.35 || name.height < 0.05) return null
  if (words.some((word) => word.height < 0.05 || /\d/.test(word.text))) return null
  const isBeside =
    isNear(middleY(mark), middleY(name), 0.06) && name.x > right(mark) - 0.02 && name.x < right(mark) + 0.12
  const isUnder =
    isNear(middleX(mark), middleX(name), 0.04) && name.y > bottom(mark) - 0.02 && name.y < bottom(mark) + 0.2
  const all = unite([mark, name])
  if (!(isBeside || isUnder) || !isNear(middleX(all), 0.5, 0.12) || !isNear(middleY(all), 0.5, 0.15)) return null
  return { ...mark, aspect: 1, fill: 1, rim: 1 }
}

export function unite(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x))
  const y = Math.min(...boxes.map((box) => box.y))
  return { x, y, width: Math.max(...boxes.map(right)) - x, height: Math.max(...boxes.map(bottom)) - y }
}

/** The subject where the parts leave no doubt. */
export function concludeDrawn(parts: Parts, words: readonly Word[]): Conclusion<Subject> | null {
  const { phones, windows, cards, bubbles, bars, ring, mark } = parts
  if (bars.length > 0 && phones.length === 0 && windows.length === 0) return { value: 'chart', confidence: 0.9 }
  if (phones.length > 0) return { value: 'ui', confidence: 0.85 }
  if (parts.hasAxis && windows.length === 0) return { value: 'chart', confidence: 0.85 }
  if (ring && windows.length === 0) return { value: 'chart', confidence: 0.8 }
  if (windows.length > 0 || bubbles.length > 0) return { value: 'ui', confidence: 0.85 }
  if (cards.length > 0) return { value: 'ui', confidence: 0.8 }
  if (mark) return { value: 'logo', confidence: 0.8 }
  const isLarge = words.length > 0 && Math.max(...words.map(({ height }) => height)) >= 0.05
  const isFew = words.length <= 24 && new Set(words.map(({ line }) => line)).size <= 7
  if (parts.onlyWords && isLarge && isFew) return { value: 'text-card', confidence: 0.85 }
  return null
}

/** Whether the parts show that the picture was drawn and animated: they float on a ground with room around them. */
export function isMotionGraphics(parts: Parts, words: readonly Word[]): boolean {
  const { phones, windows, cards, bubbles, bars, ring, mark } = parts
  const floats = [...phones, ...windows, ...cards]
  if (floats.length > 0) return floats.some(({ x, y, width }) => x >= 0.03 && y >= 0.03 && x + width <= 0.97)
  if (bubbles.length > 0 || bars.length > 0 || ring || mark) return true
  const heights = words.map(({ height }) => height).toSorted((a, b) => a - b)
  return parts.onlyWords && heights.length > 0 && heights[heights.length >> 1]! >= 0.05
}

/** The technique that parts and build-up show: slugs of the seeded vocabulary. */
export function concludeBuild(parts: Parts, rest: FrameRest | null | undefined): Conclusion<string> | null {
  const steps = rest?.steps ?? 0
  if (parts.bars.length > 0 && steps >= 1) return { value: 'chart-growth', confidence: 0.8 }
  if (parts.phones.length > 0) return { value: 'device-mockup', confidence: 0.85 }
  if (parts.bubbles.length > 0) return { value: 'chat-thread', confidence: 0.8 }
  if (parts.ticks.length >= 3 && steps >= 2) return { value: 'checklist-build', confidence: 0.8 }
  return null
}
