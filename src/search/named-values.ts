import { COUNTED, type CountedName, type Derived, END_SEC, toOklab, type ValueOf } from '../vocabulary.ts'
import { colorNames } from './color.ts'
import type { FrameDocument, ShownFrame } from './library-search.ts'

type Rules = { [N in Derived]: (frame: ShownFrame) => ValueOf<N> | readonly ValueOf<N>[] | null }

/** Share of bare ground from which a drawn picture has lots of it, or some. */
const LOTS = 0.75
const SOME = 0.4

/** How each follows from a frame. What was not measured is null. */
const RULES: Rules = {
  part({ t_sec: t, video: { duration_sec: length } }) {
    if (length === null || length <= 0) return null
    const end = Math.min(END_SEC, length / 3)
    if (t < end) return 'opening'
    return t >= length - end ? 'ending' : 'middle'
  },
  within({ t_sec: t, video: { duration_sec: length } }) {
    const left = length === null || length <= 0 ? Number.POSITIVE_INFINITY : length - t
    const side = (name: 'first' | 'last', distance: number) =>
      ([1, 3, 10] as const).filter((most) => distance <= most).map((most) => `${name}-${most}s` as const)
    return [...side('first', t), ...side('last', left)]
  },
  orientation({ width, height }) {
    if (width === height) return 'square'
    return width > height ? 'landscape' : 'portrait'
  },
  faces({ measures }) {
    const { faces } = measures
    return faces === null ? null : ((['none', 'one', 'two'] as const)[faces] ?? 'several')
  },
  space({ measures }) {
    const share = measures.empty_share
    if (share === null) return null
    if (share >= LOTS) return 'lots'
    return share >= SOME ? 'some' : 'little'
  },
  lettering({ measures }) {
    const { ink, ground } = measures
    if (!ink || !ground) return null
    return toOklab(ink).l > toOklab(ground).l ? 'light-on-dark' : 'dark-on-light'
  },
  described: ({ subject }) => (subject === null ? 'no' : 'yes'),
}

/** The stored attributes that a word of a question may name; `kind` first, as the indexes have them. */
const NAMED_ATTRIBUTES = [...new Set<CountedName>(['kind', ...COUNTED])].filter((name) => name !== 'author')

/** What a frame shows, as the words of a question name it: `attribute=value`. `asked`: of these attributes only. */
export function namedValues(frame: FrameDocument, asked?: ReadonlySet<string>): string[] {
  const isAsked = (attribute: string) => asked?.has(attribute) ?? true
  const stored = NAMED_ATTRIBUTES.filter(isAsked).map((attribute) => [attribute, frame[attribute] ?? []] as const)
  const derived = Object.entries(RULES).filter(([name]) => isAsked(name))
  const values = [...stored, ...derived.map(([name, follow]) => [name, follow(frame) ?? []] as const)]
  return [
    ...values.flatMap(([attribute, some]) => [some].flat().map((value) => `${attribute}=${value}`)),
    ...(isAsked('color') ? colorNames(frame).map((name) => `color=${name}`) : []),
  ]
}

/** The colours that fill much of a frame, as words of a question name them: those frames stand before the others. */
export const mostlyValues = (frame: FrameDocument): string[] =>
  colorNames(frame, { mostly: true }).map((name) => `color=${name}`)
