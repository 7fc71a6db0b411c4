/*
 * The closed lists of docs/interface.md §2. The database checks, the model's schema, the HTTP parameters and the tool
 * schemas all use them.
 */
export const SUBJECTS = [
  'presenter',
  'ui',
  'product',
  'terminal',
  'text-card',
  'b-roll',
  'chart',
  'logo',
  'crowd',
] as const
export const SURFACES = ['camera', 'screen-recording', 'motion-graphics', '3d-render', 'slide', 'mixed'] as const
export const SHOTS = ['no-face', 'corner-inset', 'wide-presenter', 'medium-presenter', 'close-presenter'] as const
/** `none`, or the cell of a 3×3 grid that holds the centre of the largest face. */
export const ZONES = [
  'none',
  'top-left',
  'top-center',
  'top-right',
  'middle-left',
  'middle-center',
  'middle-right',
  'bottom-left',
  'bottom-center',
  'bottom-right',
] as const
export const TONES = ['dark', 'bright'] as const
export const KINDS = ['cut', 'beat', 'intro'] as const
export const PLATFORMS = ['youtube', 'x', 'linkedin', 'vimeo', 'web'] as const

/** The rest of a drawn shot that a frame was taken from, and how the picture was built up until then. Milliseconds. */
export interface FrameRest {
  fromMs: number
  toMs: number
  /** When its build-up began. */
  builtFromMs: number
  /** States at rest that it was built up from, itself not counted. */
  steps: number
  /** Pixels of edges at 160×90: how much it shows. */
  edges: number
  /** False: it was cut off, or never rested, and is the fullest picture there was. */
  isAtRest: boolean
}

/** How one shot gives way to the next; the first has a `start`. A push is a `wipe`. */
export const TRANSITIONS = ['start', 'cut', 'fade', 'dissolve', 'wipe'] as const
export type Transition = (typeof TRANSITIONS)[number]

/** A shot as films are measured by it. Milliseconds. */
export interface FilmShot {
  fromMs: number
  toMs: number
  cleanFromMs: number
  cleanToMs: number
  transition: Transition
  through: 'black' | 'white' | null
  held: number | null
  motion: number | null
}

/** What the decode measures of a whole film. docs/films.md says the unit and the method of each. */
export interface FilmPicture {
  measures: Record<PictureMeasure | SoundMeasure, number | null>
  /** Why its sound is not measured; null where it is. */
  noSound: string | null
  /** Means of equal parts of the time; `u` and `v` are the colour planes of BT.709. */
  arcs: Record<'motion' | 'luma' | 'u' | 'v', number[]>
}
export type PictureMeasure = 'held_share' | 'motion' | 'luma' | 'contrast' | 'colour'
export type SoundMeasure = 'loudness' | 'silence_share'

export type Subject = (typeof SUBJECTS)[number]
export type Surface = (typeof SURFACES)[number]
export type Shot = (typeof SHOTS)[number]
export type Zone = (typeof ZONES)[number]
export type Tone = (typeof TONES)[number]
export type Kind = (typeof KINDS)[number]
export type Platform = (typeof PLATFORMS)[number]

/** The opening and the ending of a film are this long, and at most a third of it. */
export const END_SEC = 5

/**
 * The attributes of frames, one row each, in the order of answers: columns, filters, facets, menus, corrections and
 * tools follow from a row. `role` says whose they are: an annotator or a person chooses `chosen` ones and writes
 * `written` ones. The extraction or the video gives `given` ones. The others follow from what is measured and have no
 * column: `search/text/named-words.ts` says how. Without a list of `values` the value is a name or a text.
 */
export const ATTRIBUTES = {
  subject: { role: 'chosen', values: SUBJECTS, label: 'Subject', description: 'What the frame shows.' },
  surface: { role: 'chosen', values: SURFACES, label: 'Surface', description: 'What it was made with.' },
  shot: { role: 'chosen', values: SHOTS, label: 'Shot', description: 'How close the presenter is.' },
  technique: {
    role: 'chosen',
    values: null,
    label: 'Technique',
    description: 'Slug of a named technique; see /api/techniques.',
  },
  zone: {
    role: 'chosen',
    values: ZONES,
    label: 'Face',
    description: 'Where the largest face sits: `none`, or a cell of the 3×3 grid.',
  },
  tone: { role: 'given', values: TONES, label: 'Tone', description: 'Dark or bright, measured from luminance.' },
  kind: {
    role: 'given',
    values: KINDS,
    label: 'Kind',
    description: '`cut` stands for its shot, `beat` is a further frame of it, `intro` lies in the first four seconds.',
  },
  author: {
    role: 'given',
    values: null,
    label: 'Brand',
    description: 'Brand or channel name, exact. Repeat it for several (names may hold commas).',
  },
  platform: { role: 'given', values: PLATFORMS, label: 'Platform', description: 'Where the video was published.' },
  // The longest text that is kept of an annotator, in characters.
  caption: { role: 'written', values: null, label: 'Caption', longest: 500 },
  composition: { role: 'written', values: null, label: 'Composition', longest: 500 },
  steal: { role: 'written', values: null, label: 'Worth taking', longest: 500 },
  on_screen_text: { role: 'written', values: null, label: 'On screen', longest: 2000 },
  part: {
    role: 'derived',
    label: 'Part of the film',
    values: ['opening', 'middle', 'ending'],
    description: `The first ${END_SEC} seconds of a film, the last ${END_SEC}, or between; of a short film its thirds.`,
  },
  within: {
    role: 'derived',
    label: 'Within',
    values: ['first-1s', 'first-3s', 'first-10s', 'last-1s', 'last-3s', 'last-10s'],
    description: 'Within the first or the last seconds of a film; one frame may be within several.',
  },
  orientation: {
    role: 'derived',
    label: 'Orientation',
    values: ['landscape', 'portrait', 'square'],
    description: 'The proportions of the picture.',
  },
  faces: {
    role: 'derived',
    label: 'Faces',
    values: ['none', 'one', 'two', 'several'],
    description: 'Human faces in the picture; unknown where one is neither sure nor ruled out.',
  },
  space: {
    role: 'derived',
    label: 'Bare ground',
    values: ['little', 'some', 'lots'],
    description: 'How much of a drawn picture is bare ground; unknown for filmed ones.',
  },
  lettering: {
    role: 'derived',
    label: 'Lettering',
    values: ['light-on-dark', 'dark-on-light'],
    description: 'Letters and ground of a text card; unknown for other pictures.',
  },
  described: {
    role: 'derived',
    label: 'Described',
    values: ['yes', 'no'],
    description: '`no`: it is not known what the frame shows. Words and meaning find it by its text, if any.',
  },
} as const
type Table = typeof ATTRIBUTES
type AttributeName = keyof Table
type Role = Table[AttributeName]['role']
type NameOf<R extends Role> = { [N in AttributeName]: Table[N]['role'] extends R ? N : never }[AttributeName]
/** Those with a closed list. */
export type ListedName = { [N in AttributeName]: Table[N]['values'] extends null ? never : N }[AttributeName]
export type ValueOf<N extends AttributeName> = N extends ListedName ? Table[N]['values'][number] : string

const namesOf = <R extends Role>(...roles: readonly R[]) =>
  (Object.keys(ATTRIBUTES) as AttributeName[]).filter((name): name is NameOf<R> =>
    (roles as readonly Role[]).includes(ATTRIBUTES[name].role),
  )
/** Frames have a column for them, and they are counted as facets. */
export const COUNTED = namesOf('chosen', 'given')
export const CHOSEN = namesOf('chosen')
export const WRITTEN = namesOf('written')
export const ANNOTATED = namesOf('chosen', 'written')
export const DERIVED = namesOf('derived')
export type CountedName = (typeof COUNTED)[number]
export type Chosen = (typeof CHOSEN)[number]
export type Written = (typeof WRITTEN)[number]
export type Annotated = (typeof ANNOTATED)[number]
export type Derived = (typeof DERIVED)[number]

export const isListed = <N extends AttributeName>(name: N): name is N & ListedName => ATTRIBUTES[name].values !== null
export type ChosenValues = { [N in Chosen]: ValueOf<N> | null }

/** Something for each of these names. */
export function byName<N extends string, T>(names: readonly N[], make: (name: N) => T): Record<N, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<N, T>
}

/**
 * Where a value came from, weakest first. A better source never loses to a worse one. `notes` are descriptions that
 * came with the video; `person` is a correction in this library.
 */
export const SOURCES = ['measured', 'rule', 'ocr', 'model', 'notes', 'person'] as const
export type Source = (typeof SOURCES)[number]

/**
 * A mean BT.709 luma (0–255) below this is `dark`. It is the middle of the band 60–170, which the labelled clips call
 * neither clearly dark nor clearly bright.
 */
export const DARK_BELOW_LUMA = 115

/** In how many bits two difference hashes of pictures (64 bits, 16 hex digits) differ. */
export function hashDistance(one: string, other: string): number {
  let bits = 0
  for (let at = 0; at < 16; at += 8) {
    let difference = Number.parseInt(one.slice(at, at + 8), 16) ^ Number.parseInt(other.slice(at, at + 8), 16)
    for (; difference !== 0; difference &= difference - 1) bits++
  }
  return bits
}

/** Maximum length of titles and free texts, in characters. */
export const MAX_TEXT = 2000

/** What an account may use: open reads alone, or saves, boards and pins too. */
export const PLANS = ['free', 'pro'] as const
export type Plan = (typeof PLANS)[number]

/** Who searches: people on pages, programs over HTTP, agents through tools. */
export const ASKERS = ['people', 'programs', 'agents'] as const
export type Asker = (typeof ASKERS)[number]

/** A colour in OKLab (Björn Ottosson, 2020). */
export interface Oklab {
  l: number
  a: number
  b: number
}

const LINEAR = Float64Array.from({ length: 256 }, (_, i) => {
  const c = i / 255
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
})

/** Of sRGB, each 0–255. */
export function oklabOf(r8: number, g8: number, b8: number): Oklab {
  const r = LINEAR[r8]!
  const g = LINEAR[g8]!
  const b = LINEAR[b8]!
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return {
    l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    a: 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    b: 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  }
}

export function toOklab(hex: string): Oklab {
  const value = Number.parseInt(hex.slice(1), 16)
  return oklabOf((value >> 16) & 255, (value >> 8) & 255, value & 255)
}

/** OKLab by angle: the hue in degrees. */
export interface Polar {
  l: number
  chroma: number
  hue: number
}

export const toPolar = ({ l, a, b }: Oklab): Polar => ({
  l,
  chroma: Math.hypot(a, b),
  hue: ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360,
})

/** Below this chroma a colour is a grey. */
export const GREY = 0.035

/** The one list of names that captions write and the filter finds. */
export const PLAIN_COLORS = [
  'black',
  'grey',
  'white',
  'red',
  'orange',
  'yellow',
  'green',
  'teal',
  'blue',
  'purple',
  'pink',
  'brown',
] as const
export type PlainColor = (typeof PLAIN_COLORS)[number]

/** Hues in degrees, each up to the next. */
const HUES: readonly (readonly [number, PlainColor])[] = [
  [8, 'pink'],
  [42, 'red'],
  [78, 'orange'],
  [116, 'yellow'],
  [172, 'green'],
  [215, 'teal'],
  [282, 'blue'],
  [330, 'purple'],
  [360, 'pink'],
]

export function plainColor({ l, chroma, hue }: Polar): PlainColor {
  if (l < 0.22) return 'black'
  if (chroma < GREY) {
    if (l > 0.9) return 'white'
    return l < 0.3 ? 'black' : 'grey'
  }
  const name = HUES.find(([below]) => hue < below)?.[1] ?? 'pink'
  if (name === 'red' && l > 0.75) return 'pink'
  const isMuddy = chroma < 0.09 || (l < 0.62 && chroma < 0.13)
  return (name === 'orange' || name === 'red') && isMuddy ? 'brown' : name
}
