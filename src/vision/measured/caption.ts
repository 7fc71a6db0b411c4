import { plainColor, toOklab, toPolar } from '../../vocabulary.ts'
import { plainText } from '../plain-text.ts'
import { type Box, holds, type Parts, unite } from './drawn.ts'
import type { FaceFinding } from './faces.ts'
import { isDrawn, type Picture } from './picture.ts'
import type { Word } from './read-text.ts'
import { foregroundFaces } from './rules.ts'

const MAX_QUOTED = 160

export interface CaptionFacts {
  picture: Picture
  tone: string
  faces: FaceFinding
  shot: string | null
  zone: string | null
  subject: string | null
  words: readonly Word[]
  text: string
  /** Null where the picture is not told by its parts. */
  parts: Parts | null
  /** The ground's colour, `#rrggbb`. */
  ground: string
}

const NAMES: Record<string, string> = {
  presenter: 'picture of a presenter',
  crowd: 'picture of a crowd',
  terminal: 'terminal',
  'text-card': 'text card',
  ui: 'user interface',
  chart: 'chart',
}

const SIZES: Record<string, string> = {
  'corner-inset': 'a face in a corner inset',
  'wide-presenter': 'wide shot',
  'medium-presenter': 'medium shot',
  'close-presenter': 'close shot',
}

/** A plain sentence of measured facts only, so that a library without a model can be searched. */
export function writeCaption(facts: CaptionFacts): string {
  const { picture, tone, faces, shot, zone, subject, words, text } = facts
  if (facts.parts) return captionOfParts(facts.parts, facts)
  const drawn = isDrawn(picture)
  const unnamed = drawn ? 'drawn or captured screen' : 'picture'
  const name = subject ? NAMES[subject]! : unnamed
  const parts = [`${tone === 'dark' ? 'Dark' : 'Bright'} ${name}`]
  const count = foregroundFaces(faces).length
  if (subject === 'crowd') parts.push(`${faces.faces.length} faces`)
  else if (count > 0) {
    if (shot) parts.push(SIZES[shot]!)
    parts.push(`${count === 1 ? 'face' : `${count} faces, the largest`} ${zone?.replace('-', ' ')}`)
  } else if (shot === 'no-face' && !drawn) parts.push('no face')
  const place = textPlace(words)
  if (drawn && count === 0 && place) parts.push(place)
  const quoted = plainText(text.replaceAll('\n', ' '), MAX_QUOTED)
  return quoted ? `${parts.join(', ')}; text: ${quoted}` : parts.join(', ')
}

function textPlace(words: readonly Box[]): string | null {
  if (words.length === 0) return null
  const left = Math.min(...words.map((word) => word.x))
  const right = Math.max(...words.map((word) => word.x + word.width))
  const center = (left + right) / 2
  if (right - left > 0.85) return null
  if (Math.abs(center - 0.5) < 0.08) return 'centred'
  return center < 0.5 ? 'at the left' : 'at the right'
}

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']

/** First what the picture says, then what stands in it and where, then its ground. */
function captionOfParts(parts: Parts, { words, ground }: CaptionFacts): string {
  const { phones, windows, cards, bubbles, bars, ring, mark } = parts
  const panels = [...phones, ...windows, ...cards, ...bubbles]
  const said = words.filter((word) => !panels.some((panel) => holds(panel, word)))
  const told: string[] = []
  const tell = (boxes: readonly Box[], one: string, many: string) => {
    if (boxes.length === 0) return
    const count = NUMBERS[boxes.length] ?? String(boxes.length)
    const place = textPlace([unite(boxes)])
    told.push(`${boxes.length === 1 ? one : `${count} ${many}`}${place ? ` ${place}` : ''}`)
  }
  const quoted = quote(said)
  const place = textPlace(said)
  if (quoted) told.push(`"${quoted}"${place ? ` ${place}` : ''}`)
  tell(phones, 'a phone', 'phones')
  tell(windows, 'a window', 'windows')
  if (windows.length === 0) tell(cards, 'a card', 'cards')
  if (windows.length === 0) tell(bubbles, 'a message', 'messages')
  if (bars.length > 0) told.push(`a chart of ${NUMBERS[bars.length] ?? bars.length} columns`)
  else if (ring) told.push('a ring chart')
  else if (parts.hasAxis) told.push('a chart with an axis')
  if (mark && panels.length === 0 && bars.length === 0) told.push('a mark')
  const sentence = `${told.join(', ')}, on ${groundName(ground)}`
  const inside = quote(words.filter((word) => !said.includes(word)))
  const whole = inside ? `${sentence}; text: ${inside}` : sentence
  return whole.charAt(0).toUpperCase() + whole.slice(1)
}

function quote(words: readonly Word[]): string {
  return plainText(words.map(({ text }) => text).join(' '), MAX_QUOTED)
}

/** What a ground is called: the name by which the filter finds it, and how light it is. */
export function groundName(hex: string): string {
  const color = toPolar(toOklab(hex))
  const name = plainColor(color)
  if (name === 'black' || name === 'white') return name
  if (color.l < DARK) return `dark ${name}`
  return color.l > LIGHT ? `light ${name}` : name
}

const DARK = 0.42
const LIGHT = 0.8
