import { EventEmitter, on } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { and, asc, gt, inArray } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { videos } from '../../db/schema/videos.ts'
import { type EventType, START } from '../../events/catalogue.ts'
import { findEnd } from '../../events/read.ts'
import type { LogTail } from '../../events/tail.ts'
import { countByStatus, findVideoPictures, reportVideos } from '../../library/videos/video-status.ts'
import type { Logger } from '../../logger.ts'
import { countLinks, SHOWN, videoRow } from './videos-view.ts'

/**
 * Events that change a video's row. Progress within a stage is no event: it is read from the rows of unfinished videos.
 */
const STEPS: readonly EventType[] = [
  'video.submitted',
  'video.ready',
  'video.failed',
  'video.cancelled',
  'video.deleted',
  'frames.extracted',
  'frames.annotated',
  'frames.reannotation_requested',
]

/** How often progress is read while a page is open. */
const TICK_MS = 1_000
/** Rows of one message; the rest comes with the next. */
const MAX_ROWS = 100

const toMessage = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** One reader for the whole process. It runs only while a page is open. */
export function openLiveVideos({ db, tail, logger }: { db: Db; tail: LogTail; logger: Logger }) {
  /** `told` for each message, `ended` where the reader stops by itself. */
  const reader = new EventEmitter().setMaxListeners(0)
  const tell = (name: string, data: object) => void reader.emit('told', toMessage(name, data))
  let stop: AbortController | undefined

  function start(): void {
    const own = new AbortController()
    stop = own
    run({ db, tail, tell, signal: own.signal })
      .catch((error: unknown) => logger.warn({ err: error }, 'live videos stopped'))
      .then(() => {
        // Those who look connect again, to another process or to a reader that works.
        if (own.signal.aborted) return
        stop = undefined
        reader.emit('ended')
      })
  }

  return {
    /** What changed, as messages of `text/event-stream`, for any number of lookers. */
    async *follow(signal: AbortSignal): AsyncGenerator<string> {
      if (signal.aborted) return
      const messages = on(reader, 'told', { signal, close: ['ended'] })
      if (!stop) start()
      try {
        yield toMessage('hello', {})
        for await (const [message] of messages) yield message as string
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        await messages.return?.()
        if (reader.listenerCount('told') === 0) {
          stop?.abort()
          stop = undefined
        }
      }
    },
  }
}

interface Run {
  db: Db
  tail: LogTail
  tell(name: string, data: object): void
  signal: AbortSignal
}

async function run({ db, tail, tell, signal }: Run): Promise<void> {
  /** Ids that changed, in the order in which they did. */
  const changed = new Set<string>()
  const added = new Set<string>()
  const readLog = async () => {
    for await (const events of tail.follow({ after: await findEnd(db).catch(() => START), types: STEPS, signal }))
      for (const { type, subject, data } of events) {
        changed.add(subject)
        if (type === 'video.submitted' && data.reason === 'added') added.add(subject)
      }
  }
  // It ends when the process stops.
  const ended = new AbortController()
  const log = readLog().finally(() => ended.abort())
  // Awaited at the end. Until then a failure of it is handled by `ended`.
  log.catch(() => undefined)
  let since = new Date()
  let told = ''
  while (!signal.aborted && !ended.signal.aborted) {
    try {
      const moved = await movedSince(db, since)
      for (const { id } of moved) changed.add(id)
      since = moved.at(-1)?.updatedAt ?? since
      const ids = [...changed].slice(0, MAX_ROWS)
      if (ids.length > 0) {
        tell('videos', await changesOf(db, ids, added))
        for (const id of ids) changed.delete(id)
      }
      const counts = countLinks(await countByStatus(db)).join('')
      if (counts !== told) tell('counts', { html: counts })
      told = counts
    } catch {
      // The database comes back, or the page shows what it has.
    }
    await sleep(TICK_MS, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).catch(() => undefined)
  }
  await log
}

/** Videos in work that moved, oldest change first. */
async function movedSince(db: Db, since: Date): Promise<{ id: string; updatedAt: Date }[]> {
  return db
    .select({ id: videos.id, updatedAt: videos.updatedAt })
    .from(videos)
    .where(and(inArray(videos.status, [...SHOWN.working]), gt(videos.updatedAt, since)))
    .orderBy(asc(videos.updatedAt))
    .limit(MAX_ROWS)
}

/** Rows by id, null for a video that is gone. `added`: those that no list can hold yet. */
async function changesOf(db: Db, ids: readonly string[], added: Set<string>) {
  const reports = new Map((await reportVideos(db, ids)).map((report) => [report.id, report]))
  const pictures = await findVideoPictures(db, ids)
  const rows = Object.fromEntries(
    ids.map((id) => {
      const report = reports.get(id)
      return [id, report ? videoRow(report, pictures.get(id)).text : null]
    }),
  )
  const fresh = ids.filter((id) => added.delete(id))
  return { rows, added: fresh }
}
