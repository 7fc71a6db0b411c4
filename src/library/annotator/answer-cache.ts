import type { Db } from '../../db/client.ts'
import { visionAnswers } from '../../db/schema/vision.ts'
import { and, eq, sql } from '../../sql/orm.ts'
import type { AnswerCache, CachedAnswer } from '../../vision/model/answer.ts'

/** The annotator's cache in Postgres: a model's earlier answers by image. */
export function answerCache(db: Db): AnswerCache {
  return {
    async get({ imageSha256, model, promptVersion }) {
      const [row] = await db
        .select({ answer: visionAnswers.answer })
        .from(visionAnswers)
        .where(
          and(
            eq(visionAnswers.imageSha256, imageSha256),
            eq(visionAnswers.model, model),
            eq(visionAnswers.prompt, promptVersion),
          ),
        )
      return (row?.answer as CachedAnswer | undefined) ?? null
    },
    async set({ imageSha256, model, promptVersion }, answer) {
      await db.insert(visionAnswers).values({ imageSha256, model, prompt: promptVersion, answer }).onConflictDoNothing()
    },
  }
}

/**
 * Deletes answers older than 30 days about images that no frame has. Returns the number deleted. The delay keeps
 * answers for videos that are deleted and soon added again.
 */
export async function deleteUnusedAnswers(db: Db): Promise<number> {
  const { rowCount } = await db.execute(
    sql`delete from vision_answers a
        where a.created_at < now() - interval '30 days'
          and not exists (select 1 from frames f where f.image_sha256 = a.image_sha256)`,
  )
  return rowCount ?? 0
}
