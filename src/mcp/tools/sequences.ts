import { z } from 'zod'
import { readSequences, SEQUENCE_POINTS, toSteps } from '../../views/sequences.ts'
import { clock, moreWith, plural, quote } from '../present.ts'
import { defineTool, type ImageLink, READS, type Tool } from '../tool.ts'
import { formatArgument, limitArgument } from '../values.ts'
import { cursorArgument, type LibraryToolDeps } from './library.ts'

const Step = z.object({ within_sec: z.number().optional() }).catchall(z.union([z.string(), z.array(z.string())]))

export function findSequences({ search, publicUrl }: LibraryToolDeps): Tool {
  return defineTool({
    name: 'find_sequences',
    title: 'Find sequences',
    description:
      'What follows what in a film: a text card, then a screen. A step has filters of search_frames, or a query, ' +
      'and within_sec of the step before (3).',
    annotations: READS,
    points: SEQUENCE_POINTS,
    scope: 'any',
    cacheable: true,
    input: z.strictObject({
      steps: z.array(Step).min(2).max(5),
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
      const query = { steps: toSteps(steps), span: 600, perFilm: 1, author, limit, after }
      const { sequences, films, unknown, next } = await readSequences(search, publicUrl, query)
      const hidden = unknown > 0 ? `; ${plural(unknown, 'frame')} without a value could hide more` : ''
      const none = films === 0 ? 'No film has every step. ' : ''
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
        text: [
          `${none}${plural(sequences.length, 'sequence')} among ${plural(films, 'film')} with these steps` +
            `${hidden}${moreWith(next)}`,
          ...lines,
        ].join('\n'),
        links,
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
