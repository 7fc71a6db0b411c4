import { z } from 'zod'
import { clock, plural, quote } from '../../clean-text.ts'
import { readSequences, toSteps } from '../../views/sequences.ts'
import { moreWith } from '../present.ts'
import { defineTool, type ImageLink, READS, type Tool, type ToolApp } from '../tool.ts'
import { formatArgument, jsonList, limitArgument } from '../values.ts'
import { withCursorNamed } from './collection.ts'
import { cursorArgument, resolveStep, spellBrands, stepArgument } from './library.ts'

export function findSequences(deps: ToolApp): Tool {
  const { search, publicUrl } = deps
  return defineTool({
    name: 'find_sequences',
    title: 'Find sequences',
    description:
      'What follows what in a film: a text card, then a screen. A step has filters of search_frames, or a query, ' +
      'and within_sec of the step before (3).',
    annotations: READS,
    price: 'write',
    scope: 'any',
    cacheable: true,
    input: z.strictObject({
      steps: z.preprocess((value) => jsonList(value) ?? value, z.array(stepArgument).min(2).max(5)),
      author: z.string().max(300).optional(),
      limit: limitArgument(10, 40),
      cursor: cursorArgument,
      format: formatArgument,
    }),
    output: z.object({
      sequences: z.array(
        z.object({
          video_id: z.string(),
          title: z.string(),
          steps: z.array(
            z.object({
              frame_id: z.string(),
              from_sec: z.number(),
              to_sec: z.number(),
              gap_sec: z.number().nullable(),
              image_url: z.string(),
            }),
          ),
        }),
      ),
      next_cursor: z.string().nullable(),
    }),
    async run({ steps, author, limit, cursor: after }) {
      const resolved = await Promise.all(steps.map((step) => resolveStep(deps, step)))
      const brand = await spellBrands(search, author === undefined ? [] : [author])
      const query = { steps: toSteps(resolved), author: brand.names[0], limit, after }
      const { sequences, films, next } = await withCursorNamed(after, readSequences(search, publicUrl, query))
      const notes = [...(films === 0 ? ['No film has every step.'] : []), ...brand.notes]
      const counted = `${plural(sequences.length, 'sequence')} among ${plural(films, 'film')}`
      const links: ImageLink[] = []
      const lines = sequences.map(({ steps: found }) => {
        const { title } = found[0]!.frame.video
        const told = found.map(({ frame, from_sec, to_sec, gap_sec }) => {
          links.push({ uri: frame.image_url, name: frame.id })
          const after_ = gap_sec === null ? '' : `, ${Math.max(0, gap_sec)} s later`
          const caption = frame.caption ? ` ${quote(frame.caption, 54)}` : ''
          return `  ${clock(from_sec)}–${clock(to_sec)}${after_}${caption}\n  ${frame.image_url}`
        })
        return [quote(title, 80), ...told].join('\n')
      })
      return {
        text: [`${counted} with these steps${moreWith(next)}`, ...notes, ...lines].join('\n'),
        links,
        notes,
        structured: {
          sequences: sequences.map(({ video_id, steps: found }) => ({
            video_id,
            title: found[0]!.frame.video.title,
            steps: found.map(({ frame, from_sec, to_sec, gap_sec }) => ({
              ...{ frame_id: frame.id, from_sec, to_sec, gap_sec, image_url: frame.image_url },
            })),
          })),
          next_cursor: next,
        },
      }
    },
  })
}
