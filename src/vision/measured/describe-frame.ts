import type { Surface } from '../../vocabulary.ts'
import {
  type AnnotatedValue,
  type FrameAnnotation,
  type FrameMeasures,
  type FrameToAnnotate,
  NOT_READ,
  type TechniqueTerm,
} from '../annotator.ts'
import { plainText } from '../plain-text.ts'
import { writeCaption } from './caption.ts'
import { concludeBuild, concludeDrawn, findParts, holds, isMotionGraphics, type Parts } from './drawn.ts'
import type { FaceFinding } from './faces.ts'
import { isDrawn, type Picture } from './picture.ts'
import type { Reading, Word } from './read-text.ts'
import {
  type Conclusion,
  concludeShot,
  concludeSubject,
  concludeSurface,
  concludeTechnique,
  concludeZone,
  keepPlausible,
  measureLettering,
} from './rules.ts'
import type { Drawing } from './shapes.ts'

const MAX_READ = 2000
/** The part of a film behind which an end card stands. */
const ENDING = 0.85

/** What one look at a frame gave. `reading` is null where nothing was to read. */
interface Look {
  picture: Picture
  drawing: Drawing
  faces: FaceFinding
  reading: Reading | null
}

/** Turns what was measured and read into an annotation. */
export function describeFrame(
  frame: Omit<FrameToAnnotate, 'image'>,
  { picture, drawing, faces, reading }: Look,
  { techniques, durationSec }: { techniques: readonly TechniqueTerm[]; durationSec: number },
): FrameAnnotation {
  const words = reading && 'words' in reading ? reading.words : []
  const unread = reading && 'unread' in reading ? `${NOT_READ}: ${reading.unread}` : null
  const read = withoutColumns(keepPlausible(words, isDrawn(picture)), drawing)
  const parts = faces.faces.length === 0 ? findParts(picture, drawing, read) : null
  const mark = parts?.mark
  // A mark is read as a letter.
  const kept = mark ? read.filter((word) => word.text.length > 1 || !holds(mark, word)) : read
  const lettering = measureLettering(kept, picture)
  const fromParts = parts && concludeDrawn(parts, kept)
  const shot = concludeShot(picture, faces)
  const zone = concludeZone(faces)
  const bySigns = concludeSubject(picture, faces, lettering)
  const subject = bySigns.value === 'terminal' || !fromParts ? bySigns : fromParts
  const isMade = subject === fromParts && parts !== null && isMotionGraphics(parts, kept)
  const surface: Conclusion<Surface> = isMade
    ? { value: 'motion-graphics', confidence: 0.85 }
    : concludeSurface(picture, subject.value, lettering)
  const build = subject === fromParts && parts ? concludeBuild(parts, frame.rest) : null
  const isEnding = durationSec > 0 && frame.tSec >= ENDING * durationSec
  const shown = { picture, shot: shot.value, subject: subject.value, words: kept, reason: frame.reason, isEnding }
  const technique = build ?? concludeTechnique(shown)
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
    parts: subject === fromParts ? parts : null,
    ground: drawing.groundColour,
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
        : unknown('ocr', unread ?? reasonWithoutText(reading)),
      caption: { value: writeCaption(facts), source: 'measured', confidence: null },
      composition: unknown('measured', 'needs a vision model or a person'),
      steal: unknown('measured', 'needs a vision model or a person'),
    },
    measures: measuresOf({ picture, drawing, faces, subject: subject.value, parts }),
    issues: unread ? [{ attribute: 'on_screen_text', code: 'not_read', message: unread }] : [],
  }
}

/** Columns of a chart are read as ones. */
function withoutColumns(words: readonly Word[], { shapes }: Drawing): Word[] {
  const isColumn = (word: Word) =>
    /^[Il1|]+$/.test(word.text) &&
    shapes.some(
      (shape) =>
        shape.rim >= 0.8 &&
        shape.width >= 0.03 &&
        shape.x >= word.x - 0.02 &&
        shape.x + shape.width <= word.x + word.width + 0.02 &&
        shape.y < word.y + word.height &&
        shape.y + shape.height > word.y,
    )
  return words.filter((word) => !isColumn(word))
}

/** A cell with less ink than this, in hundredths, is bare. */
const BARE = 2

function measuresOf(of: {
  picture: Picture
  drawing: Drawing
  faces: FaceFinding
  subject: string | null
  parts: Parts | null
}): FrameMeasures {
  const { picture, drawing, faces, subject, parts } = of
  const isCard = subject === 'text-card'
  const ink = parts ? drawing.ink : picture.ink
  const bare = ink.filter((share) => share < BARE).length / ink.length
  return {
    faces: faces.doubtful > 0 ? null : faces.faces.length,
    emptyShare: parts || isDrawn(picture) ? round(bare) : null,
    ink: isCard ? picture.inkColour : null,
    ground: isCard ? picture.groundColour : null,
  }
}

/** Why lines gave no word is not known: the script, the letters, or the picture. */
function reasonWithoutText(reading: Reading | null): string {
  const isSeen = reading && 'lines' in reading && reading.lines > 0
  return isSeen ? 'what may be letters was seen, but no word was read with certainty' : 'no readable text'
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
