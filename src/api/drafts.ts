import { z } from 'zod'
import { namingFields } from '../errors.ts'
import { endpoint } from '../http/endpoint.ts'
import { deleteDraft, listDrafts, requireDraft, submitDraftAddress, submitDraftFile } from '../library/films/drafts.ts'
import { DRAFT_POINTS, DraftAbout, DraftAnswer, readDraft, toDraftAbout } from '../views/draft.ts'
import type { FilmDeps } from '../views/film.ts'
import { OK, Ok } from '../views/resources.ts'
import { fileParameters, filmBodies, receiveFilm, type SubmitDeps, titleSchema } from './submit-video.ts'

/** Drafts: a member's own unpublished films, measured against the library. */

type Deps = SubmitDeps & FilmDeps & { publicUrl: string }

const Fields = z.strictObject({ title: titleSchema.optional() })
const UrlBody = Fields.extend({ url: z.string().min(1).max(2_000) })

export const draftEndpoints = [
  endpoint(
    {
      id: 'submitDraft',
      method: 'post',
      path: '/api/drafts',
      tag: 'Account',
      summary: 'Measure an unpublished film: a URL, or a streamed file. Only you see it, and it is gone after 24 hours',
      description: 'One at a time: a second one while the first is measured is a 409.',
      parameters: fileParameters,
      otherBody: filmBodies(UrlBody, ['title']),
      answer: z.strictObject({ draft: DraftAbout }).meta({ id: 'SubmittedDraft' }),
      status: 202,
      answerHeaders: { Location: 'The path of the draft.' },
      scope: 'saves:write',
      errors: [409],
    },
    async (deps: Deps, given) => {
      const { db, store, maxUploadBytes: maxBytes, addresses } = deps
      const accountId = given.caller.account.id
      const draft = await receiveFilm(given, maxBytes, {
        parameters: fileParameters,
        url: async (body) =>
          submitDraftAddress(db, addresses, { accountId, ...UrlBody.parse(body, { error: namingFields }) }),
        file: (file, { filename, fields }) => {
          const title = async () => Fields.parse(await fields).title
          return submitDraftFile(db, store, file, { accountId, filename, maxBytes, title })
        },
      })
      given.res.set('Location', `/api/drafts/${draft.id}`)
      return { draft: toDraftAbout(draft) }
    },
  ),

  endpoint(
    {
      id: 'listDrafts',
      method: 'get',
      path: '/api/drafts',
      tag: 'Account',
      summary: "This account's drafts, newest first",
      parameters: {},
      answer: z.strictObject({ drafts: z.array(DraftAbout) }).meta({ id: 'DraftsResponse' }),
      scope: 'saves:read',
    },
    async ({ db }: Deps, { caller }) => ({ drafts: (await listDrafts(db, caller.account.id)).map(toDraftAbout) }),
  ),

  endpoint(
    {
      id: 'getDraft',
      method: 'get',
      path: '/api/drafts/:id',
      tag: 'Account',
      summary: 'How far a draft is; once measured, how it is built and where it stands in the library',
      parameters: {},
      answer: z.strictObject({ draft: DraftAnswer }).meta({ id: 'DraftResponse' }),
      scope: 'saves:read',
      errors: [404],
      cost: { points: DRAFT_POINTS },
      long: true,
    },
    async (deps: Deps, { caller, params: { id } }) => {
      const draft = await requireDraft(deps.db, { accountId: caller.account.id, id })
      return { draft: await readDraft(deps, draft) }
    },
  ),

  endpoint(
    {
      id: 'deleteDraft',
      method: 'delete',
      path: '/api/drafts/:id',
      tag: 'Account',
      summary: 'Delete a draft with its file, also while it is measured',
      parameters: {},
      answer: Ok,
      scope: 'saves:write',
      everyPlan: true,
      errors: [404],
    },
    async ({ db, store }: Deps, { caller, params: { id } }) => {
      await deleteDraft(db, store, { accountId: caller.account.id, id })
      return OK
    },
  ),
]
