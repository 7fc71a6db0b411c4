/**
 * Drawn frames of product films, each complete and at rest, with what a careful viewer says they show. No rule was made
 * by looking at the last three designs.
 */

interface Pen {
  one<T>(list: readonly T[]): T
  between(from: number, to: number): number
  words(count: number): string
  dark: boolean
  ground: string
  ink: string
  muted: string
  panel: string
  accents: string[]
  font: string
}

interface Drawing {
  svg: string
  subject: string | null
  or?: string[]
}

const WORDS = (
  'ship faster with every team review deploy plan search answer report today build trust design shortcut to what you ' +
  'need invoice budget travel notes open share weekly calm inbox focus learn music photo family secure simple'
).split(' ')
const ACCENTS = ['#1f6feb', '#d1242f', '#1a7f37', '#bf8700', '#8250df', '#0f766e', '#e85d9f', '#ff7a59']
const LIGHT = ['#ffffff', '#f6f1e7', '#eef2ff', '#fde8e8', '#e6f4ea', '#f4f4f5']
const DARK = ['#0d1117', '#000000', '#1e1b4b', '#0b3d2e', '#241326', '#101935']
const FONTS = ['DejaVu Sans', 'DejaVu Serif', 'DejaVu Sans Condensed', 'TeX Gyre Heros', 'TeX Gyre Adventor']

function openPen(random: () => number): Pen {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const dark = random() < 0.45
  return {
    one,
    between: (from, to) => from + random() * (to - from),
    words: (count) => Array.from({ length: count }, () => one(WORDS)).join(' '),
    dark,
    ground: one(dark ? DARK : LIGHT),
    ink: dark ? one(['#ffffff', '#f1e9da', '#c7d2fe']) : one(['#111827', '#15171c', '#1e1b4b']),
    muted: dark ? '#8b93a7' : '#7a8190',
    panel: dark ? one(['#2b3040', '#252a38', '#ffffff']) : one(['#ffffff', '#dfe5ee', '#1c2230']),
    accents: ACCENTS.toSorted(() => random() - 0.5),
    font: one(FONTS),
  }
}

function text(pen: Pen, content: string, at: [number, number], size: number, style: TextStyle = {}): string {
  const { fill = pen.ink, anchor = 'start', weight = 'bold' } = style
  return `<text x="${at[0]}" y="${at[1]}" font-family="${pen.font}" font-size="${size}" font-weight="${weight}"
    fill="${fill}" text-anchor="${anchor}">${content}</text>`
}
interface TextStyle {
  fill?: string
  anchor?: 'start' | 'middle' | 'end'
  weight?: string
}

const box = (x: number, y: number, w: number, h: number, fill: string, r = 0) =>
  `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="${r}" fill="${fill}"/>`
const times = (count: number, draw: (n: number) => string) => Array.from({ length: count }, (_, n) => draw(n)).join('')
const isDarkFill = (fill: string) => Number.parseInt(fill.slice(1, 3), 16) < 128

/** Lines of words in the middle or at the left. */
function lines(pen: Pen, count: number, size: number): string {
  const isLeft = pen.one([true, false])
  const top = 360 - ((count - 1) * size * 1.2) / 2 + size / 3
  const anchor = isLeft ? 'start' : 'middle'
  return times(count, (n) => {
    const fill = n === 1 && pen.one([true, false]) ? pen.accents[0]! : pen.ink
    const length = Math.max(1, Math.round(pen.between(10, 24) / 6))
    return text(pen, pen.words(length), [isLeft ? 130 : 640, top + n * size * 1.2], size, { fill, anchor })
  })
}

/** Rows of a list: a mark, a line, another line. */
function rows(pen: Pen, area: [number, number, number, number], count: number, ink: string): string {
  const [x, y, w, h] = area
  const step = h / count
  const size = Math.min(26, step * 0.34)
  const drawn = pen.one([true, false])
  return times(count, (n) => {
    const middle = y + step * (n + 0.5)
    const mark = `<circle cx="${x + step * 0.4}" cy="${middle}" r="${step * 0.25}" fill="${pen.accents[n % 5]}"/>`
    const left = x + step * 0.85
    const label = drawn
      ? box(left, middle - size / 2, w * pen.between(0.3, 0.6), size * 0.6, pen.muted, size * 0.3)
      : text(pen, pen.words(2), [left, middle + size / 3], size, { fill: ink, weight: 'normal' })
    return mark + label
  })
}

function phone(pen: Pen, x: number, y: number, h: number): string {
  const w = h * pen.between(0.46, 0.52)
  const screen = pen.one(['#ffffff', '#f3f4f6', '#111827'])
  const ink = isDarkFill(screen) ? '#f9fafb' : '#111827'
  const edge = pen.dark ? '#3d4354' : '#0a0a0a'
  const area: [number, number, number, number] = [x + w * 0.08, y + h * 0.3, w * 0.84, h * 0.5]
  return (
    box(x, y, w, h, edge, w * 0.14) +
    box(x + 9, y + 9, w - 18, h - 18, screen, w * 0.11) +
    box(x + w * 0.36, y + 22, w * 0.28, 12, edge, 6) +
    text(pen, pen.words(1), [x + w * 0.12, y + h * 0.17], h * 0.045, { fill: ink }) +
    rows(pen, area, 3 + Math.floor(pen.between(0, 3)), ink) +
    box(x + w * 0.1, y + h * 0.86, w * 0.8, h * 0.07, pen.accents[0]!, h * 0.035)
  )
}

function panel(pen: Pen, area: [number, number, number, number]): { svg: string; ink: string } {
  const [x, y, w, h] = area
  const same = isDarkFill(pen.panel) === isDarkFill(pen.ground)
  const shadow = same ? box(x - 2, y - 2, w + 4, h + 4, pen.dark ? '#454b5c' : '#c3cad6', 18) : ''
  return { svg: shadow + box(x, y, w, h, pen.panel, 16), ink: isDarkFill(pen.panel) ? '#f3f4f6' : '#14171d' }
}

function appWindow(pen: Pen): string {
  const [x, y, w, h] = [pen.between(110, 240), pen.between(70, 130), pen.between(800, 900), pen.between(480, 540)]
  const { svg, ink } = panel(pen, [x, y, w, h])
  const side = pen.one([0, 190])
  const dots = times(3, (n) => `<circle cx="${x + 26 + n * 22}" cy="${y + 26}" r="7" fill="${pen.accents[n]}"/>`)
  const bar = side ? box(x + 16, y + 60, side - 30, h - 80, isDarkFill(pen.panel) ? '#3a4152' : '#e9edf3', 10) : ''
  const head = text(pen, pen.words(2), [x + side + 34, y + 100], 34, { fill: ink })
  return svg + dots + bar + head + rows(pen, [x + side + 34, y + 130, w - side - 70, h - 170], 4, ink)
}

function cards(pen: Pen): string {
  const [columns, lines] = pen.one([
    [3, 1],
    [2, 2],
    [4, 1],
    [3, 2],
  ] as const)
  const [w, h] = [(1060 - (columns - 1) * 30) / columns, (lines === 1 ? 380 : 500 - 30) / lines]
  const top = 360 - (lines * h + (lines - 1) * 30) / 2 + 40
  const title = text(pen, pen.words(3), [640, top - 40], 46, { anchor: 'middle' })
  const drawn = times(columns * lines, (n) => {
    const [x, y] = [110 + (n % columns) * (w + 30), top + Math.floor(n / columns) * (h + 30)]
    const { svg, ink } = panel(pen, [x, y, w, h])
    const mark = box(x + 26, y + 26, 52, 52, pen.accents[n % 6]!, 12)
    const words = text(pen, pen.words(1), [x + 26, y + 124], 28, { fill: ink })
    return svg + mark + words + box(x + 26, y + 150, w * 0.6, 12, pen.muted, 6)
  })
  return title + drawn
}

function chat(pen: Pen): string {
  return times(4, (n) => {
    const mine = n % 2 === 1
    const w = pen.between(330, 520)
    const x = mine ? 1060 - w : 220
    const theirs = pen.dark ? '#2b3040' : '#dfe5ee'
    const fill = mine ? pen.accents[0]! : theirs
    const ink = mine || pen.dark ? '#ffffff' : '#14171d'
    return (
      box(x, 110 + n * 130, w, 96, fill, 40) +
      text(pen, pen.words(3), [x + 36, 168 + n * 130], 28, { fill: ink, weight: 'normal' })
    )
  })
}

function bars(pen: Pen): string {
  const count = 4 + Math.floor(pen.between(0, 5))
  const step = 900 / count
  const floor = 600
  const fill = pen.one([true, false])
  const drawn = times(count, (n) => {
    const h = pen.between(80, 360)
    const x = 190 + n * step
    return (
      box(x, floor - h, step * 0.6, h, fill ? pen.accents[0]! : pen.accents[n % 6]!, pen.one([0, 8])) +
      text(pen, `Q${n + 1}`, [x + step * 0.3, floor + 40], 22, { anchor: 'middle', fill: pen.muted })
    )
  })
  return text(pen, pen.words(3), [190, 130], 48) + drawn + box(170, floor, 940, 3, pen.muted)
}

function lineChart(pen: Pen): string {
  const points = Array.from({ length: 9 }, (_, n) => [190 + n * 112, 520 - n * pen.between(10, 45)])
  const grid = times(
    5,
    (n) =>
      box(170, 160 + n * 100, 940, 2, pen.muted) +
      text(pen, String(100 - n * 20), [150, 168 + n * 100], 20, { anchor: 'end', fill: pen.muted }),
  )
  return (
    text(pen, pen.words(2), [170, 110], 44) +
    grid +
    `<polyline points="${points.map((point) => point.join(',')).join(' ')}" fill="none" stroke="${pen.accents[0]}"
      stroke-width="8"/>`
  )
}

function ring(pen: Pen): string {
  const share = Math.round(pen.between(30, 90))
  const length = 2 * Math.PI * 180
  const circle = (stroke: string, dash: string) =>
    `<circle cx="460" cy="360" r="180" fill="none" stroke="${stroke}" stroke-width="44" ${dash}/>`
  return (
    circle(pen.dark ? '#3a4152' : '#d7dce5', '') +
    circle(pen.accents[0]!, `stroke-dasharray="${(length * share) / 100} ${length}"`) +
    text(pen, `${share}%`, [460, 385], 76, { anchor: 'middle' }) +
    text(pen, pen.words(2), [740, 350], 44) +
    text(pen, pen.words(3), [740, 410], 26, { fill: pen.muted })
  )
}

/** A mark as brands have them, with or without the name. */
function logo(pen: Pen): string {
  const fill = pen.accents[0]!
  const [x, y] = pen.one([
    [640, 300],
    [430, 360],
  ] as const)
  const marks = [
    `<circle cx="${x}" cy="${y}" r="80" fill="${fill}"/><circle cx="${x}" cy="${y}" r="36" fill="${pen.ground}"/>`,
    `<path d="M${x - 80} ${y + 70} L${x} ${y - 90} L${x + 80} ${y + 70} Z" fill="${fill}"/>`,
    `${box(x - 75, y - 75, 150, 150, fill, 36)}<circle cx="${x}" cy="${y}" r="34" fill="#ffffff"/>`,
    box(x - 70, y - 70, 60, 140, fill, 30) + box(x + 10, y - 70, 60, 90, pen.accents[1]!, 30),
  ]
  const name = pen.one(['Atlas', 'Relay', 'Nimbus', 'Fjord', 'Quill', 'Ovation'])
  const word =
    x === 640 ? text(pen, name, [x, y + 190], 84, { anchor: 'middle' }) : text(pen, name, [x + 130, y + 36], 110)
  return pen.one(marks) + word
}

function figures(pen: Pen): string {
  return times(6, (n) => {
    const [x, y, r] = [pen.between(100, 1180), pen.between(80, 640), pen.between(30, 160)]
    return pen.one([true, false])
      ? `<circle cx="${x}" cy="${y}" r="${r}" fill="${pen.accents[n]}"/>`
      : `<rect width="${r * 2}" height="${r}" rx="${r / 3}" fill="${pen.accents[n]}"
          transform="translate(${x} ${y}) rotate(${pen.between(0, 90)})"/>`
  })
}

function bottle(pen: Pen): string {
  const fill = pen.accents[0]!
  return (
    box(560, 190, 160, 430, fill, 50) +
    box(605, 110, 70, 100, pen.accents[1]!, 14) +
    box(560, 330, 160, 130, '#ffffff') +
    text(pen, 'Fjord', [640, 410], 40, { anchor: 'middle', fill: '#111111' }) +
    `<ellipse cx="640" cy="640" rx="190" ry="22" fill="${pen.muted}"/>`
  )
}

function checklist(pen: Pen): string {
  const ticks = times(4, (n) => {
    const y = 210 + n * 110
    return (
      `<circle cx="270" cy="${y}" r="28" fill="${pen.accents[0]}"/>
      <path d="M257 ${y} l10 11 l18 -22" stroke="#ffffff" stroke-width="6" fill="none"/>` +
      text(pen, pen.words(3), [340, y + 15], 44)
    )
  })
  return ticks
}

function dialog(pen: Pen): string {
  const area: [number, number, number, number] = [390, 190, 500, 340]
  const { svg, ink } = panel(pen, area)
  return (
    svg +
    text(pen, pen.words(3), [430, 270], 36, { fill: ink }) +
    text(pen, pen.words(5), [430, 330], 24, { fill: pen.muted, weight: 'normal' }) +
    box(430, 420, 190, 64, pen.accents[0]!, 14) +
    text(pen, 'Allow', [525, 462], 26, { fill: '#fff', anchor: 'middle' }) +
    box(650, 420, 190, 64, pen.muted, 14) +
    text(pen, 'Not now', [745, 462], 26, { fill: '#fff', anchor: 'middle' })
  )
}

function diagram(pen: Pen): string {
  const at = ['250 360', '640 200', '640 520', '1030 360'].map((place) => place.split(' ').map(Number))
  const links = `<path d="M250 360 L640 200 L1030 360 L640 520 Z" fill="none" stroke="${pen.muted}" stroke-width="5"/>`
  const boxes = at.map(
    ([x = 0, y = 0], n) =>
      box(x - 110, y - 50, 220, 100, pen.accents[n]!, 16) +
      text(pen, pen.words(1), [x, y + 12], 32, { anchor: 'middle', fill: '#ffffff' }),
  )
  return links + boxes.join('')
}

function phones(pen: Pen): string {
  const count = pen.one([1, 1, 2, 3])
  const h = pen.between(520, 620)
  const isLeft = count === 3 || pen.one([true, false])
  const words = count === 3 ? '' : times(2, (n) => text(pen, pen.words(2), [isLeft ? 100 : 720, 340 + n * 76], 56))
  const right = count === 2 ? 590 : 800
  const single = isLeft ? right : 120
  const from = count === 3 ? 130 : single
  return words + times(count, (n) => phone(pen, from + n * (count === 3 ? 360 : 320), 360 - h / 2, h))
}

const DRAW = {
  words: (pen) => ({ svg: lines(pen, 1 + Math.floor(pen.between(0, 3)), pen.between(64, 110)), subject: 'text-card' }),
  title: (pen) => ({
    svg:
      lines(pen, 2, 76) +
      text(pen, pen.words(4), [pen.one([130, 200]), 560], 30, { fill: pen.muted, weight: 'normal' }),
    subject: 'text-card',
  }),
  counter: (pen) => ({
    svg:
      text(pen, pen.one(['12,480', '99.9%', '4.2M', '$1,250', '10x']), [640, 390], 190, { anchor: 'middle' }) +
      text(pen, pen.words(3), [640, 490], 40, { anchor: 'middle', fill: pen.muted }),
    subject: 'text-card',
  }),
  logo: (pen) => ({ svg: logo(pen), subject: 'logo' }),
  phones: (pen) => ({ svg: phones(pen), subject: 'ui', or: ['product'] }),
  window: (pen) => ({ svg: appWindow(pen), subject: 'ui' }),
  cards: (pen) => ({ svg: cards(pen), subject: 'ui' }),
  list: (pen) => {
    const { svg, ink } = panel(pen, [340, 90, 600, 540])
    return { svg: svg + rows(pen, [370, 120, 540, 480], 5, ink), subject: 'ui' }
  },
  chat: (pen) => ({ svg: chat(pen), subject: 'ui' }),
  bars: (pen) => ({ svg: bars(pen), subject: 'chart' }),
  lines: (pen) => ({ svg: lineChart(pen), subject: 'chart' }),
  ring: (pen) => ({ svg: ring(pen), subject: 'chart', or: ['ui'] }),
  figures: (pen) => ({ svg: figures(pen), subject: null }),
  bottle: (pen) => ({ svg: bottle(pen), subject: 'product' }),
  checklist: (pen) => ({ svg: checklist(pen), subject: 'text-card', or: ['ui'] }),
  dialog: (pen) => ({ svg: dialog(pen), subject: 'ui' }),
  diagram: (pen) => ({ svg: diagram(pen), subject: 'chart' }),
} satisfies Record<string, (pen: Pen) => Drawing>

export type Design = keyof typeof DRAW
export const DESIGNS = Object.keys(DRAW) as Design[]

/** A design as one page of svg, with its subject and what else may be said. */
export function drawDesign(
  design: Design,
  random: () => number,
): { page: string; subject: string | null; or: string[]; ground: string } {
  const pen = openPen(random)
  const isGradient = pen.between(0, 1) < 0.25
  const { svg, subject, or = [] }: Drawing = DRAW[design](pen)
  const next = pen.one(pen.dark ? DARK : LIGHT)
  const ground = isGradient
    ? `<linearGradient id="g" x2="0.3" y2="1"><stop stop-color="${pen.ground}"/><stop offset="1" stop-color="${next}"/>
       </linearGradient>${box(0, 0, 1280, 720, 'url(#g)')}`
    : box(0, 0, 1280, 720, pen.ground)
  const page = `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720">${ground}${svg}</svg>`
  return { page, subject, or, ground: `${pen.dark ? 'dark' : 'bright'}${isGradient ? ' gradient' : ''}` }
}
