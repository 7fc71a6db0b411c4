/** The scenes of films of motion graphics: what is in them, how it comes, rests and goes. Times are seconds. */

/** What stands in the picture. Its svg is drawn around its own middle. */
export interface Element {
  svg: string | ((sec: number) => string)
  x: number
  y: number
  /** When it begins to come, and how long that takes. */
  at: number
  takes: number
  enters: Way
  /** When it goes before the scene does. */
  until?: number
}

export type Way = 'fade' | 'rise' | 'slide' | 'grow' | 'pop' | 'none'

/** An element at one instant. */
export interface Shape {
  svg: string
  x: number
  y: number
  opacity: number
  scale: number
}

export interface Scene {
  elements: Element[]
  lengthSec: number
  /** The part of its end in which it leaves; 0: it is cut off. */
  leaveSec: number
  leaves: Way
  /** How much the whole grows in a second. */
  driftShare: number
  /** Its compositions. */
  rests: { from: number; to: number; isCutOff?: boolean }[]
}

export interface Making {
  random: () => number
  /** Whether the ground is dark. */
  dark: boolean
}

const WORDS = 'Ship faster with every team review deploy plan search answer report today build trust design'.split(' ')
export const INKS = ['#1f6feb', '#d1242f', '#1a7f37', '#bf8700', '#8250df', '#0f766e', '#e85d9f']
const EASINGS: readonly ((p: number) => number)[] = [
  (p) => p,
  (p) => 1 - (1 - p) ** 3,
  (p) => (p < 0.5 ? 4 * p ** 3 : 1 - (-2 * p + 2) ** 3 / 2),
  (p) => 1 + 2.7 * (p - 1) ** 3 + 1.7 * (p - 1) ** 2,
]

export function shapesAt({ elements, lengthSec, leaveSec, leaves }: Scene, sec: number): Shape[] {
  return elements.flatMap((element, n) => {
    if (sec < element.at) return []
    const ease = EASINGS[n % EASINGS.length]!
    const into = element.takes === 0 ? 1 : ease(Math.min(1, (sec - element.at) / element.takes))
    const begins = element.until ?? lengthSec - leaveSec
    const takes = element.until === undefined ? leaveSec : 0.35
    const out = sec <= begins || takes === 0 ? 0 : Math.min(1, (sec - begins) / takes)
    if (out === 1) return []
    const svg = typeof element.svg === 'string' ? element.svg : element.svg(sec)
    const come = moved(element.enters, 1 - into)
    const go = moved(element.until === undefined ? leaves : 'fade', out)
    return [
      {
        svg,
        x: element.x + come.x + go.x,
        y: element.y + come.y + go.y,
        opacity: Math.max(0, Math.min(1, come.opacity)) * go.opacity,
        scale: Math.max(0.001, come.scale * go.scale),
      },
    ]
  })
}

/** How an element that is `away` (0: in place, 1: gone) stands. */
function moved(way: Way, away: number) {
  const still = { x: 0, y: 0, opacity: 1, scale: 1 }
  if (away === 0 || way === 'none') return still
  if (way === 'fade') return { ...still, opacity: 1 - away }
  if (way === 'rise') return { ...still, y: 40 * away, opacity: 1 - away }
  if (way === 'slide') return { ...still, x: 420 * away }
  if (way === 'grow') return { ...still, scale: 1 - away }
  return { ...still, scale: 1 - 0.3 * away, opacity: 1 - away }
}

export const text = (content: string, size: number, ink: string, anchor = 'middle') =>
  `<text font-family="DejaVu Sans" font-weight="bold" font-size="${size}" fill="${ink}"
    text-anchor="${anchor}">${content}</text>`
export const box = (w: number, h: number, fill: string, radius = 10) =>
  `<rect x="${-w / 2}" y="${-h / 2}" width="${w}" height="${h}" rx="${radius}" fill="${fill}"/>`
const line = (w: number, y: number, fill: string, x = 0) =>
  `<rect x="${x - w / 2}" y="${y}" width="${w}" height="6" rx="3" fill="${fill}"/>`

export function kit({ random, dark }: Making) {
  const between = (from: number, to: number) => from + random() * (to - from)
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const way = () => one<Way>(['fade', 'rise', 'slide', 'grow', 'pop'])
  const words = (count: number) => Array.from({ length: count }, () => one(WORDS))
  const inks = () => [...INKS].sort(() => random() - 0.5)
  return {
    random,
    between,
    one,
    way,
    words,
    inks,
    ink: dark ? '#f5f5f5' : '#15171c',
    panel: dark ? '#2b3040' : '#d8dee9',
  }
}
export type Kit = ReturnType<typeof kit>

/** Ends a scene: its rest, and how it goes. `settled`: when everything stands. */
export function close(
  given: Kit,
  elements: Element[],
  settled: number,
  more: Partial<Scene> & { rest?: number } = {},
): Scene {
  const isCutOff = given.random() < 0.12
  const rest = more.rest ?? (isCutOff ? 0.12 : given.one([0.35, 0.6, 0.9, 1.4, 2, 3.2]))
  const leaveSec = isCutOff ? 0 : given.one([0, 0.25, 0.4, 0.6])
  const rests = [...(more.rests ?? []), { from: settled, to: settled + rest, isCutOff: rest < 0.2 }]
  const lengthSec = settled + rest + leaveSec
  const leaves = given.one<Way>(['fade', 'slide', 'grow', 'rise'])
  return { elements, lengthSec, leaveSec, leaves, driftShare: 0, ...more, rests }
}

/** Elements that come one after the other, and when the last one stands. */
function inTurn(given: Kit, parts: { svg: string; x: number; y: number }[], gap: number, enters = given.way()) {
  const takes = given.between(0.2, 0.5)
  const elements = parts.map((part, n): Element => ({ ...part, at: 0.1 + n * gap, takes, enters }))
  return { elements, settled: 0.1 + (parts.length - 1) * gap + takes }
}

function words(making: Making): Scene {
  const given = kit(making)
  const count = Math.round(given.between(3, 5))
  const list = given.words(count)
  const size = given.between(34, 52)
  const parts = list.map((word, n) => ({
    svg: text(word, size, given.ink, 'start'),
    x: count > 3 ? 60 + (n % 2) * 270 : 80,
    y: count > 3 ? 130 + Math.floor(n / 2) * size * 1.5 : 120 + n * size * 1.4,
  }))
  const { elements, settled } = inTurn(given, parts, given.between(0.15, 0.7))
  return close(given, elements, settled)
}

function cards(making: Making): Scene {
  const given = kit(making)
  const parts = [120, 320, 520].flatMap((x) => {
    const ink = given.one(INKS)
    const inside = `${box(170, 200, given.panel, 14)}<circle cy="-50" r="26" fill="${ink}"/>${line(110, 10, given.ink)}
      ${line(90, 28, given.ink)}${line(120, 60, ink)}`
    return [{ svg: inside, x, y: 190 }]
  })
  parts.unshift({ svg: text(given.words(2).join(' '), 30, given.ink), x: 320, y: 60 })
  const { elements, settled } = inTurn(given, parts, given.between(0.15, 0.6))
  return close(given, elements, settled)
}

/** A phone that changes its page: a composition a page. */
function phone(making: Making): Scene {
  const given = kit(making)
  const page = (ink: string) =>
    `${box(130, 260, '#ffffff', 12)}
     <rect x="-55" y="-110" width="110" height="${given.between(40, 110)}" rx="8" fill="${ink}"/>
     ${[20, 44, 68, 92].map((y) => line(given.between(50, 105), y, '#555')).join('')}`
  const side = given.one([180, 460])
  const elements: Element[] = [
    { svg: box(150, 290, '#222', 22), x: side, y: 180, at: 0.1, takes: 0.45, enters: given.way() },
    { svg: text(given.words(2).join(' '), 30, given.ink), x: 640 - side, y: 170, at: 0.3, takes: 0.4, enters: 'rise' },
  ]
  const pages = Math.round(given.between(2, 3))
  const inks = given.inks()
  const rests: Scene['rests'] = []
  let at = 0.5
  for (let n = 0; n < pages; n++) {
    const rest = given.between(0.7, 1.8)
    const settled = at + 0.4
    elements.push({ svg: page(inks[n]!), x: side, y: 180, at, takes: 0.4, enters: n === 0 ? 'fade' : 'grow' })
    if (n < pages - 1) rests.push({ from: settled, to: settled + rest })
    at = settled + rest
    if (n === pages - 1) return close(given, elements, settled, { rests })
  }
  return close(given, elements, at, { rests })
}

function list(making: Making): Scene {
  const given = kit(making)
  const count = Math.round(given.between(3, 5))
  const gap = given.between(0.25, 0.9)
  const parts = Array.from({ length: count }, (_, n) => ({
    svg: `<circle cx="-190" r="11" fill="${given.one(INKS)}"/>
      <path d="M-195 0l4 4l8 -8" stroke="#fff" stroke-width="3" fill="none"/>
      ${line(given.between(160, 300), -3, given.ink)}`,
    x: 320,
    y: 110 + n * 46,
  }))
  const { elements, settled } = inTurn(given, parts, gap)
  elements.unshift({ svg: box(460, 270, given.panel, 16), x: 320, y: 200, at: 0, takes: 0.3, enters: 'fade' })
  return close(given, elements, settled)
}

function chart(making: Making): Scene {
  const given = kit(making)
  const count = Math.round(given.between(4, 7))
  const takes = given.between(0.6, 1.6)
  const bars = Array.from({ length: count }, () => ({ high: given.between(40, 190), ink: given.one(INKS) }))
  const grown = (sec: number) => 1 - (1 - Math.min(1, Math.max(0, (sec - 0.4) / takes))) ** 3
  const svg = (sec: number) =>
    bars
      .map(({ high, ink }, n) => {
        const h = high * grown(sec)
        return `<rect x="${-200 + n * (400 / count)}" y="${-h}" width="${280 / count}" height="${h}" fill="${ink}"/>`
      })
      .join('')
  const elements: Element[] = [
    { svg: text(given.words(2).join(' '), 26, given.ink), x: 320, y: 50, at: 0, takes: 0.3, enters: 'fade' },
    { svg: line(440, 0, given.ink), x: 320, y: 310, at: 0.1, takes: 0.3, enters: 'fade' },
    { svg, x: 320, y: 310, at: 0.4, takes: 0, enters: 'none' },
  ]
  return close(given, elements, 0.4 + takes)
}

function counter(making: Making): Scene {
  const given = kit(making)
  const goal = Math.round(given.between(900, 98_000))
  const takes = given.between(0.8, 2)
  const unit = given.one(['users', 'teams', 'hours saved'])
  const count = (sec: number) => Math.round(goal * (1 - (1 - Math.min(1, Math.max(0, (sec - 0.4) / takes))) ** 2))
  const elements: Element[] = [
    {
      svg: (sec) => text(count(sec).toLocaleString('en'), 84, given.ink),
      x: 320,
      y: 190,
      at: 0,
      takes: 0.3,
      enters: 'pop',
    },
    { svg: text(unit, 28, given.one(INKS)), x: 320, y: 250, at: 0.2, takes: 0.3, enters: 'fade' },
  ]
  return close(given, elements, 0.4 + takes)
}

/** A panel beside a headline that stays; its content changes. */
function panel(making: Making): Scene {
  const given = kit(making)
  const elements: Element[] = [
    { svg: text(given.words(2).join(' '), 32, given.ink), x: 320, y: 56, at: 0, takes: 0.4, enters: 'rise' },
    { svg: box(420, 230, given.panel, 14), x: 320, y: 215, at: 0.2, takes: 0.4, enters: given.way() },
  ]
  const rests: Scene['rests'] = []
  let at = 0.6
  const count = Math.round(given.between(2, 3))
  const inks = given.inks()
  for (let n = 0; n < count; n++) {
    const ink = inks[n]!
    const rows = Array.from({ length: Math.round(given.between(3, 6)) }, (_, row) =>
      line(given.between(80, 340), -80 + row * 30, row === 0 ? ink : given.ink),
    ).join('')
    const disc = `<circle cx="${given.between(-150, 150)}" cy="70" r="30" fill="${ink}"/>`
    const rest = given.between(0.7, 2)
    const isLast = n === count - 1
    const until = isLast ? {} : { until: at + 0.35 + rest }
    elements.push({ svg: rows + disc, x: 320, y: 215, at, takes: 0.35, enters: 'fade', ...until })
    if (isLast) return close(given, elements, at + 0.35, { rests })
    rests.push({ from: at + 0.35, to: at + 0.35 + rest })
    at += 0.35 + rest + 0.35
  }
  return close(given, elements, at, { rests })
}

/** A window in which somebody types; the caret blinks on. */
function typing(making: Making): Scene {
  const given = kit(making)
  const typed = given.words(5).join(' ')
  const perSec = given.between(12, 24)
  const from = 0.6
  const svg = (sec: number) => {
    const shown = typed.slice(0, Math.floor(Math.max(0, sec - from) * perSec))
    const caret = Math.floor(sec * 2) % 2 === 0 ? '|' : ''
    return `<text x="-190" font-family="DejaVu Sans Mono" font-size="18" fill="${given.ink}">$ ${shown}${caret}</text>`
  }
  const elements: Element[] = [
    { svg: box(460, 220, given.panel, 12), x: 320, y: 190, at: 0, takes: 0.3, enters: given.way() },
    {
      svg: '<circle cx="-200" r="6" fill="#d1242f"/><circle cx="-182" r="6" fill="#bf8700"/>',
      x: 320,
      y: 96,
      at: 0.2,
      takes: 0.2,
      enters: 'fade',
    },
    { svg, x: 320, y: 170, at: 0.4, takes: 0.1, enters: 'fade' },
  ]
  return close(given, elements, from + typed.length / perSec)
}

/** One shape becomes another and rests as each. */
function morph(making: Making): Scene {
  const given = kit(making)
  const takes = given.between(0.5, 0.9)
  const first = given.between(0.7, 1.4)
  const begins = 0.5 + first
  const ink = given.one(INKS)
  const svg = (sec: number) => {
    const p = Math.min(1, Math.max(0, (sec - begins) / takes))
    const [w, h, r] = [120 + 260 * p, 120 + 40 * p, 60 - 45 * p]
    return `${box(w, h, ink, r)}<g opacity="${p}">${text('Open the report', 28, '#ffffff')}</g>`
  }
  const elements: Element[] = [
    { svg, x: 320, y: 180, at: 0, takes: 0.5, enters: 'grow' },
    { svg: text(given.words(1)[0]!, 26, given.ink), x: 320, y: 320, at: 0.1, takes: 0.3, enters: 'fade' },
  ]
  return close(given, elements, begins + takes, { rests: [{ from: 0.5, to: begins }] })
}

/** All of it grows slowly while it rests, as a camera that moves on. */
function drift(making: Making): Scene {
  const given = kit(making)
  return { ...cards(making), driftShare: given.between(0.006, 0.02) }
}

function logo(making: Making): Scene {
  const given = kit(making)
  const ink = given.one(INKS)
  const mark = `<circle r="34" fill="${ink}"/><rect x="-9" y="-20" width="18" height="40" fill="#fff"/>`
  const parts = [
    { svg: mark, x: 320, y: 120 },
    { svg: text('Northwind', 44, given.ink), x: 320, y: 220 },
    { svg: text('northwind.example', 20, ink), x: 320, y: 270 },
  ]
  const { elements, settled } = inTurn(given, parts, given.between(0.4, 1.1), 'fade')
  return { ...close(given, elements, settled, { rest: given.between(0.8, 2.5) }) }
}

export const SCENES: Readonly<Record<string, (making: Making) => Scene>> = {
  words,
  cards,
  phone,
  list,
  chart,
  counter,
  panel,
  typing,
  morph,
  drift,
  logo,
}
