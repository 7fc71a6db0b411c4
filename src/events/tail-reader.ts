import pg from 'pg'
import type { Db } from '../db/client.ts'
import type { Logger } from '../logger.ts'
import { type Cursor, isLater, type StoredEvent } from './catalogue.ts'
import { createOutage } from './outage.ts'
import { createPoller, type Poller } from './poller.ts'
import { findEnd, readEvents } from './read.ts'

export interface ReaderOptions {
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

/** The newest events of the log as far as the reader has read, numbered from its start. */
interface Window {
  /** The number of the oldest event that is kept, and one more than that of the newest. */
  readonly first: number
  readonly end: number
  /** The position up to which the log was read: every event up to it can be read by all. */
  readonly head: Cursor
  /** The number of the first event behind a position; less than `first` when older ones are missing. */
  numberAfter(position: Cursor): number
  slice(from: number, to: number): readonly StoredEvent[]
  /** Resolves when events are added, or at the signal. */
  grown(signal: AbortSignal): Promise<void>
}

export interface Reader {
  window: Window
  /** Resolves when the end of the log is known, or at the signal. */
  started(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Reads the log from its end on, at every NOTIFY and at every poll. */
export function startReader({ db, url, logger, pollMs = 1_000, windowSize = 2_000, onEvents }: ReaderOptions): Reader {
  const stop = new AbortController()
  const poller = createPoller(stop.signal)
  const outage = createOutage()
  const started = openBell()
  const grown = openBell()
  let kept: StoredEvent[] = []
  let first = 0
  /** The positions before the first kept event, and of the last. */
  let base: Cursor | undefined
  let head: Cursor | undefined
  let listener: pg.Client | undefined

  /** Reads what is new. False when there was nothing. */
  async function readOn(): Promise<boolean> {
    const { events, next } = await readEvents(db, { after: head!, limit: READ })
    if (events.length === 0) return false
    head = next
    kept.push(...events)
    const surplus = kept.length - windowSize
    if (surplus > 0) {
      base = kept[surplus - 1]!.cursor
      kept = kept.slice(surplus)
      first += surplus
    }
    onEvents?.(events)
    grown.ring()
    return true
  }

  async function run(): Promise<void> {
    let waitMs = pollMs
    while (!stop.signal.aborted) {
      try {
        listener ??= await listen(url, poller, (lost) => {
          if (listener === lost) listener = undefined
        })
        if (poller.reset()) waitMs = Math.min(AFTER_NOTIFY_MS, pollMs)
        if (!head) {
          head = await findEnd(db)
          base = head
          started.ring()
        }
        while (await readOn()) if (stop.signal.aborted) break
        const over = outage.over()
        if (over) logger.info(over, 'event tail continues after an outage')
        await poller.wait(waitMs)
        // An older transaction may hide an event for a moment after its NOTIFY.
        waitMs = Math.min(2 * waitMs, pollMs)
      } catch (error) {
        if (stop.signal.aborted) break
        const { log, pauseMs } = outage.failed()
        if (log) logger.warn({ err: error, ...log }, 'event tail waits for the database')
        await poller.pause(pauseMs)
      }
    }
    await listener?.end().catch(() => undefined)
  }

  const running = run()
  return {
    window: {
      get first() {
        return first
      },
      get end() {
        return first + kept.length
      },
      get head() {
        return head!
      },
      numberAfter(position) {
        if (isLater(base!, position)) return first - 1
        const at = kept.findIndex(({ cursor }) => isLater(cursor, position))
        return first + (at < 0 ? kept.length : at)
      },
      slice: (from, to) => kept.slice(from - first, to - first),
      grown: grown.wait,
    },
    started: async (signal) => {
      if (!head) await started.wait(signal)
    },
    close() {
      stop.abort()
      return running
    },
  }
}

const AFTER_NOTIFY_MS = 25

/** A connection that wakes the poller at every NOTIFY of the log, and when it is lost. */
async function listen(url: string, poller: Poller, lose: (client: pg.Client) => void): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'event tail' })
  client.on('error', () => undefined)
  client.on('end', () => {
    lose(client)
    poller.wake()
  })
  client.on('notification', () => poller.wake())
  try {
    await client.connect()
    await client.query('listen events')
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

/** What several wait for, again and again. */
function openBell() {
  const waiting = new Set<() => void>()
  return {
    ring() {
      for (const wake of [...waiting]) wake()
    },
    wait: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake, { once: true })
        if (signal.aborted) wake()
      }),
  }
}
