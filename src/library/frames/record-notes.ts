import { and, asc, eq, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import type { FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../../vocabulary.ts'
import { shareVocabulary } from '../techniques/vocabulary.ts'
import { lockVideo } from '../videos/videos.ts'
import { storeAnswers } from './record-annotations.ts'

/** The public `annotation.model` of frames that notes describe. */
const NOTES = 'notes'

/** What a person wrote about a stretch of a video, in seconds. `from` is inclusive, `to` is exclusive. */
export type Note = { from: number; to: number } & Partial<Record<AnnotatedAttribute, string>>

/**
 * Describes the frames of a video by notes that came with it. Notes outrank a model's answers; a correction outranks
 * notes. Frames that `author`'s notes already describe are skipped, so a repeat changes nothing. Returns the number of
 * frames described: 0 before the frames are extracted and for an unknown video.
 */
export async function recordNotes(
  db: Db,
  { videoId, author, notes }: { videoId: string; author: string; notes: readonly Note[] },
): Promise<number> {
  const annotator = `${NOTES}:${author}`
  return db.transaction(async (tx) => {
    // The lock order of recordAnnotations: the vocabulary, the video, the frames.
    await shareVocabulary(tx)
    const video = await lockVideo(tx, videoId)
    if (video?.status !== 'annotating' && video?.status !== 'ready') return 0
    const rows = await tx
      .select({ id: frames.id, sampleMs: frames.sampleMs })
      .from(frames)
      .where(
        and(
          eq(frames.videoId, videoId),
          sql`not exists (select 1 from annotations a where a.frame_id = ${frames.id} and a.annotator = ${annotator})`,
        ),
      )
      .orderBy(asc(frames.tMs))
    const list = rows.flatMap(({ id, sampleMs }) => {
      const note = notes.find(({ from, to }) => from * 1000 <= sampleMs && sampleMs < to * 1000)
      return note ? [toAnnotation(id, note)] : []
    })
    if (list.length === 0) return 0
    const { changed } = await storeAnswers(tx, { video, annotator, model: NOTES, list })
    return changed.length
  })
}

function toAnnotation(frameId: string, note: Note): FrameAnnotation {
  const values: FrameAnnotation['values'] = {}
  for (const attribute of ANNOTATED) {
    const value = note[attribute]
    if (value !== undefined) values[attribute] = { value, source: 'notes', confidence: 1 }
  }
  return { frameId, status: 'annotated', values, issues: [] }
}
