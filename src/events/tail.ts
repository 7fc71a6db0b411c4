import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, isConnectionLoss } from '../db/client.ts'
import type { Logger } from '../logger.ts'
import { oneAtATime } from '../turns.ts'
import { type Cursor, type EventType, formatCursor, isLater, type StoredEvent } from './catalogue.ts'
import { toCloudEvent } from './cloud-event.ts'
import { followLog } from './follow.ts'
import { findEnd, readEvents } from './read.ts'
import { createOutage } from './waiting.ts'

interface Following {
  /** Only later events. */
  after: Cursor
  types?: readonly EventType[] | undefined
  signal: AbortSignal
}

export type LogTail = ReturnType<typeof openLogTail>

/** The most events that a follower is given at once. */
const PAGE = 200

/**
 * The live log for any number of followers in this process. One reader serves them all: it holds one connection, which
 * listens to the log's NOTIFY, and reads the log once. It runs only while somebody follows.
 */
export function openLogTail(options: ReaderOptions) {
  const { db } = options
  const ended = new AbortController()
  // However many catch up, half of the time is left to others.
  const inTurn = oneAtATime({ rest: 1 })
  const closing = new Set<Promise<void>>()
  let reader: Reader | undefined
  let followers = 0

  function join(): Reader {
    followers++
    reader ??= startReader(options)
    return reader
  }

  function leave(): void {
    followers--
    if (followers > 0) return
    const closed = reader!.close().finally(() => closing.delete(closed))
    closing.add(closed)
    reader = undefined
  }

  async function* follow({ after, types, signal: own }: Following): AsyncGenerator<readonly StoredEvent[]> {
    const signal = AbortSignal.any([own, ended.signal])
    const { window, started } = join()
    try {
      await started(signal)
      let cursor = after
      while (!signal.aborted) {
        const { head } = window
        const kept = window.after(cursor, PAGE)
        if (kept === undefined) {
          const given = { after: cursor, upTo: head, types, limit: PAGE }
          const page = await inTurn(() => readEvents(db, given)).catch(waitForDatabase)
          if (!page) continue
          cursor = page.events.length < PAGE ? head : page.next
          if (page.events.length > 0) yield page.events
        } else if (kept.length === 0) await window.grown(signal)
        else {
          cursor = kept.at(-1)!.cursor
          const wanted = types ? kept.filter(({ type }) => types.includes(type)) : kept
          if (wanted.length > 0) yield wanted
        }
      }
    } finally {
      leave()
    }
  }

  return {
    /**
     * Every event after the position, in the order of the log and each once, then those that come. Ends at the signal
     * and at `end`. A follower is asked for no more than it takes: one that falls behind reads the log by itself.
     */
    follow,
    /** The same as text of `text/event-stream`: `id` is the cursor, `data` the CloudEvent. */
    async *messages({ source, ...from }: Following & { source: string }) {
      for await (const events of follow(from)) yield events.map((event) => toText(event, source)).join('')
    },
    /** Ends every follower, and those that come later at once. */
    end: () => ended.abort(),
    /** Ends the followers and closes the connection. */
    async [Symbol.asyncDispose]() {
      ended.abort()
      if (reader) await reader.close()
      await Promise.all(closing)
    },
  }
}

function toText(event: StoredEvent, source: string): string {
  return `id: ${formatCursor(event.cursor)}\ndata: ${JSON.stringify(toCloudEvent(event, source))}\n\n`
}

async function waitForDatabase(error: unknown): Promise<undefined> {
  if (!isConnectionLoss(error)) throw error
  await sleep(1_000)
}

interface ReaderOptions {
  db: Db
  url: string
  logger: Logger
  pollMs?: number
  /** How many of the newest events are kept for all followers. */
  windowSize?: number
  /** Called with every event that is read while there are followers. */
  onEvents?: (events: readonly StoredEvent[]) => void
}

const READ = 500

/** The newest events of the log as far as the reader has read. */
interface Window {
  /** The position up to which the log was read: every event up to it can be read by all. */
  readonly head: Cursor
  /** The next events behind a position. Undefined when the window no longer has all of them. */
  after(position: Cursor, limit: number): readonly StoredEvent[] | undefined
  /** Resolves when events are added, or at the signal. */
  grown(signal: AbortSignal): Promise<void>
}

interface Reader {
  window: Window
  /** Resolves when the end of the log is known, or at the signal. */
  started(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Reads the log from its end on. */
function startReader({ db, url, logger, pollMs = 1_000, windowSize = 2_000, onEvents }: ReaderOptions): Reader {
  const stop = new AbortController()
  const outage = createOutage()
  const bell = new EventEmitter().setMaxListeners(0)
  const heard = (what: 'started' | 'grown', signal: AbortSignal) =>
    once(bell, what, { signal }).then(
      () => undefined,
      () => undefined,
    )
  let kept: StoredEvent[] = []
  /** The positions before the first kept event, and of the last. */
  let base: Cursor | undefined
  let head: Cursor | undefined

  /** Reads what is new. False when there was nothing. */
  async function readOn(): Promise<boolean> {
    if (!head) {
      head = await findEnd(db)
      base = head
      bell.emit('started')
    }
    const { events, next } = await readEvents(db, { after: head, limit: READ })
    const over = outage.over()
    if (over) logger.info(over, 'event tail continues after an outage')
    if (events.length === 0) return false
    head = next
    kept.push(...events)
    const surplus = kept.length - windowSize
    if (surplus > 0) {
      base = kept[surplus - 1]!.cursor
      kept = kept.slice(surplus)
    }
    onEvents?.(events)
    bell.emit('grown')
    return true
  }

  const { ended } = followLog({
    ...{ url, pollMs, signal: stop.signal, name: 'event tail', step: readOn },
    failed(error) {
      const { log, pauseMs } = outage.failed()
      if (log) logger.warn({ err: error, ...log }, 'event tail waits for the database')
      return pauseMs
    },
  })
  return {
    window: {
      get head() {
        return head!
      },
      after(position, limit) {
        if (isLater(base!, position)) return undefined
        const at = kept.findLastIndex(({ cursor }) => !isLater(cursor, position)) + 1
        return kept.slice(at, at + limit)
      },
      grown: (signal) => heard('grown', signal),
    },
    started: async (signal) => {
      if (!head) await heard('started', signal)
    },
    close() {
      stop.abort()
      return ended
    },
  }
}
