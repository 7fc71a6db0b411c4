import type { AnnotatedValue, FrameAnnotation, FrameMeasures, FrameToAnnotate, TechniqueTerm } from '../annotator.ts'
import { plainText } from '../plain-text.ts'
import type { FaceFinding } from './faces.ts'
import { isDrawn, type Picture } from './picture.ts'
import type { Word } from './read-text.ts'
import {
  type Conclusion,
  concludeShot,
  concludeSubject,
  concludeSurface,
  concludeTechnique,
  concludeZone,
  foregroundFaces,
  keepPlausible,
  measureLettering,
} from './rules.ts'

const MAX_READ = 2000
const MAX_QUOTED = 160

/** Turns what was measured and read into an annotation. `words` is null when the reading timed out. */
export function describeFrame(
  frame: FrameToAnnotate,
  { picture, faces }: { picture: Picture; faces: FaceFinding },
  words: readonly Word[] | null,
  techniques: readonly TechniqueTerm[],
): FrameAnnotation {
  const kept = keepPlausible(words ?? [], isDrawn(picture))
  const lettering = measureLettering(kept, picture)
  const shot = concludeShot(picture, faces)
  const zone = concludeZone(faces)
  const subject = concludeSubject(picture, faces, lettering)
  const surface = concludeSurface(picture, subject.value, lettering)
  const technique = concludeTechnique(picture, shot.value, subject.value, frame.reason)
  const isListed = technique.value === null || techniques.some(({ slug }) => slug === technique.value)
  const text = plainText(joinLines(kept), MAX_READ)
  const facts = {
    picture,
    tone: frame.tone,
    faces,
    shot: shot.value,
    zone: zone.value,
    subject: subject.value,
    words: kept,
    text,
  }
  return {
    frameId: frame.id,
    status: 'annotated',
    values: {
      subject: toValue(subject, 'rule'),
      surface: toValue(surface, 'rule'),
      shot: toValue(shot, 'measured'),
      zone: toValue(zone, 'measured'),
      technique: isListed ? toValue(technique, 'rule') : unknown('rule', 'not in the vocabulary'),
      on_screen_text: text
        ? { value: text, source: 'ocr', confidence: meanConfidence(kept) }
        : unknown('ocr', words === null ? 'reading took too long' : 'no readable text'),
      caption: { value: writeCaption(facts), source: 'measured', confidence: null },
      composition: unknown('measured', 'needs a vision model or a person'),
      steal: unknown('measured', 'needs a vision model or a person'),
    },
    measures: measuresOf(picture, faces, subject.value),
    issues: words === null ? [{ attribute: 'on_screen_text', code: 'timeout', message: 'reading took too long' }] : [],
  }
}

/** A cell with less ink than this, in hundredths, is bare. */
const BARE = 2

function measuresOf(picture: Picture, { faces, doubtful }: FaceFinding, subject: string | null): FrameMeasures {
  const isCard = subject === 'text-card'
  const bare = picture.ink.filter((share) => share < BARE).length / picture.ink.length
  return {
    faces: doubtful > 0 ? null : faces.length,
    emptyShare: isDrawn(picture) ? round(bare) : null,
    ink: isCard ? picture.inkColour : null,
    ground: isCard ? picture.groundColour : null,
  }
}

function toValue(conclusion: Conclusion<string>, source: 'measured' | 'rule'): AnnotatedValue {
  if (conclusion.value === null) return unknown(source, conclusion.reason)
  return { value: conclusion.value, source, confidence: round(conclusion.confidence) }
}

function unknown(source: AnnotatedValue['source'], reason: string): AnnotatedValue {
  return { value: null, source, confidence: null, reason }
}

function meanConfidence(words: readonly Word[]): number {
  return round(words.reduce((sum, { confidence }) => sum + confidence, 0) / words.length)
}

function round(confidence: number): number {
  return Math.round(confidence * 1000) / 1000
}

function joinLines(words: readonly Word[]): string {
  const lines = [...Map.groupBy(words, (word) => word.line).values()]
  return lines.map((line) => line.map((word) => word.text).join(' ')).join('\n')
}

interface Facts {
  picture: Picture
  tone: string
  faces: FaceFinding
  shot: string | null
  zone: string | null
  subject: string | null
  words: readonly Word[]
  text: string
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
function writeCaption({ picture, tone, faces, shot, zone, subject, words, text }: Facts): string {
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

function textPlace(words: readonly Word[]): string | null {
  if (words.length === 0) return null
  const left = Math.min(...words.map((word) => word.x))
  const right = Math.max(...words.map((word) => word.x + word.width))
  const center = (left + right) / 2
  if (right - left > 0.85) return null
  if (Math.abs(center - 0.5) < 0.08) return 'centred'
  return center < 0.5 ? 'at the left' : 'at the right'
}
