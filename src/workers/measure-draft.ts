import { readFile } from 'node:fs/promises'
import type { Db } from '../db/client.ts'
import type { DraftFilm, DraftRow } from '../db/schema/videos.ts'
import {
  beginDraft,
  forgetDraftFile,
  listRunningDrafts,
  recordDraftState,
  refundDraft,
  settleDraft,
} from '../library/films/drafts.ts'
import { toFilmShots } from '../library/films/films.ts'
import type { Queues } from '../queue/queues.ts'
import type { Handlers } from '../queue/work.ts'
import type { Extraction } from '../video/extract/extract.ts'
import type { Annotator, FrameAnnotation } from '../vision/annotator.ts'
import type { Shot, Subject, Surface } from '../vocabulary.ts'
import { type AttemptDeps, type AttemptWork, fetchAndExtract, runAttempt, untilRoom } from './attempt.ts'

export interface DraftDeps extends AttemptDeps {
  db: Db
  /** The annotator without a model: nothing of a draft leaves this installation. */
  annotator: Annotator
}

/** What a failure that is not the file's own says to a draft's owner, who sees no log. */
const OURS = new Map([
  ['internal_error', 'Measuring failed several times, not because of the file. Tell an operator.'],
  ['disk_full', 'The service has too little room for this draft. Try again later.'],
])

/** Measures a draft: fetch, extract, read its text. Its pictures stay in the scratch folder, which is removed. */
export function measureDraft(deps: DraftDeps): Handlers['measure-draft'] {
  const { db, store } = deps
  return async ({ draftId: id }, context) => {
    await untilRoom(deps)
    const draft = await beginDraft(db, id)
    // Deleted, perhaps with its account, or settled: then its file is not needed either.
    if (!draft) return forgetDraftFile(store, id)
    const attempt = {
      id,
      about: { draftId: id },
      attempts: draft.attempts,
      async record({ stage }: { stage: string }) {
        const wanted = await recordDraftState(db, id, stage === 'fetching' ? 'fetching' : 'measuring')
        if (!wanted) await forgetDraftFile(store, id)
        return wanted
      },
      refund: () => refundDraft(db, id),
      fail: (code: string, message: string) => settleDraft(db, store, id, { code, message: OURS.get(code) ?? message }),
    }
    await runAttempt(deps, attempt, context, (work) => measure(deps, draft, work))
  }
}

async function measure(deps: DraftDeps, draft: DraftRow, work: AttemptWork): Promise<void> {
  const { extraction } = await fetchAndExtract(deps, { ...draft, platform: 'web' }, work)
  const { picture, probe } = extraction
  const frames = await readFrames(deps, draft, extraction, work.signal)
  const film = { durationSec: probe.durationSec, shots: toFilmShots(extraction.shots), picture, frames }
  await settleDraft(deps.db, deps.store, draft.id, { film })
}

/** Describes the frames as far as that goes without a model, a few at a time. */
async function readFrames(
  { annotator }: DraftDeps,
  { id, title }: DraftRow,
  { frames, shots, probe }: Extraction,
  signal: AbortSignal,
): Promise<DraftFilm['frames']> {
  const read: DraftFilm['frames'] = []
  const { batchSize } = annotator
  for (let from = 0; from < frames.length; from += batchSize) {
    const some = frames.slice(from, from + batchSize)
    const asked = await Promise.all(
      some.map(async ({ tMs, imagePath, ...frame }, n) => {
        const image = await readFile(imagePath)
        return { ...frame, id: String(from + n), tSec: tMs / 1000, image }
      }),
    )
    const context = { id, title, author: null, durationSec: probe.durationSec }
    const { annotations } = await annotator.annotate(context, asked, { signal, techniques: [] })
    const byId = new Map(annotations.map((one) => [one.frameId, one]))
    for (const { id: frameId, tSec, kind, tone } of asked) {
      const shot = shots.findLast(({ startMs }) => startMs <= tSec * 1000)
      const shot_sec: [number, number] | null = shot ? [shot.startMs / 1000, shot.endMs / 1000] : null
      read.push({ id: frameId, t_sec: tSec, kind, tone, shot_sec, ...valuesOf(byId.get(frameId)) })
    }
  }
  return read
}

function valuesOf(annotation: FrameAnnotation | undefined) {
  const of = (name: keyof FrameAnnotation['values']) => annotation?.values[name]?.value ?? null
  return {
    subject: of('subject') as Subject | null,
    surface: of('surface') as Surface | null,
    shot: of('shot') as Shot | null,
    on_screen_text: of('on_screen_text'),
  }
}

/** Enqueues drafts that no job waits for. Their rows are the only sign: no event tells of them. */
export async function enqueueDrafts({ db, queues }: { db: Db; queues: Queues }): Promise<void> {
  const ids = queues.redis.status === 'ready' ? await listRunningDrafts(db) : []
  if (ids.length > 0) await queues.addAll(ids.map((draftId) => ({ name: 'measure-draft', data: { draftId } })))
}
