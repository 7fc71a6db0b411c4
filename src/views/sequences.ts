import { z } from 'zod'
import { describeIssue, invalid } from '../errors.ts'
import type { Parameter, Parameters, Values } from '../parameters.ts'
import type { FrameFilters, Gap, LibrarySearch, SequenceQuery, SequenceStep } from '../search/library-search.ts'
import { PLATFORMS } from '../vocabulary.ts'
import { Frame, toFrame } from './frame.ts'
import { filterParameters, freeText, limitUpTo, plainName } from './parameters.ts'

/** One thing after another in a film: how it is asked for, and what is answered. */

/** The filters of the wall, but for those of whole films and the opposites. */
const STEP_NAMES = Object.keys(filterParameters).filter(
  (name) => !['author', 'platform', 'video'].includes(name) && !name.startsWith('not_'),
)
/** A call looks at the frames of up to 600 films. */
export const SEQUENCE_POINTS = 8

const MOST_STEPS = 5
const USUAL: Gap = { from: 0, to: 3 }
const MOST_SEC = 600
const MOST_LETTERS = 1_000

export const sequenceParameters = {
  seq: {
    schema: freeText(MOST_LETTERS),
    description:
      'Two to five steps with what lies between: `subject.text-card~3s~surface.screen-recording`. A step is ' +
      '`filter.value`, several joined by `,`, other values by `!`, words as `q.sign up`. Between: `3s` (at most), ' +
      '`1s-5s`, `next` (the next frame), `any`; absent is 3s.',
    example: 'subject.text-card~3s~surface.screen-recording',
  },
  span: {
    schema: z.coerce.number('must be seconds').min(1).max(MOST_SEC, `must be at most ${MOST_SEC} seconds`),
    fallback: MOST_SEC,
    description: `The longest that the whole may be, seconds: ${MOST_SEC} at most.`,
  },
  per_film: { schema: limitUpTo(5), fallback: 1, description: 'Of each film: its tightest, at most five.' },
  author: { schema: plainName(300), description: 'Brand or channel name, exact.' },
  platform: { schema: z.enum(PLATFORMS), description: 'Where the video was published.' },
} as const satisfies Parameters

/** @throws AppError invalid_request that says which part is not understood, and what is possible */
export function toSequenceQuery(
  { seq = '', span = MOST_SEC, per_film = 1, author, platform }: Values<typeof sequenceParameters>,
  page: { limit: number; after?: string | undefined },
): SequenceQuery {
  const steps: SequenceStep[] = []
  let gap: Gap | undefined
  for (const part of seq.split('~').map((one) => one.trim())) {
    const between = readGap(part)
    if (between && (steps.length === 0 || gap)) throw wrong('what lies between stands between two steps')
    if (between) gap = between
    else {
      steps.push({ ...readStep(part), gap: gap ?? USUAL })
      gap = undefined
    }
  }
  if (gap) throw wrong('it ends with what lies between')
  return { ...checked(steps), span, perFilm: per_film, author, platform, ...page }
}

function checked(steps: SequenceStep[]): { steps: SequenceStep[] } {
  if (steps.length < 2 || steps.length > MOST_STEPS) throw wrong(`it has ${steps.length} of two to ${MOST_STEPS} steps`)
  return { steps }
}

const EXAMPLE = sequenceParameters.seq.example
const wrong = (what: string) => invalid('seq', `seq: ${what}; an example is ${EXAMPLE}`)

function readGap(part: string): Gap | undefined {
  if (part === 'any') return { from: 0, to: MOST_SEC }
  if (part === 'next') return { from: 0, to: MOST_SEC, next: true }
  const [, from, to] = /^(?:(\d{1,4}(?:\.\d{1,3})?)s?-)?(\d{1,4}(?:\.\d{1,3})?)s$/.exec(part) ?? []
  if (to === undefined) return undefined
  const gap = { from: Number(from ?? 0), to: Number(to) }
  if (gap.to > MOST_SEC) throw wrong(`${part} is longer than ${MOST_SEC} seconds`)
  if (gap.from > gap.to) throw wrong(`${part} ends before it begins`)
  return gap
}

function readStep(part: string): Pick<SequenceStep, 'filters' | 'q'> {
  const given: Record<string, string | string[]> = {}
  for (const term of part.split(',')) {
    const at = term.indexOf('.')
    const [name, value] = [term.slice(0, at).trim(), term.slice(at + 1).trim()]
    if (at < 1 || value === '') throw wrong(`"${term.slice(0, 60)}" is no step`)
    if (Object.hasOwn(given, name)) throw wrong(`${name} stands twice in a step: join its values by !`)
    given[name] = name === 'q' ? value : value.split('!')
  }
  return toStep(given)
}

/** A step by its filters; `q` holds words. @throws AppError invalid_request with what is allowed */
function toStep({ q = '', ...given }: Record<string, string | readonly string[]>) {
  const filters: Record<string, unknown> = {}
  for (const [name, values] of Object.entries(given)) {
    if (!STEP_NAMES.includes(name)) throw wrong(`no filter ${name.slice(0, 40)}; ${STEP_NAMES.join(', ')}, q`)
    const { schema }: Parameter = filterParameters[name as keyof typeof filterParameters]
    filters[name] = [values].flat().map((value) => {
      const read = schema.safeParse(value)
      if (read.success) return read.data
      throw wrong(`${name} "${String(value).slice(0, 40)}" is not allowed; it ${describeIssue(read.error.issues[0]!)}`)
    })
  }
  return { filters: filters as FrameFilters, q: String(q) }
}

/** Steps as a tool takes them. @throws AppError invalid_request */
export function toSteps(
  given: readonly { [name: string]: unknown; within_sec?: number | undefined }[],
): SequenceStep[] {
  return checked(
    given.map(({ within_sec = USUAL.to, query = '', ...filters }) => {
      const to = Number(within_sec)
      if (!(to >= 0 && to <= MOST_SEC)) throw invalid('steps', `steps: within_sec is 0 to ${MOST_SEC} seconds`)
      const entries = Object.entries(filters).filter(([, value]) => value !== undefined)
      const words = Object.fromEntries(entries.map(([name, value]) => [name, value as string]))
      return { ...toStep({ ...words, q: String(query) }), gap: { from: 0, to } }
    }),
  ).steps
}

const seconds = z.number()
export const Sequence = z
  .strictObject({
    video_id: z.string(),
    length_sec: seconds,
    steps: z.array(
      z.strictObject({
        frame: Frame,
        from_sec: seconds,
        to_sec: seconds,
        gap_sec: seconds.nullable().describe('From the end of the step before; null for the first.'),
      }),
    ),
  })
  .meta({ id: 'Sequence' })

/** The sequences that a search finds, with the first frame of each step. */
export async function readSequences(search: LibrarySearch, publicUrl: string, query: SequenceQuery) {
  const { sequences, ...page } = await search.sequences(query)
  const ids = sequences.flatMap(({ steps }) => steps.map(({ frameId }) => frameId))
  const frames = new Map((await search.framesByIds(ids)).map((frame) => [frame.id, frame]))
  const round = (value: number) => Math.round(value * 1000) / 1000
  // A frame may be removed between the two reads.
  const whole = sequences.filter(({ steps }) => steps.every(({ frameId }) => frames.has(frameId)))
  return {
    sequences: whole.map(({ videoId, steps }) => ({
      video_id: videoId,
      length_sec: round(steps.at(-1)!.to - steps[0]!.from),
      steps: steps.map(({ frameId, from, to, gap }) => ({
        frame: toFrame(frames.get(frameId)!, publicUrl),
        from_sec: round(from),
        to_sec: round(to),
        gap_sec: gap,
      })),
    })),
    ...page,
  }
}
