import { sql } from 'drizzle-orm'
import { z } from 'zod'
import { OPERATOR_POINTS } from '../../http/rate-limit/budgets.ts'
import { operatorSessions } from '../../library/accounts/sessions.ts'
import { findAnnotatorStatus } from '../../library/annotator/active-annotator.ts'
import { sha256 } from '../../library/ids.ts'
import { countByStatus, findVideoPictures, listVideos, reportVideo } from '../../library/videos/video-status.ts'
import type { Parameters } from '../../parameters.ts'
import type { Actions } from '../actions.ts'
import { type Html, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { counted, thousands } from '../words.ts'
import { openLiveVideos } from './live-videos.ts'
import { ago } from './parts.ts'
import { noticeOf } from './video-actions.ts'
import { SHOWN, type ShownList, VIDEOS_PAGE, videoPage, videosPage } from './videos-view.ts'

const whole = z.coerce.number().int().min(0)
const parameters = {
  show: { schema: z.enum(Object.keys(SHOWN) as [ShownList, ...ShownList[]]), description: 'Which videos.' },
  page: { schema: z.coerce.number().int().min(1).max(100_000), description: `Page of ${VIDEOS_PAGE} videos.` },
  queued: { schema: whole, description: 'Told: videos that were queued.' },
  done: { schema: z.string().max(20), description: 'Told: what was done.' },
  n: { schema: whole, description: 'Told: to how many.' },
} as const satisfies Parameters

/** `/operator`, `/operator/videos/{id}` and their live changes. */
export function addVideoPages(actions: Actions, deps: PageDeps): void {
  const { db, maxUploadBytes, assets, streams } = deps
  const live = openLiveVideos(deps)
  const guard = (holders: readonly string[]) => operatorSessions(db, holders)

  actions.page('/operator', 'operator', { parameters, cost: OPERATOR_POINTS.videos }, async ({ visitor, query }) => {
    const { show = 'all', page = 1, ...told } = query
    const skip = (page - 1) * VIDEOS_PAGE
    const [videos, counts, problem] = await Promise.all([
      listVideos(db, { statuses: SHOWN[show], limit: VIDEOS_PAGE, skip }),
      countByStatus(db),
      problemOf(deps),
    ])
    const pictures = await findVideoPictures(
      db,
      videos.map(({ id }) => id),
    )
    const hashWorker = assets.url('hash-worker.js')
    const notice = noticeOf(told)
    const body = videosPage({
      visitor,
      videos,
      pictures,
      counts,
      shown: show,
      page,
      notice,
      maxUploadBytes,
      hashWorker,
      problem,
    })
    return { title: 'Videos', current: 'operator', wide: true, modules: ['console.js', 'uploads.js'], body }
  })

  actions.page('/operator/videos/:id', 'operator', { parameters: {} }, async ({ visitor, param }) => {
    const video = await reportVideo(db, param('id'))
    return {
      title: video.title,
      current: 'operator',
      wide: true,
      modules: ['console.js'],
      body: videoPage(visitor, video, (await findVideoPictures(db, [video.id])).get(video.id)),
    }
  })

  actions.page('/web/events', 'operator', { parameters: {} }, async ({ visitor, req, res }) => {
    await streams.send({ req, res }, { holder: sha256(visitor.token), guard, messages: live.follow })
    return undefined
  })
}

/** Why frames cannot be described as they should be, and what to do. */
async function problemOf({ db, vision }: PageDeps): Promise<Html | false> {
  const { problem } = await findAnnotatorStatus(db)
  if (problem)
    return html`<p class="notice" role="status">Frames cannot be described: ${problem.message}
(<code>${problem.code}</code>, ${ago(problem.since)})</p>`
  if (vision) return false
  const { rows } = await db.execute<{ all: number; left: number }>(
    sql`select count(*)::int as all, count(*) filter (where subject is null)::int as left from frames`,
  )
  const { all, left } = rows[0]!
  const share =
    all > 0 && html` ${thousands(left)} of ${counted(all, 'frame')} ${left === 1 ? 'is' : 'are'} not described.`
  return html`<details class="notice">
<summary>No vision model is set: frames are measured.${share}</summary>
<p>Set these two, then start the service again. Any endpoint that speaks the OpenAI protocol will do.</p>
<pre><code>VISION_BASE_URL=https://api.openai.com/v1
VISION_MODEL=gpt-5-mini</code></pre></details>`
}
