import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { cachedRead } from '../http/cached-reads.ts'
import { endpoint, LOCATION } from '../http/endpoint.ts'
import { POINTS, pointsForItems } from '../http/rate-limit/budgets.ts'
import { adoptFirstProposals, dismissSuggestion, listSuggestions } from '../library/frames/technique-suggestions.ts'
import {
  addTechnique,
  countFramesOf,
  describeTechnique,
  MAX_TECHNIQUE,
  mergeTechnique,
  patchTechnique,
} from '../library/techniques/techniques.ts'
import { SLUG } from '../library/techniques/vocabulary.ts'
import { OK, Ok, Technique, toTechnique } from '../views/resources.ts'
import type { ReadDeps } from './reads.ts'

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
const entryAnswer = z.strictObject({ technique: VocabularyEntry })

const slug = z
  .string()
  .max(64)
  .regex(SLUG, 'must have lower-case letters, digits and single hyphens only, such as split-screen')
const technique = {
  name: z.string().trim().min(1).max(MAX_TECHNIQUE.name),
  description: z.string().trim().min(1).max(MAX_TECHNIQUE.description),
  recognise: z.string().trim().min(1).max(MAX_TECHNIQUE.recognise),
  /** Other spellings: they become slugs. */
  aliases: z.array(z.string().max(100)).max(MAX_TECHNIQUE.aliases),
}
const NewTechniqueBody = z.strictObject({
  slug,
  name: technique.name,
  description: technique.description,
  recognise: technique.recognise.optional(),
  aliases: technique.aliases.optional(),
})
const TechniquePatchBody = z
  .strictObject({ slug, ...technique, retired: z.boolean() })
  .partial()
  .refine(
    (body) => Object.keys(body).length > 0,
    'name at least one of slug, name, description, recognise, aliases, retired',
  )
  .meta({ minProperties: 1 })
const MergeBody = z.strictObject({ into: slug })

const Suggestions = z
  .strictObject({
    suggestions: z.array(z.strictObject({ slug: z.string(), count: z.int(), frame_ids: z.array(z.string()) })),
  })
  .meta({ id: 'Suggestions' })

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
    async ({ search, publicUrl }: ReadDeps) => ({
      techniques: (await search.techniques()).map((document) => toTechnique(document, publicUrl)),
    }),
  ),

  endpoint(
    {
      id: 'addTechnique',
      method: 'post',
      path: '/api/techniques',
      tag: 'Operators',
      summary: 'Add a technique',
      body: NewTechniqueBody,
      example: {
        slug: 'cursor-zoom',
        name: 'Cursor zoom',
        description: 'The picture moves in on where the cursor clicks.',
      },
      answer: entryAnswer,
      status: 201,
      answerHeaders: LOCATION,
      scope: 'library:write',
      errors: [409],
    },
    async ({ db }: { db: Db }, { body, res }) => {
      const row = await addTechnique(db, body)
      await adoptFirstProposals(db)
      res.location(`/api/techniques/${row.slug}`)
      return { technique: describeTechnique(row) }
    },
  ),

  endpoint(
    {
      id: 'updateTechnique',
      method: 'patch',
      path: '/api/techniques/:slug',
      tag: 'Operators',
      summary: 'Rename (the old slug continues to work), edit, retire or restore a technique',
      body: TechniquePatchBody,
      example: { name: 'Zoom to the cursor' },
      answer: entryAnswer,
      scope: 'library:write',
      errors: [404, 409],
    },
    async ({ db }: { db: Db }, { params, body, charge }) => {
      if (body.slug !== undefined) await charge(pointsForItems(await countFramesOf(db, params.slug)) - POINTS.write)
      const row = await patchTechnique(db, params.slug, body)
      if (!row) throw new AppError('invalid_request', 'The technique has these values already. Send one that differs.')
      await adoptFirstProposals(db)
      return { technique: describeTechnique(row) }
    },
  ),

  endpoint(
    {
      id: 'mergeTechnique',
      method: 'post',
      path: '/api/techniques/:slug/merge',
      tag: 'Operators',
      summary: 'Make all frames of one technique frames of another',
      body: MergeBody,
      example: { into: 'cursor-zoom' },
      answer: entryAnswer,
      scope: 'library:write',
      errors: [404, 409],
    },
    async ({ db }: { db: Db }, { params, body, charge }) => {
      await charge(pointsForItems(await countFramesOf(db, params.slug)) - POINTS.write)
      return { technique: describeTechnique(await mergeTechnique(db, params.slug, body.into)) }
    },
  ),
]

const suggestions = [
  endpoint(
    {
      id: 'listTechniqueSuggestions',
      method: 'get',
      path: '/api/technique-suggestions',
      tag: 'Operators',
      summary: 'Techniques that models proposed outside the vocabulary, with counts and frames',
      answer: Suggestions,
      scope: 'library:write',
    },
    async ({ db }: { db: Db }) => ({ suggestions: await listSuggestions(db) }),
  ),

  endpoint(
    {
      id: 'dismissTechniqueSuggestion',
      method: 'delete',
      path: '/api/technique-suggestions/:slug',
      tag: 'Operators',
      summary: 'Dismiss a proposal',
      answer: Ok,
      scope: 'library:write',
    },
    async ({ db }: { db: Db }, { params }) => {
      await dismissSuggestion(db, params.slug)
      return OK
    },
  ),
]

export const techniqueEndpoints = [...vocabulary, ...suggestions]
