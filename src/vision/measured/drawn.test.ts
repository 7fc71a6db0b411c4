import { expect, test } from 'vitest'
import { groundName } from './caption.ts'
import { concludeBuild, concludeDrawn, findParts, isMotionGraphics } from './drawn.ts'
import { measurePicture, type Raster } from './picture.ts'
import type { Word } from './read-text.ts'
import { measureDrawing } from './shapes.ts'

type Painted = [x: number, y: number, width: number, height: number, grey: number]

/** Boxes on a ground, 640×360. A gradient ground grows darker to the right. */
function paint(boxes: readonly Painted[], ground = (_x: number) => 250): Raster {
  const data = new Uint8Array(640 * 360 * 3)
  for (let y = 0; y < 360; y++)
    for (let x = 0; x < 640; x++) data.fill(ground(x), (y * 640 + x) * 3, (y * 640 + x) * 3 + 3)
  for (const [left, top, width, height, grey] of boxes)
    for (let y = top; y < top + height; y++) data.fill(grey, (y * 640 + left) * 3, (y * 640 + left + width) * 3)
  return { data, width: 640, height: 360 }
}

function word(text: string, x: number, y: number, height: number, line = 0): Word {
  return { text, x, y, height, width: text.length * height * 0.35, confidence: 0.9, line }
}

function look(raster: Raster, words: readonly Word[] = []) {
  const parts = findParts(measurePicture(raster), measureDrawing(raster), words)
  return { parts, subject: parts && concludeDrawn(parts, words)?.value }
}

const phoneAt = (x: number): Painted[] => [
  [x, 40, 130, 280, 20],
  [x + 15, 70, 100, 20, 120],
  [x + 15, 110, 100, 40, 200],
  [x + 15, 170, 100, 40, 90],
  [x + 15, 260, 100, 30, 160],
]

test('phones are an interface in a device mock-up, also on a gradient', () => {
  const boxes = [...phoneAt(300), ...phoneAt(460)]
  const { parts, subject } = look(paint(boxes))
  expect(parts?.phones).toHaveLength(2)
  expect(subject).toBe('ui')
  expect(isMotionGraphics(parts!, [])).toBe(true)
  expect(concludeBuild(parts!, null)).toMatchObject({ value: 'device-mockup' })
  expect(look(paint(boxes, (x) => 255 - Math.floor(x / 8))).subject).toBe('ui')
})

test('columns of many heights on one line are a chart, and equal panels are not', () => {
  const columns = (heights: number[]) =>
    heights.map((height, n): Painted => [100 + n * 90, 300 - height, 50, height, 60 + n * 20])
  const { parts, subject } = look(paint(columns([60, 110, 90, 170, 200])))
  expect(subject).toBe('chart')
  const rest = { fromMs: 2000, toMs: 3000, builtFromMs: 0, steps: 2, edges: 100, isAtRest: true }
  expect(concludeBuild(parts!, rest)).toMatchObject({ value: 'chart-growth' })
  expect(concludeBuild(parts!, null)).toBeNull()
  expect(look(paint(columns([150, 150, 150, 150]))).subject).not.toBe('chart')
})

test('numbers are an axis where they fall in a column or rise in a row by equal steps; line numbers are none', () => {
  const column = (numbers: string[]) => numbers.map((text, n) => word(text, 0.1, 0.2 + n * 0.1, 0.04, n))
  const row = (numbers: string[]) => numbers.map((text, n) => word(text, 0.1 + n * 0.2, 0.8, 0.04))
  const isChart = (words: Word[]) => look(paint([[120, 80, 400, 6, 100]]), words).subject === 'chart'
  const charts = [column(['100', '080', '060', '040']), row(['0', '5', '10', '15'])]
  const others = [column(['12', '40', '33', '20']), column(['11', '12', '13', '14']), row(['12', '40', '33', '20'])]
  expect([...charts, ...others].map(isChart)).toEqual([true, true, false, false, false])
})

test('a panel with rows is an interface, an empty one and loose figures are nothing sure', () => {
  const rows: Painted[] = [0, 1, 2, 3, 4].map((n) => [230, 90 + n * 40, 180, 14, 90 + n * 20])
  expect(look(paint([[200, 60, 240, 240, 180], ...rows])).subject).toBe('ui')
  expect(look(paint([[200, 60, 240, 240, 180]])).subject).toBeUndefined()
  expect(
    look(
      paint([
        [50, 60, 90, 40, 180],
        [400, 200, 40, 90, 30],
      ]),
    ).subject,
  ).toBeUndefined()
})

test('a mark with its name beside it is a logo; the name alone is a text card', () => {
  const name = word('Relay', 0.47, 0.44, 0.12)
  const letters: Painted = [301, 159, 134, 43, 0]
  expect(look(paint([[200, 135, 90, 90, 60], letters]), [name]).subject).toBe('logo')
  const alone = look(paint([letters]), [name])
  expect(alone.subject).toBe('text-card')
  const rest = { fromMs: 2000, toMs: 3000, builtFromMs: 0, steps: 3, edges: 100, isAtRest: true }
  // Steps of a build-up are no type in motion.
  expect(concludeBuild(alone.parts!, rest)).toBeNull()
})

test('grounds are named plainly', () => {
  expect(['#ffffff', '#000000', '#0b3d2e', '#fde8e8', '#808080', '#1e1b4b'].map(groundName)).toEqual([
    'white',
    'black',
    'dark green',
    'white',
    'grey',
    'dark blue',
  ])
})
