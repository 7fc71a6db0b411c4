import type { AnnotatedValue, FrameAnnotation, FrameToAnnotate, TechniqueTerm } from '../annotator.ts'
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

/** Turns what was measured and read into an annotation. `words` is null when reading took too long. Pure. */
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
      technique:
        technique.value && !techniques.some((term) => term.slug === technique.value)
          ? { value: null, source: 'rule', confidence: null, reason: 'not in the vocabulary' }
          : toValue(technique, 'rule'),
      on_screen_text: text
        ? {
            value: text,
            source: 'ocr',
            confidence: round(kept.reduce((sum, word) => sum + word.confidence, 0) / kept.length),
          }
        : {
            value: null,
            source: 'ocr',
            confidence: null,
            reason: words === null ? 'reading took too long' : 'no readable text',
          },
      caption: { value: writeCaption(facts), source: 'measured', confidence: null },
      composition: { value: null, source: 'measured', confidence: null, reason: 'needs a vision model or a person' },
      steal: { value: null, source: 'measured', confidence: null, reason: 'needs a vision model or a person' },
    },
    issues: words === null ? [{ attribute: 'on_screen_text', code: 'timeout', message: 'reading took too long' }] : [],
  }
}

function toValue(conclusion: Conclusion<string>, source: 'measured' | 'rule'): AnnotatedValue {
  if (conclusion.value === null) return { value: null, source, confidence: null, reason: conclusion.reason }
  return { value: conclusion.value, source, confidence: round(conclusion.confidence) }
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

/** A plain sentence that says only what was measured, so that a library without a model can be searched. */
function writeCaption({ picture, tone, faces, shot, zone, subject, words, text }: Facts): string {
  const drawn = isDrawn(picture)
  const name = subject ? NAMES[subject]! : drawn ? 'drawn or captured screen' : 'picture'
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
