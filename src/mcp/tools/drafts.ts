import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import { requireDraft, submitDraftAddress } from '../../library/films/drafts.ts'
import type { AddressRules } from '../../library/videos/submit.ts'
import { DRAFT_POINTS, DraftAnswer, type DraftScore, readDraft, tellScore } from '../../views/draft.ts'
import { quote } from '../present.ts'
import { ADDS, defineTool, type Tool } from '../tool.ts'
import { accountOf } from './collection.ts'
import type { LibraryToolDeps } from './library.ts'

export interface DraftToolDeps extends LibraryToolDeps {
  db: Db
  addresses: AddressRules
}

/** As describe_film has it, and the nearest films in short. */
const Score = DraftAnswer.shape.score
  .unwrap()
  .omit({ curves: true, standing: true })
  .extend({
    nearest: z
      .array(z.object({ id: z.string(), title: z.string(), distance: z.number(), why: z.array(z.string()) }))
      .nullable(),
  })

const isAddress = (given: unknown) => typeof given === 'string' && given.includes(':')

export function scoreDraftTool(deps: DraftToolDeps): Tool {
  const { db, addresses } = deps
  return defineTool({
    name: 'score_draft',
    title: 'Score a draft',
    description: 'Measure your unpublished film by its URL, privately, for a day. Its id then tells how it stands.',
    annotations: { ...ADDS, idempotentHint: false, openWorldHint: true },
    points: DRAFT_POINTS,
    pointsOf: ({ draft }) => (isAddress(draft) ? POINTS.write : DRAFT_POINTS),
    scope: 'saves:write',
    input: z.strictObject({ draft: z.string().max(2_000).describe('URL or draft id') }),
    output: z.object({
      draft: DraftAnswer.pick({ id: true, title: true, state: true, failure: true }).extend({
        score: Score.nullable(),
      }),
    }),
    async run({ draft: given }, context) {
      const accountId = accountOf(context)
      const added = isAddress(given) && (await submitDraftAddress(db, addresses, { accountId, url: given.trim() }))
      const draft = await readDraft(
        deps,
        added ? { ...added, film: null } : await requireDraft(db, { accountId, id: given.trim() }),
      )
      const { id, title, state, failure, score } = draft
      const heading = `Draft ${id} ${quote(title, 100)}: ${failure ? `failed: ${failure.message}` : state}`
      const wait = failure ? [] : ['Measuring takes minutes. Ask again with this id.']
      const lines = score ? tellScore(score, quote) : wait
      return {
        text: [heading, ...lines].join('\n'),
        structured: { draft: { id, title, state, failure, score: score && shortOf(score) } },
      }
    },
  })
}

function shortOf({ curves: _, standing: __, nearest, ...score }: DraftScore): z.infer<typeof Score> {
  const near = nearest?.map(({ video: { id, title }, distance, why }) => ({ id, title, distance, why }))
  return { ...score, nearest: near ?? null }
}
