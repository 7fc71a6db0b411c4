import type { Shot, Subject, Surface, Zone } from '../../vocabulary.ts'
import type { Face, FaceFinding } from './faces.ts'
import { INK_COLUMNS, INK_ROWS, isDrawn, type Picture } from './picture.ts'
import type { Word } from './read-text.ts'

/** What a rule concludes: a value and how sure it is, or the reason why it concludes nothing. */
export type Conclusion<T extends string> = { value: T; confidence: number } | { value: null; reason: string }

/** The foreground faces. The many small faces of a crowd are background, as in the labels. */
export function foregroundFaces({ faces }: FaceFinding): Face[] {
  return isCrowd(faces) ? [] : faces
}

function isCrowd(faces: readonly Face[]): boolean {
  return faces.length >= 4 && faces.every((face) => face.height < 0.16)
}

function largest(faces: readonly Face[]): Face | undefined {
  return faces.toSorted((a, b) => b.height * b.width - a.height * a.width)[0]
}

const UNSURE = 'a face is neither sure nor ruled out'

/** The shot by the height of the largest face, a film convention. The thresholds fit the detector's boxes. */
export function concludeShot(picture: Picture, finding: FaceFinding): Conclusion<Shot> {
  const face = largest(foregroundFaces(finding))
  if (!face)
    return finding.doubtful > 0
      ? { value: null, reason: UNSURE }
      : { value: 'no-face', confidence: isDrawn(picture) ? 0.97 : 0.92 }
  if (isInset(picture, face)) return { value: 'corner-inset', confidence: 0.95 }
  const confidence = Math.min(0.95, face.score)
  if (face.height < 0.13) return { value: 'wide-presenter', confidence: confidence * 0.9 }
  if (face.height < 0.4) return { value: 'medium-presenter', confidence }
  return { value: 'close-presenter', confidence }
}

/** A small face in a corner of a picture that is otherwise a screen. */
function isInset(picture: Picture, face: Face): boolean {
  const corner = Math.abs(face.x - 0.5) > 0.15 && Math.abs(face.y - 0.5) > 0.15
  return corner && face.height < 0.3 && picture.commonest >= 0.3 && picture.colours <= 60
}

export function concludeZone(finding: FaceFinding): Conclusion<Zone> {
  const face = largest(foregroundFaces(finding))
  if (!face) return finding.doubtful > 0 ? { value: null, reason: UNSURE } : { value: 'none', confidence: 0.9 }
  const { x, y } = headCentre(face)
  const toBorder = Math.min(...[1 / 3, 2 / 3].flatMap((border) => [Math.abs(x - border), Math.abs(y - border)]))
  return { value: zoneOf(x, y), confidence: toBorder < 0.04 ? 0.6 : Math.min(0.95, face.score) }
}

/** The detector's box ends at the brow, about three fifths of a head. A viewer locates the whole visible head. */
function headCentre(face: Face): { x: number; y: number } {
  const top = Math.max(0, face.y - face.height * 0.9)
  const bottom = Math.min(1, face.y + face.height * 0.5)
  const left = Math.max(0, face.x - face.width * 0.5)
  const right = Math.min(1, face.x + face.width * 0.5)
  return { x: (left + right) / 2, y: (top + bottom) / 2 }
}

export function zoneOf(x: number, y: number): Zone {
  const row = (['top', 'middle', 'bottom'] as const)[thirdOf(y)]
  const column = (['left', 'center', 'right'] as const)[thirdOf(x)]
  return `${row}-${column}`
}

function thirdOf(share: number): 0 | 1 | 2 {
  if (share < 1 / 3) return 0
  return share < 2 / 3 ? 1 : 2
}

/** What the words say about the picture. */
export interface Lettering {
  words: number
  lines: number
  /** Median height of a word, share of the picture's height. */
  height: number
  /** Share of the surely read words with the common letter width: near 1 in a terminal. */
  samePitch: number
  /** Share of the ink that lies in the words. */
  inWords: number
}

export function measureLettering(words: readonly Word[], picture: Pick<Picture, 'ink'>): Lettering | null {
  if (words.length === 0) return null
  const heights = words.map((word) => word.height).toSorted((a, b) => a - b)
  return {
    words: words.length,
    lines: new Set(words.map((word) => word.line)).size,
    height: heights[heights.length >> 1]!,
    samePitch: samePitch(words),
    inWords: inkInWords(words, picture),
  }
}

/** Counts cells of the ink grid. A word reaches one cell beyond its box (shadows, underlines). */
export function inkInWords(words: readonly Word[], { ink }: Pick<Picture, 'ink'>): number {
  let all = 0
  let inside = 0
  for (const [i, share] of ink.entries()) {
    const x = ((i % INK_COLUMNS) + 0.5) / INK_COLUMNS
    const y = (Math.floor(i / INK_COLUMNS) + 0.5) / INK_ROWS
    all += share
    const covers = (word: Word) =>
      x > word.x - 1 / INK_COLUMNS &&
      x < word.x + word.width + 1 / INK_COLUMNS &&
      y > word.y - 1 / INK_ROWS &&
      y < word.y + word.height + 1 / INK_ROWS
    if (words.some(covers)) inside += share
  }
  return all === 0 ? 0 : inside / all
}

/** 0 when there are too few words. */
function samePitch(words: readonly Word[]): number {
  const pitches = words
    .filter((word) => word.confidence >= 0.8 && /^[\p{L}\p{N}]{4,}$/u.test(word.text))
    .map((word) => word.width / word.text.length)
  if (pitches.length < 6) return 0
  const median = pitches.toSorted((a, b) => a - b)[pitches.length >> 1]!
  return pitches.filter((pitch) => Math.abs(pitch / median - 1) < 0.06).length / pitches.length
}

/**
 * The subject where a rule is sure: a face first, then the look of the words on a drawn picture. Measuring cannot
 * recognise anything else (product, b-roll, logo).
 */
export function concludeSubject(
  picture: Picture,
  finding: FaceFinding,
  lettering: Lettering | null,
): Conclusion<Subject> {
  if (isCrowd(finding.faces)) return { value: 'crowd', confidence: 0.8 }
  const face = largest(finding.faces)
  if (face && !isDrawn(picture) && !isInset(picture, face)) {
    if (face.score >= 0.9 && face.height >= 0.13) return { value: 'presenter', confidence: 0.85 }
    return { value: null, reason: 'a face, but too small or unsure for a presenter' }
  }
  if (!isDrawn(picture)) return { value: null, reason: 'measuring cannot tell what a filmed or rendered picture shows' }
  if (!lettering) return { value: null, reason: 'a drawn picture without readable text' }
  const small = lettering.height < 0.035
  if (small && lettering.words >= 12 && lettering.samePitch >= 0.6 && picture.luma < 70)
    return { value: 'terminal', confidence: 0.9 }
  if (small && lettering.words >= 15 && lettering.lines >= 4)
    return { value: 'ui', confidence: picture.luma < 70 ? 0.7 : 0.9 }
  if (
    !small &&
    !face &&
    picture.flat >= 0.85 &&
    lettering.words >= 2 &&
    lettering.words <= 24 &&
    lettering.lines <= 7 &&
    lettering.inWords >= 0.6
  ) {
    return { value: 'text-card', confidence: 0.9 }
  }
  return { value: null, reason: 'no rule is sure' }
}

export function concludeSurface(
  picture: Picture,
  subject: Subject | null,
  lettering: Lettering | null,
): Conclusion<Surface> {
  if (subject === 'terminal') return { value: 'screen-recording', confidence: 0.9 }
  // A dark one may also be a drawn diagram.
  if (subject === 'ui' && picture.luma >= 70) return { value: 'screen-recording', confidence: 0.9 }
  if (subject === 'presenter') return { value: 'camera', confidence: 0.9 }
  if (subject === 'crowd') return { value: 'camera', confidence: 0.8 }
  if (subject === 'chart') return { value: 'motion-graphics', confidence: 0.7 }
  if (subject === 'text-card' && lettering && lettering.lines <= 2) return { value: 'motion-graphics', confidence: 0.7 }
  return { value: null, reason: subject ? 'one frame does not tell how it was made' : 'no rule is sure' }
}

/** What the technique of a frame is concluded from. */
interface Shown {
  picture: Picture
  shot: Shot | null
  subject: Subject | null
  words: readonly Word[]
  /** Why the frame was picked. */
  reason: string
  /** Whether the film ends with it. */
  isEnding: boolean
}

/** The technique where its definition can be measured: slugs of the seeded vocabulary. */
export function concludeTechnique({ picture, shot, subject, words, reason, isEnding }: Shown): Conclusion<string> {
  if (shot === 'corner-inset') return { value: 'picture-in-picture', confidence: 0.9 }
  if (/fade through black/.test(reason)) return { value: 'fade-through-black', confidence: 0.9 }
  if (picture.luma < 18 && picture.flat > 0.995) return { value: 'fade-through-black', confidence: 0.6 }
  const isCard = subject === 'text-card'
  const hasAddress = words.some(({ text }) => /^[\w-]+(\.[\w-]+)*\.[a-z]{2,}(\/\S*)?$/i.test(text))
  if (isEnding && (subject === 'logo' || (isCard && hasAddress))) return { value: 'end-card', confidence: 0.8 }
  if (subject === 'logo') return { value: 'logo-reveal', confidence: 0.75 }
  const isFigure = ({ text, height }: Word) => height >= 0.15 && /^[$€£]?\d[\d.,]*[%kKmMxX+]?$/.test(text)
  if (isCard && words.some(isFigure)) return { value: 'big-number', confidence: 0.8 }
  if (isCard) return { value: 'title-card', confidence: 0.85 }
  return { value: null, reason: 'no technique that measuring can tell' }
}

/** In a filmed picture the reader sees letters in leaves and cloth, so only lines that look like words are kept. */
export function keepPlausible(words: readonly Word[], drawn: boolean): Word[] {
  const sized = words.filter((word) => word.height <= 0.35)
  if (drawn) return sized
  const lines = Map.groupBy(sized, (word) => word.line)
  return sized.filter((word) => {
    const line = lines.get(word.line)!
    const letters = line.reduce((sum, { text }) => sum + text.replace(/[^\p{L}\p{N}]/gu, '').length, 0)
    const confidence = line.reduce((sum, each) => sum + each.confidence, 0) / line.length
    return letters >= 4 && confidence >= 0.8 && (line.length > 1 || letters >= 5)
  })
}
