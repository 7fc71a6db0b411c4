import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { cachedRead } from '../http/cached-reads.ts'
import { endpoint } from '../http/endpoint.ts'
import { dismissSuggestion, listSuggestions } from '../library/frames/technique-suggestions.ts'
import {
  addTechnique,
  type ChangedTechnique,
  describeTechnique,
  MAX_TECHNIQUE,
  mergeTechnique,
  updateTechnique,
} from '../library/techniques/techniques.ts'
import { SLUG } from '../library/techniques/vocabulary.ts'
import { OK, Ok, Technique, toTechnique } from '../views/resources.ts'
import type { App } from './app.ts'

/** A technique as operators see it. */
const VocabularyEntry = z
  .strictObject({
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    recognise: z.string(),
    aliases: z.array(z.string()),
    retired: z.boolean(),
  })
  .meta({ id: 'VocabularyEntry' })
const entryAnswer = z.strictObject({
  technique: VocabularyEntry,
  adopted_frames: z
    .int()
    .describe('Frames that took a technique at once because a model had proposed it for them; more may follow.'),
})

const toAnswer = ({ technique, adopted }: ChangedTechnique) => ({
  technique: describeTechnique(technique),
  adopted_frames: adopted,
})

const slug = z
  .string()
  .max(64)
  .regex(SLUG, 'must have lower-case letters, digits and single hyphens only, such as split-screen')
const fields = {
  slug: slug.describe('Its name in addresses and filters.'),
  name: z.string().trim().min(1).max(MAX_TECHNIQUE.name).describe('Its name; of a new one the slug, if absent.'),
  description: z
    .string()
    .trim()
    .min(1)
    .max(MAX_TECHNIQUE.description)
    .describe('What it is; of a new one the name, if absent.'),
  recognise: z
    .string()
    .trim()
    .min(1)
    .max(MAX_TECHNIQUE.recognise)
    .describe('How to recognise it in one frame; of a new one the description, if absent.'),
  aliases: z.array(z.string().max(100)).max(MAX_TECHNIQUE.aliases).describe('Other words for it. They become slugs.'),
}
const NewTechniqueBody = z.strictObject(fields).partial().required({ slug: true })
const TechniquePatchBody = z
  .strictObject({ ...fields, retired: z.boolean().describe('A retired technique is given to no more frames.') })
  .partial()
  .refine(
    (body) => Object.keys(body).length > 0,
    'name at least one of slug, name, description, recognise, aliases, retired',
  )
  .meta({ minProperties: 1 })
const MergeBody = z.strictObject({ into: slug.describe('The technique that stays.') })

const Suggestions = z
  .strictObject({
    suggestions: z.array(z.strictObject({ slug: z.string(), count: z.int(), frame_ids: z.array(z.string()) })),
  })
  .meta({ id: 'Suggestions' })

const governing = { tag: 'Operators', scope: 'library:write' } as const

const vocabulary = [
  cachedRead(
    {
      id: 'listTechniques',
      path: '/api/techniques',
      tag: 'Library',
      summary: 'The vocabulary of techniques',
      parameters: {},
      answer: z.strictObject({ techniques: z.array(Technique) }).meta({ id: 'TechniquesResponse' }),
    },
    async ({ search, publicUrl }: App) => ({
      techniques: (await search.techniques()).map((document) => toTechnique(document, publicUrl)),
    }),
  ),

  endpoint(
    {
      ...governing,
      id: 'addTechnique',
      method: 'post',
      path: '/api/techniques',
      summary: 'Add a technique',
      body: NewTechniqueBody,
      example: {
        slug: 'cursor-zoom',
        name: 'Cursor zoom',
        description: 'The picture moves in on where the cursor clicks.',
      },
      answer: entryAnswer,
      status: 201,
      errors: [409],
    },
    async ({ db }: { db: Db }, { body }) => toAnswer(await addTechnique(db, body)),
    { locationOf: ({ technique }) => `/api/techniques/${technique.slug}` },
  ),

  endpoint(
    {
      ...governing,
      id: 'updateTechnique',
      method: 'patch',
      path: '/api/techniques/:slug',
      summary: 'Rename (the old slug continues to work), edit, retire or restore a technique',
      body: TechniquePatchBody,
      example: { name: 'Zoom to the cursor' },
      answer: entryAnswer,
      price: 'heavy',
      errors: [404, 409],
    },
    async ({ db }: { db: Db }, { params, body }) => {
      return toAnswer(await updateTechnique(db, params.slug, body))
    },
  ),

  endpoint(
    {
      ...governing,
      id: 'mergeTechnique',
      method: 'post',
      path: '/api/techniques/:slug/merge',
      summary: 'Make all frames of one technique frames of another',
      body: MergeBody,
      example: { into: 'cursor-zoom' },
      answer: entryAnswer,
      price: 'heavy',
      errors: [404, 409],
    },
    async ({ db }: { db: Db }, { params, body }) => toAnswer(await mergeTechnique(db, params.slug, body.into)),
  ),
]

const suggestions = [
  endpoint(
    {
      ...governing,
      id: 'listTechniqueSuggestions',
      method: 'get',
      path: '/api/technique-suggestions',
      summary: 'Techniques that models proposed outside the vocabulary, with counts and frames',
      answer: Suggestions,
    },
    async ({ db }: { db: Db }) => ({ suggestions: await listSuggestions(db) }),
  ),

  endpoint(
    {
      ...governing,
      id: 'dismissTechniqueSuggestion',
      method: 'delete',
      path: '/api/technique-suggestions/:slug',
      summary: 'Dismiss a proposal',
      answer: Ok,
    },
    async ({ db }: { db: Db }, { params }) => {
      await dismissSuggestion(db, params.slug)
      return OK
    },
  ),
]

export const techniqueEndpoints = [...vocabulary, ...suggestions]
