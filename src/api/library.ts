import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import type { TechniqueRow } from '../db/schema/techniques.ts'
import { AppError } from '../errors.ts'
import { callerOf } from '../http/authenticate.ts'
import { jsonBody } from '../http/idempotent-write.ts'
import { type Correction, correctFrame } from '../library/frames/corrections.ts'
import { adoptProposals, dismissSuggestion, listSuggestions } from '../library/frames/technique-suggestions.ts'
import { addTechnique, MAX_TECHNIQUE, mergeTechnique, patchTechnique } from '../library/techniques/techniques.ts'
import { ANNOTATED, MAX_TEXT, SHOTS, SUBJECTS, SURFACES, ZONES } from '../vocabulary.ts'

const words = z.string().min(1).max(MAX_TEXT).nullable()
export const CorrectionBody = z
  .strictObject({
    subject: z.enum(SUBJECTS).nullable(),
    surface: z.enum(SURFACES).nullable(),
    shot: z.enum(SHOTS).nullable(),
    technique: z.string().min(1).max(64).nullable(),
    zone: z.enum(ZONES).nullable(),
    caption: words,
    composition: words,
    steal: words,
    on_screen_text: words,
  })
  .partial()
  .refine((body) => Object.keys(body).length > 0, `name at least one of ${ANNOTATED.join(', ')}`)

const slug = z.string().min(1).max(64)
const technique = {
  name: z.string().trim().min(1).max(MAX_TECHNIQUE.name),
  description: z.string().trim().min(1).max(MAX_TECHNIQUE.description),
  recognise: z.string().trim().min(1).max(MAX_TECHNIQUE.recognise),
  aliases: z.array(slug).max(MAX_TECHNIQUE.aliases),
}
export const NewTechniqueBody = z.strictObject({
  slug,
  name: technique.name,
  description: technique.description,
  recognise: technique.recognise.optional(),
  aliases: technique.aliases.optional(),
})
export const TechniquePatchBody = z
  .strictObject({ slug, ...technique, retired: z.boolean() })
  .partial()
  .refine(
    (body) => Object.keys(body).length > 0,
    'name at least one of slug, name, description, recognise, aliases, retired',
  )
export const MergeBody = z.strictObject({ into: slug })

/** Corrections of frames and the governed vocabulary: operators with `library:write`. */
export function libraryRouter({
  db,
  requireScope,
}: {
  db: Db
  requireScope: (scope: 'library:write') => RequestHandler
}): Router {
  const router = Router()
  const operator = requireScope('library:write')

  router.patch('/api/frames/:id/annotation', operator, jsonBody, async (req, res) => {
    const correction: Correction = CorrectionBody.parse(req.body)
    await correctFrame(db, { frameId: String(req.params.id), accountId: callerOf(req).account.id, correction })
    res.json({ ok: true })
  })

  router.post('/api/techniques', operator, jsonBody, async (req, res) => {
    const row = await addTechnique(db, NewTechniqueBody.parse(req.body))
    await adoptProposals(db)
    res.status(201).json({ technique: toVocabularyEntry(row) })
  })

  router.patch('/api/techniques/:slug', operator, jsonBody, async (req, res) => {
    const row = await patchTechnique(db, String(req.params.slug), TechniquePatchBody.parse(req.body))
    if (!row) throw new AppError('invalid_request', 'Nothing of this changes the technique.')
    await adoptProposals(db)
    res.json({ technique: toVocabularyEntry(row) })
  })

  router.post('/api/techniques/:slug/merge', operator, jsonBody, async (req, res) => {
    const { into } = MergeBody.parse(req.body)
    res.json({ technique: toVocabularyEntry(await mergeTechnique(db, String(req.params.slug), into)) })
  })

  router.get('/api/technique-suggestions', operator, async (_req, res) => {
    res.json({ suggestions: await listSuggestions(db) })
  })

  router.delete('/api/technique-suggestions/:slug', operator, async (req, res) => {
    await dismissSuggestion(db, String(req.params.slug))
    res.json({ ok: true })
  })

  return router
}

export function toVocabularyEntry(row: TechniqueRow) {
  return {
    slug: row.slug,
    name: row.name,
    description: row.description,
    recognise: row.recognise,
    aliases: row.aliases,
    retired: row.retiredAt !== null,
  }
}
