import { z } from 'zod'
import { cachedRead } from '../http/endpoint.ts'
import { readSequences, SEQUENCE_POINTS, Sequence, sequenceParameters, toSequenceQuery } from '../views/sequences.ts'
import { afterParameter, listLimit, type ReadDeps } from './library-read.ts'
import { nextCursor } from './paging.ts'

export const sequenceEndpoint = cachedRead(
  {
    id: 'findSequences',
    path: '/api/sequences',
    tag: 'Films',
    summary: 'One thing after another in a film: a text card that leads into a screen',
    parameters: { ...sequenceParameters, limit: listLimit(20, 60), after: afterParameter },
    answer: z
      .strictObject({
        sequences: z.array(Sequence),
        films: z.int().describe('Films with every step somewhere, as far as they were looked at.'),
        unknown: z
          .int()
          .describe(
            'Frames of these films, or of all if there are none, without a value asked for: they could hide a match.',
          ),
        next: nextCursor,
      })
      .meta({ id: 'SequencesResponse' }),
    cost: { points: SEQUENCE_POINTS },
  },
  async ({ search, publicUrl }: ReadDeps, { query: { limit = 20, after, ...query } }) =>
    readSequences(search, publicUrl, toSequenceQuery(query, { limit, after })),
)
