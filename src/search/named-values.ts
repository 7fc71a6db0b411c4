import type { NamedAttribute } from './attribute-words.ts'
import { colorNames } from './color.ts'
import { derivedValues } from './derived.ts'
import type { FrameDocument, ShownFrame } from './library-search.ts'

/** The attributes that a word of a question may name, in the order of a frame. */
const NAMED_ATTRIBUTES = [
  'kind',
  'subject',
  'surface',
  'shot',
  'technique',
  'zone',
  'tone',
  'platform',
] as const satisfies readonly (NamedAttribute & keyof ShownFrame)[]

/** What a frame shows, as the words of a question name it: `attribute=value`. */
export function namedValues(frame: FrameDocument): string[] {
  return [
    ...NAMED_ATTRIBUTES.flatMap((attribute) => (frame[attribute] === null ? [] : `${attribute}=${frame[attribute]}`)),
    ...Object.entries(derivedValues(frame)).flatMap(([attribute, value]) =>
      value === null ? [] : `${attribute}=${value}`,
    ),
    ...colorNames(frame.palette, frame.palette_shares).map((name) => `color=${name}`),
  ]
}
