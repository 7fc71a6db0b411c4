import { z } from 'zod'
import { describeIssue, invalid } from '../errors.ts'
import { round } from '../library/films/measures.ts'
import type { Parameter, Parameters, Values } from '../parameters.ts'
import type { FrameFilters, LibrarySearch, SequenceQuery, SequenceStep } from '../search/library-search.ts'
import { PLATFORMS } from '../vocabulary.ts'
import { Frame, toFrame } from './frame.ts'
import { filterParameters, freeText, plainName } from './parameters.ts'

/** One thing after another in a film: how it is asked for, and what is answered. */

/** The filters of the wall, but for those of whole films and the opposites. */
const STEP_NAMES = Object.keys(filterParameters).filter(
  (name) => !['author', 'platform', 'video'].includes(name) && !name.startsWith('not_'),
)

const MOST_STEPS = 5
const USUAL_SEC = 3
const MOST_SEC = 600
const GAP = /^(\d{1,4}(?:\.\d{1,3})?)s$/

export const sequenceParameters = {
  seq: {
    schema: freeText(1_000),
    description:
      'Two to five steps: `subject.presenter~3s~surface.screen-recording`. A step is `filter.value`, several joined ' +
      'by `,`, other values by `!`, words as `q.sign up`. Between two steps lie the seconds that may pass at most; ' +
      'absent is 3s.',
    example: 'subject.presenter~3s~surface.screen-recording',
  },
  author: { schema: plainName(300), description: 'Brand or channel name, exact.' },
  platform: { schema: z.enum(PLATFORMS), description: 'Where the video was published.' },
} as const satisfies Parameters

const wrong = (what: string) => invalid('seq', `seq: ${what}; an example is ${sequenceParameters.seq.example}`)

/** @throws AppError invalid_request that says which part is not understood, and what is possible */
export function toSequenceQuery(
  { seq = '', ...film }: Values<typeof sequenceParameters>,
  page: { limit: number; after?: string | undefined },
): SequenceQuery {
  const steps: SequenceStep[] = []
  let gap: number | undefined
  for (const part of seq.split('~').map((one) => one.trim())) {
    const seconds = GAP.exec(part)?.[1]
    if (seconds === undefined) {
      steps.push({ ...readStep(part), withinSec: gap ?? USUAL_SEC })
      gap = undefined
    } else {
      if (steps.length === 0 || gap !== undefined) throw wrong('what lies between stands between two steps')
      gap = Number(seconds)
      if (gap > MOST_SEC) throw wrong(`${part} is longer than ${MOST_SEC} seconds`)
    }
  }
  if (gap !== undefined) throw wrong('it ends with what lies between')
  if (steps.length < 2 || steps.length > MOST_STEPS) throw wrong(`it has ${steps.length} of two to ${MOST_STEPS} steps`)
  return { steps, ...film, ...page }
}

function readStep(part: string): Omit<SequenceStep, 'withinSec'> {
  const given = new Map<string, string | string[]>()
  for (const term of part.split(',')) {
    const at = term.indexOf('.')
    const [name, value] = [term.slice(0, at).trim(), term.slice(at + 1).trim()]
    if (at < 1 || value === '') throw wrong(`"${term.slice(0, 60)}" is no step`)
    if (given.has(name)) throw wrong(`${name} stands twice in a step: join its values by !`)
    given.set(name, name === 'q' ? value : value.split('!'))
  }
  return toStep(Object.fromEntries(given))
}

/** A step by its filters; `q` holds words. @throws AppError invalid_request with what is allowed */
function toStep({ q = '', ...given }: Record<string, string | readonly string[]>): Omit<SequenceStep, 'withinSec'> {
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
  return given.map(({ within_sec: withinSec = USUAL_SEC, query = '', ...filters }) => {
    if (!(withinSec >= 0 && withinSec <= MOST_SEC))
      throw invalid('steps', `steps: within_sec is 0 to ${MOST_SEC} seconds`)
    const entries = Object.entries(filters).filter(([, value]) => value !== undefined)
    const words = Object.fromEntries(entries.map(([name, value]) => [name, value as string]))
    return { ...toStep({ ...words, q: String(query) }), withinSec }
  })
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
  // A frame may be removed between the two reads.
  const whole = sequences.filter(({ steps }) => steps.every(({ frameId }) => frames.has(frameId)))
  return {
    sequences: whole.map(({ videoId, steps }) => ({
      video_id: videoId,
      length_sec: round(steps.at(-1)!.to - steps[0]!.from),
      steps: steps.map(({ frameId, from, to }, n) => ({
        frame: toFrame(frames.get(frameId)!, publicUrl),
        from_sec: round(from),
        to_sec: round(to),
        gap_sec: n === 0 ? null : round(from - steps[n - 1]!.to),
      })),
    })),
    ...page,
  }
}
