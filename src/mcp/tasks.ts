import { createHash } from 'node:crypto'
import type { App } from '../api/app.ts'
import { quote } from '../clean-text.ts'
import { AppError } from '../errors.ts'
import { refusalOf } from '../library/accounts/key-checks.ts'
import { cancelVideo } from '../library/videos/lifecycle.ts'
import { reportVideos, type VideoReport } from '../library/videos/video-status.ts'
import { OVER } from '../library/videos/videos.ts'
import type { Method } from './dispatcher.ts'
import {
  declares,
  type Era,
  type Fields,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  RpcError,
  TASKS,
} from './protocol.ts'
import type { ToolCalls } from './tool-call.ts'

/**
 * Tasks (SEP-2663): a host waits for the videos that a call has queued, instead of its model. Nothing is kept beside
 * the videos: the id of a task names them, and holds a digest with the id of its account.
 */

const POLL_MS = 5_000

/** The task of these videos; undefined where none is worked on. */
export async function openTask(db: App['db'], accountId: string, ids: readonly string[]): Promise<object | undefined> {
  const videos = await reportVideos(db, ids)
  if (videos.every(({ status }) => OVER.includes(status))) return undefined
  return { resultType: 'task', ...toTask(taskIdOf(accountId, ids), videos) }
}

function taskIdOf(accountId: string, ids: readonly string[]): string {
  const digest = createHash('sha256').update(`task ${accountId} ${ids.join()}`).digest('base64url')
  return [...ids, digest.slice(0, 22)].join('.')
}

function toTask(taskId: string, videos: readonly VideoReport[]) {
  const done = videos.filter(({ status }) => OVER.includes(status))
  const text = videos.map(statusLine).join('\n')
  const moved = videos.map(({ added_at, ready_at, stages }) => ready_at ?? stages.at(-1)?.started_at ?? added_at)
  const told = {
    ...{ taskId, statusMessage: text, ttlMs: null, pollIntervalMs: POLL_MS },
    createdAt: videos[0]!.added_at,
    lastUpdatedAt: moved.sort().at(-1)!,
  }
  if (done.length < videos.length) return { ...told, status: 'working' }
  if (videos.every(({ status }) => status === 'cancelled')) return { ...told, status: 'cancelled' }
  const added = videos.map(({ id, title, status }) => ({ video_id: id, title, status, created: true, unchanged: [] }))
  const result = {
    content: [{ type: 'text', text }],
    structuredContent: { videos: added, refused: [] },
    ...(videos.every(({ status }) => status !== 'ready') ? { isError: true } : {}),
  }
  return { ...told, status: 'completed', result }
}

export function taskMethods({ db }: Pick<App, 'db'>, calls: Pick<ToolCalls, 'guarded'>): [string, Method][] {
  const answering = (answer: (taskId: string, videos: VideoReport[]) => Promise<object>): Method => ({
    answer: async (params, context, era) => {
      requireDeclared(params, era)
      return calls.guarded(context, async ({ caller }) => {
        const taskId = typeof params.taskId === 'string' ? params.taskId : ''
        const ids = taskId.split('.').slice(0, -1)
        const isOwn = caller && !refusalOf(caller, 'videos:write') && taskIdOf(caller.account.id, ids) === taskId
        const videos = isOwn ? await reportVideos(db, ids) : []
        if (videos.length === 0) throw new RpcError(INVALID_PARAMS, 'Unknown task. add_video opens one.')
        return answer(taskId, videos)
      })
    },
  })
  const cancel = answering(async (_taskId, videos) => {
    for (const { id, status } of videos) if (!OVER.includes(status)) await cancelVideo(db, id).catch(ignoreDone)
    return {}
  })
  return [
    ['tasks/get', answering(async (taskId, videos) => toTask(taskId, videos))],
    // Nothing is asked of a person.
    ['tasks/update', answering(async () => ({}))],
    ['tasks/cancel', { ...cancel, priceOf: () => 'write' }],
  ]
}

function ignoreDone(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'conflict') throw error
}

function requireDeclared(params: Fields, era: Era): void {
  if (era.name === 'legacy') throw new RpcError(METHOD_NOT_FOUND, 'Method not found: tasks are of revision 2026-07-28')
  if (declares(params, TASKS)) return
  const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } }
  throw new RpcError(MISSING_CAPABILITY, `This needs the client capability ${TASKS}`, { status: 400, data })
}

export const leftOf = (stages: VideoReport['stages']) => stages.at(-1)?.left_sec ?? null

export function statusLine({ id, title, status, failure, stages }: VideoReport): string {
  const left = leftOf(stages)
  const why = failure ? `: ${failure.message}` : ''
  return `${lineOf({ video_id: id, title, status })}${why}${left === null ? '' : `, about ${Math.ceil(left)} s left`}`
}

export const lineOf = ({ video_id, title, status }: { video_id: string; title: string; status: string }) =>
  `${video_id} ${quote(title, 80)}: ${status}`
