import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { POINTS, pointsForItems } from '../../http/rate-limit/budgets.ts'
import { requireAnnotator } from '../../library/annotator/active-annotator.ts'
import { expectedCostOfFrames } from '../../library/annotator/vision-spending.ts'
import { type ReannotationFilter, requestReannotation, sizeOfReannotation } from '../../library/frames/reannotation.ts'
import { cancelVideo, deleteVideo, retryVideo, whatGoesWith } from '../../library/videos/lifecycle.ts'
import { submitUpload } from '../../library/videos/submit.ts'
import { reportVideos } from '../../library/videos/video-status.ts'
import { type Actions, type Asked, counted, type Done, field } from '../actions.ts'
import { wantsJson } from '../guard.ts'
import type { PageDeps } from '../page-deps.ts'
import { type AgainChoice, deletePage, reannotatePage, refusedPage } from './videos-view.ts'

const MAX_VIDEOS = 500
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
  .refine(({ ids }) => ids.length <= MAX_VIDEOS, `Select at most ${MAX_VIDEOS} videos at once.`)
type Wish = z.output<typeof Wish>

/** What operators do with one video or many. What deletes or costs says so first. */
export function addVideoActions(actions: Actions, deps: PageDeps): void {
  const cost = (wish: Wish) => wish.ids.length * (asksFirst(wish) ? POINTS.read : POINTS.write)
  actions.action({ path: '/web/operator/videos', who: 'operator', body: Wish, cost }, (asked) => act(deps, asked))
  addPlainUpload(actions, deps)
}

/** Whether the answer is a page that asks. */
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
      return { page: { title: 'Re-annotate', current: 'operator', body: await againPage(deps, visitor, ids) } }
    const { version } = await requireAnnotator(db)
    const again = wish.frames === 'all'
    const size = await sizeOfReannotation(db, version, { videoIds: ids, again })
    await asked.charge(pointsForItems(size.frames))
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
export function noticeOf({ done, n, queued }: { done?: string; n?: number; queued?: number }): string | undefined {
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

/** A file in one request, for pages without script. */
function addPlainUpload(actions: Actions, { db, store, maxUploadBytes: maxBytes }: PageDeps): void {
  const form = { path: '/web/videos/file', who: 'operator', maxBytes } as const
  actions.file(form, async ({ file, filename, fields }) => {
    const details = async () => {
      const { title, author } = await fields()
      return { title, author }
    }
    const { video, created } = await submitUpload(db, store, file, { filename, maxBytes, details })
    return created ? '/operator?queued=1' : `/operator/videos/${video.id}`
  })
}
