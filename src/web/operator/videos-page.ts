import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { findAnnotatorStatus, requireAnnotator } from '../../library/annotator/active-annotator.ts'
import { describeProgress } from '../../library/annotator/progress.ts'
import { expectedCostOfFrames } from '../../library/annotator/vision-spending.ts'
import { countDescribed } from '../../library/frames/frames.ts'
import { type ReannotationFilter, requestReannotation, sizeOfReannotation } from '../../library/frames/reannotation.ts'
import { cancelVideo, deleteVideo, retryVideo, whatGoesWith } from '../../library/videos/lifecycle.ts'
import {
  countByStatus,
  findVideoPictures,
  listVideos,
  reportVideo,
  reportVideos,
} from '../../library/videos/video-status.ts'
import type { Parameters } from '../../parameters.ts'
import { type Actions, type Asked, type Done, field } from '../actions.ts'
import { wantsJson } from '../guard.ts'
import { counted, type Html, html, thousands } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { ago } from './parts.ts'
import { addDetailActions } from './video-details.ts'
import {
  type AgainChoice,
  deletePage,
  reannotatePage,
  refusedPage,
  SHOWN,
  type ShownList,
  VIDEOS_PAGE,
  videoPage,
  videosPage,
} from './videos-view.ts'

const whole = z.coerce.number().int().min(0)
const parameters = {
  show: { schema: z.enum(Object.keys(SHOWN) as [ShownList, ...ShownList[]]), description: 'Which videos.' },
  page: { schema: z.coerce.number().int().min(1).max(100_000), description: `Page of ${VIDEOS_PAGE} videos.` },
  queued: { schema: whole, description: 'Told: videos that were queued.' },
  done: { schema: z.string().max(20), description: 'Told: what was done.' },
  n: { schema: whole, description: 'Told: to how many.' },
} as const satisfies Parameters

const ofVideo = {
  known: { schema: z.literal('1'), description: 'Told: the library had the file that was sent.' },
  saved: { schema: z.literal('1'), description: 'Told: its details were saved.' },
} as const satisfies Parameters

/** `/operator`, `/operator/videos/{id}`, and what operators do with one video or many. */
export function addVideoPages(actions: Actions, deps: PageDeps): void {
  const { db, config } = deps

  actions.page('/operator', 'operator', { parameters, price: 'write' }, async ({ visitor, query }) => {
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
    const listed = { visitor, videos, pictures, counts, shown: show, page, notice: noticeOf(told), problem }
    const body = videosPage({ ...listed, maxUploadBytes: config.maxUploadBytes })
    return { title: 'Videos', current: 'operator', wide: true, modules: ['console.js', 'uploads.js'], body }
  })

  actions.page('/operator/videos/:id', 'operator', { parameters: ofVideo }, async ({ visitor, param, query }) => {
    const video = await reportVideo(db, param('id'))
    const picture = (await findVideoPictures(db, [video.id])).get(video.id)
    const body = videoPage(visitor, video, { picture, told: query })
    return { title: video.title, current: 'operator', wide: true, modules: ['console.js'], body }
  })

  addDetailActions(actions, deps)
  const many = { path: '/web/operator/videos', who: 'operator', price: 'heavy', body: Wish } as const
  actions.action(many, (asked) => act(deps, asked))
}

/** Why frames cannot be described as they should be, and what to do. */
async function problemOf({ db, config }: PageDeps): Promise<Html | false> {
  const status = await findAnnotatorStatus(db)
  const { problem, progress } = status
  const lines = progress ? describeProgress(status, config.vision?.budgetPerDay) : []
  if (problem)
    return html`<p class="notice" role="status">Frames cannot be described: ${problem.message}
(${ago(problem.since)}) ${lines.join(' ')}</p>`
  if (lines.length > 0) return html`<p class="hint">${lines.join(' ')}</p>`
  if (config.vision) return false
  const { all, left } = await countDescribed(db)
  const share =
    left > 0 && html` ${thousands(left)} of ${counted(all, 'frame')} ${left === 1 ? 'is' : 'are'} not described.`
  return html`<details class="hint">
<summary>Frames are described by measurement only. Add a vision model.${share}</summary>
<p>Run <code>ollama pull qwen3-vl:8b-instruct</code>, set this, then start the service again. The name of another server
will do too, or of a hosted one with its key. With Docker Compose see “A model” in docs/production.md.</p>
<pre><code>VISION=ollama</code></pre></details>`
}

const ACTS = { retry: 'queued again', cancel: 'cancelled', delete: 'deleted', reannotate: 'asked for again' } as const
type Act = keyof typeof ACTS

/** `one` is `<act>:<id>`, from a row's own buttons; else `act` and the selected `video` fields. */
const Wish = z
  .object({ one: field.filled, act: field.text, video: field.list, sure: field.flag, frames: field.text })
  .transform(({ one, act, video, ...rest }) => {
    const [only, id = ''] = one?.split(':') ?? []
    return only === undefined ? { ...rest, act, ids: video } : { ...rest, act: only, ids: [id] }
  })
  .refine(({ act }) => Object.hasOwn(ACTS, act), `act must be one of ${Object.keys(ACTS).join(', ')}`)
  .refine(({ ids }) => ids.length > 0, 'No video is selected. Select one or more first.')
  .refine(({ ids }) => ids.length <= MOST_ITEMS, `Select at most ${MOST_ITEMS} videos at once.`)
type Wish = z.output<typeof Wish>

/** Whether the answer asks for confirmation first, as for acts that delete or cost. */
const asksFirst = ({ act, sure }: Wish) => (act === 'delete' || act === 'reannotate') && !sure

async function act(deps: PageDeps, asked: Asked & { body: Wish }): Promise<Done> {
  const { db } = deps
  const { visitor, body: wish } = asked
  const { ids } = wish
  const act = wish.act as Act
  if (act === 'delete' && asksFirst(wish)) {
    const body = deletePage(visitor, ids, await whatGoesWith(db, ids))
    return { page: { title: 'Delete', current: 'operator', body } }
  }
  if (act === 'reannotate') {
    if (asksFirst(wish))
      return { page: { title: 'Describe again', current: 'operator', body: await againPage(deps, visitor, ids) } }
    const { version } = await requireAnnotator(db)
    const again = wish.frames === 'all'
    const frames = await requestReannotation(db, version, { videoIds: ids, again })
    return { json: { frames }, to: `/operator?done=reannotate&n=${frames}` }
  }
  const one = { retry: retryVideo, cancel: cancelVideo, delete: deleteVideo }[act]
  const refused: { id: string; reason: string }[] = []
  for (const id of ids)
    await one(db, id).catch((error: unknown) => {
      if (!(error instanceof AppError) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error
      refused.push({ id, reason: error.message })
    })
  const done = ids.length - refused.length
  const json = { done, refused }
  if (refused.length === 0) return { json, to: `/operator?done=${act}&n=${done}` }
  if (ids.length === 1) throw new AppError('conflict', refused[0]!.reason)
  if (wantsJson(asked.req) && act !== 'delete') return { json, to: '/operator' }
  const titles = new Map((await reportVideos(db, ids)).map(({ id, title }) => [id, title]))
  const named = refused.map(({ id, reason }) => ({ title: titles.get(id) ?? id, reason }))
  const body = refusedPage(`${counted(done, 'video')} ${ACTS[act]}, ${refused.length} not:`, named)
  return { page: { title: 'Not all of it', current: 'operator', body }, status: 409 }
}

/** The result of an action, in the address of the list. */
function noticeOf({ done, n, queued }: { done?: string; n?: number; queued?: number }): string | undefined {
  if (queued !== undefined) return `${counted(queued, 'video')} queued.`
  if (done === undefined || n === undefined || !Object.hasOwn(ACTS, done)) return undefined
  const what = done === 'reannotate' ? 'frame' : 'video'
  return `${counted(n, what)} ${ACTS[done as Act]}.`
}

async function againPage({ db }: PageDeps, visitor: Asked['visitor'], ids: readonly string[]) {
  const active = await requireAnnotator(db)
  const choose = async (filter: ReannotationFilter): Promise<AgainChoice> => {
    const { frames, locked_frames: locked } = await sizeOfReannotation(db, active.version, filter)
    return { frames, locked, cost: await expectedCostOfFrames(db, active.model, frames) }
  }
  const fresh = await choose({ videoIds: ids })
  const all = await choose({ videoIds: ids, again: true })
  return reannotatePage(visitor, ids, { annotator: active.version, fresh, all })
}
