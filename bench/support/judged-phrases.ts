import type { Platform } from '../../src/vocabulary.ts'
import type { SeedFrame } from '../../test/support/seed.ts'
import judged from './judged-frames.json' with { type: 'json' }

/**
 * Frames with attributes, most as a vision model describes them and some as the measuring annotator does, and phrases
 * as agents write them. The phrases were judged by attributes and texts before any ranking was tuned: 3 what was asked
 * for, 2 nearly so, 1 passable. The tools' descriptions suggest the first ten. Nobody tunes by the last twenty.
 */

export interface PhraseFrame extends SeedFrame {
  key: string
  /** Of its video. */
  platform?: Platform
}

export interface Phrase {
  q: string
  wanted: Record<string, number>
}

export const PHRASE_FRAMES = judged.frames as readonly PhraseFrame[]

/** Reads `question | 3: keys; 2: keys; 1: keys` of each line: the frames by how well they fit. */
export function judgedLines(text: string): Phrase[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [q, grades] = line.split(' | ') as [string, string]
      const wanted = grades.split('; ').flatMap((part) => {
        const [grade, keys] = part.split(': ') as [string, string]
        return keys.split(' ').map((key) => [key, Number(grade)] as const)
      })
      return { q, wanted: Object.fromEntries(wanted) }
    })
}

const CARDS = 'promise-black question-white number-black quote-bright end-dark'
const TALKING = 'founder-close host-medium customer-close m-presenter-close m-presenter-medium'

export const PHRASES: Record<'suggested' | 'tuned' | 'held', readonly Phrase[]> = {
  suggested: judgedLines(`
white headline on black | 3: promise-black m-card-dark; 2: number-black end-dark
dark terminal | 3: deploy-log m-terminal inset-dark
how it opens | 3: question-white host-medium logo-night city-drone
text-card | 3: ${CARDS} type-moves slide-plan m-card-dark m-card-bright
close-presenter | 3: founder-close customer-close m-presenter-close
corner inset over a screen recording | 3: inset-demo inset-dark; 2: m-inset
where the face sits at the top left | 3: m-presenter-medium; 1: host-medium m-inset
motion graphics chart | 3: growth-bright latency-dark m-chart
3d render of a product | 3: watch-render phone-exploded; 1: bottle-desk
logo reveal | 3: logo-night; 1: logo-day
`),
  tuned: judgedLines(`
terminal that is dark | 3: deploy-log m-terminal inset-dark
presenter close up | 3: founder-close customer-close m-presenter-close
person talking to the camera | 3: ${TALKING}; 2: street-medium keynote-wide
headline on white | 3: question-white m-card-bright; 2: quote-bright slide-plan; 1: headline-paper
big number on a dark background | 3: number-black; 1: latency-dark
show me a bright dashboard with a chart | 3: growth-bright m-chart
code editor in dark mode | 3: editor-dark; 1: m-ui-dark deploy-log
a command line with a person in the corner | 3: inset-dark; 1: inset-demo m-inset
speaker on a stage | 3: keynote-wide
founder talking about failure | 3: founder-close
customer testimonial close-up | 3: customer-close; 1: founder-close m-presenter-close
end card with a url on black | 3: end-dark; 1: promise-black m-card-dark
product shot of a red bottle | 3: bottle-desk
opening shot from a drone | 3: city-drone
crowds in the dark | 3: crowd-hall; 1: crowd-park m-crowd
bright ui walkthrough | 3: inbox-bright; 2: m-ui-bright inset-demo split-tools
slide with prices | 3: slide-plan
exploded view of a phone | 3: phone-exploded
animated typography | 3: type-moves
graph of revenue growth | 3: growth-bright; 1: m-chart latency-dark
hands working with clay | 3: hands-clay
webcam bubble over a settings page | 3: inset-demo; 2: m-inset inset-dark
logo on black | 3: logo-night; 1: logo-day
interview in the street | 3: street-medium
youtube presenter | 3: founder-close host-medium
quotation from a customer | 3: quote-bright; 2: customer-close
split screen of two tools | 3: split-tools
light terminal | 3: bright-shell; 1: deploy-log m-terminal inset-dark
git in the shell | 3: m-terminal; 2: bright-shell; 1: deploy-log inset-dark
screen capture with a face at the bottom | 3: inset-demo m-inset; 1: inset-dark
`),
  held: judgedLines(`
dark title card | 3: promise-black m-card-dark; 2: number-black end-dark
woman explaining the settings | 3: inset-demo
closeup of a founder | 3: founder-close; 1: customer-close m-presenter-close
bright text on screen asking a question | 3: question-white; 1: m-card-bright
charts with a dark background | 3: latency-dark; 1: growth-bright m-chart
talking head on youtube | 3: host-medium founder-close
rotating product in 3d | 3: watch-render; 2: phone-exploded
examples of kinetic typography | 3: type-moves
app screen with a sidebar of members | 3: m-ui-bright inset-demo
presenters who stand on the left | 3: host-medium m-presenter-medium
something that fades to black | 3: m-black
customer logos in a grid | 3: logo-day; 1: logo-night
aerial intro | 3: city-drone; 1: question-white host-medium logo-night
a terminal where tests pass | 3: bright-shell
timelapse of servers | 3: servers-lapse
wide shot of a keynote | 3: keynote-wide
testimonial posted on linkedin | 3: customer-close
animation of a logo being drawn | 3: logo-night; 1: logo-day
picture in picture while typing commands | 3: inset-dark; 2: inset-demo m-inset
light user interface without a face | 3: inbox-bright m-ui-bright split-tools
`),
}
