import {
  box,
  close,
  type Element,
  INKS,
  type Kit,
  kit,
  type Making,
  SCENES,
  type Scene,
  text,
  type Way,
} from './motion-scenes.ts'

interface StateChange {
  y?: number
  takes?: number
  /** Whether a state stays below the next one. */
  stays?: boolean
}

/** States one after the other, each of which rests: what stands behind them, and what each brings. */
function inStates(given: Kit, behind: Element[], states: readonly string[], how: StateChange = {}): Scene {
  const { y = 190, takes = 0.35, stays = false } = how
  const elements = [...behind]
  const rests: Scene['rests'] = []
  const enters = takes === 0 ? 'none' : given.one<Way>(stays ? ['fade'] : ['fade', 'rise', 'pop'])
  let at = 0.3
  for (const [n, svg] of states.entries()) {
    const settled = at + takes
    const rest = given.between(0.7, 1.8)
    if (n === states.length - 1)
      return close(given, [...elements, { svg, x: 320, y, at, takes, enters }], settled, { rests })
    elements.push({ svg, x: 320, y, at, takes, enters, ...(stays ? {} : { until: settled + rest }) })
    rests.push({ from: settled, to: settled + rest })
    at = settled + rest + (stays ? 0 : 0.35)
  }
  return close(given, elements, at, { rests })
}

/** Panels that swap their colours in place, at once or by a fade. */
function swap(making: Making): Scene {
  const given = kit(making)
  const names = given.words(3)
  const panels = () =>
    given
      .inks()
      .slice(0, 3)
      .map(
        (ink, n) =>
          `<g transform="translate(${(n - 1) * 200} 0)">${box(170, 190, ink, 14)}${text(names[n]!, 22, '#ffffff')}</g>`,
      )
      .join('')
  const title: Element = {
    svg: text(given.words(2).join(' '), 30, given.ink),
    x: 320,
    y: 60,
    at: 0,
    takes: 0.3,
    enters: 'fade',
  }
  return inStates(given, [title], [panels(), panels(), panels()], { takes: given.one([0, 0.3]), stays: true })
}

/** A ground which never rests, or which is a photograph. */
function groundOf(given: Kit, more: string[] = []): Element {
  const blobs = Array.from({ length: 5 }, () => ({
    ink: given.one(INKS),
    r: given.between(120, 220),
    x: given.between(-300, 300),
    y: given.between(-150, 150),
    speed: given.between(0.5, 1.2),
  }))
  const moving = (sec: number) =>
    blobs
      .map(({ ink, r, x, y, speed }, n) => {
        const [cx, cy] = [x + 160 * Math.sin(speed * sec + n), y + 90 * Math.cos(speed * sec + 2 * n)]
        return `<radialGradient id="b${n}"><stop stop-color="${ink}" stop-opacity="0.55"/><stop offset="1"
          stop-color="${ink}" stop-opacity="0"/></radialGradient>
          <circle cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="${r.toFixed(0)}" fill="url(#b${n})"/>`
      })
      .join('')
  const specks = Array.from({ length: 240 }, () => {
    const size = [given.between(10, 60), given.between(10, 60)].map((value) => value.toFixed(0))
    const [x, y] = [given.between(-340, 340).toFixed(0), given.between(-200, 200).toFixed(0)]
    return `<ellipse cx="${x}" cy="${y}" rx="${size[0]}" ry="${size[1]}" fill="${given.one(INKS)}"
      fill-opacity="0.35"/>`
  }).join('')
  const photo = (sec: number) => `<g transform="scale(${(1 + 0.02 * sec).toFixed(4)})">${specks}</g>`
  const svg = given.one([moving, moving, photo, specks, ...more])
  return { svg, x: 320, y: 180, at: 0, takes: 0, enters: 'none' }
}

/** Words that change over such a ground. */
function tide(making: Making): Scene {
  const given = kit(making)
  const ground = groundOf(given)
  const states = Array.from({ length: 3 }, () => {
    const lines = [given.words(2).join(' '), given.words(2).join(' ')]
    return lines
      .map((content, n) => `<g transform="translate(0 ${n * 56})">${text(content, 44, given.ink)}</g>`)
      .join('')
  })
  return inStates(given, [ground], states, { y: 160 })
}

/** What changes in place, and what moves behind words: films of their own. */
export const CHANGING_SCENES: Readonly<Record<string, (making: Making) => Scene>> = { swap, tide }

/** What is built up over a photograph, a gradient or a ground that moves, which stays until the scene ends. */
const over =
  (build: (making: Making) => Scene) =>
  (making: Making): Scene => {
    const given = kit(making)
    const [from, to] = given.inks()
    const slope = `<linearGradient id="slope" x2="1" y2="1"><stop stop-color="${from}" stop-opacity="0.6"/>
      <stop offset="1" stop-color="${to}" stop-opacity="0.6"/></linearGradient>
      <rect x="-320" y="-180" width="640" height="360" fill="url(#slope)"/>`
    const ground = { ...groundOf(given, [slope, slope]), until: Number.POSITIVE_INFINITY }
    const scene = build(making)
    return { ...scene, driftShare: 0, elements: [ground, ...scene.elements] }
  }

const { words, cards, list, chart, counter, panel } = SCENES
/** What is built up over such grounds: films of their own. */
export const GROUNDED_SCENES = Object.fromEntries(
  Object.entries({ words, cards, list, chart, counter, panel }).map(([kind, build]) => [kind, over(build!)]),
)
