import { setTimeout as sleep } from 'node:timers/promises'
import { isConnectionLoss } from '../db/client.ts'
import { type Cursor, type EventType, formatCursor, isLater, type StoredEvent } from './catalogue.ts'
import { toCloudEvent } from './cloud-event.ts'
import { readEvents } from './read.ts'
import { type Reader, type ReaderOptions, startReader } from './tail-reader.ts'

interface Following {
  /** Only later events. */
  after: Cursor
  types?: readonly EventType[] | undefined
  signal: AbortSignal
}

/** The live log for any number of followers in this process. One reader serves them all. */
export interface LogTail {
  /**
   * Every event after the position, in the order of the log and each once, then those that come. Ends at the signal
   * and at `end`. A follower is asked for no more than it takes: one that falls behind reads the log by itself.
   */
  follow(from: Following): AsyncGenerator<readonly StoredEvent[]>
  /** The same as text of `text/event-stream`: `id` is the cursor, `data` the CloudEvent. */
  messages(from: Following & { source: string }): AsyncGenerator<string>
  /** Ends every follower, and those that come later at once. */
  end(): void
  /** Ends the followers and closes the connection. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The most events that a follower is given at once. */
const PAGE = 200

/**
 * The reader holds one connection, which listens to the log's NOTIFY, and reads the log once for all. It runs only
 * while somebody follows.
 */
export function openLogTail(options: ReaderOptions): LogTail {
  const { db } = options
  const ended = new AbortController()
  const inTurn = openPacedTurns()
  const closing = new Set<Promise<void>>()
  const toText = openTexts()
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
      if (signal.aborted) return
      let cursor = after
      // Where to go on in the window. What is no longer there is read from the log.
      let at = window.numberAfter(after)
      while (!signal.aborted) {
        if (at < window.first) {
          const { head, end } = window
          const given = { after: cursor, upTo: head, types, limit: PAGE }
          const page = await inTurn(() => readEvents(db, given)).catch(waitForDatabase)
          if (!page) continue
          cursor = page.next
          if (page.events.length < PAGE) {
            at = end
            if (isLater(head, cursor)) cursor = head
          }
          if (page.events.length > 0) yield page.events
        } else if (at === window.end) await window.grown(signal)
        else {
          const slice = window.slice(at, at + PAGE)
          at += slice.length
          // A cursor may be newer than what the reader had read.
          const known = cursor
          const later = isLater(slice[0]!.cursor, known) ? slice : slice.filter((one) => isLater(one.cursor, known))
          cursor = later.at(-1)?.cursor ?? cursor
          const wanted = types ? later.filter(({ type }) => types.includes(type)) : later
          if (wanted.length > 0) yield wanted
        }
      }
    } finally {
      leave()
    }
  }

  return {
    follow,
    async *messages({ source, ...from }) {
      for await (const events of follow(from)) yield events.map((event) => toText(event, source)).join('')
    },
    end: () => ended.abort(),
    async [Symbol.asyncDispose]() {
      ended.abort()
      if (reader) await reader.close()
      await Promise.all(closing)
    },
  }
}

/** The text of an event, made once for all who follow. */
function openTexts() {
  const texts = new WeakMap<StoredEvent, string>()
  return (event: StoredEvent, source: string): string => {
    const known = texts.get(event)
    if (known !== undefined) return known
    const text = `id: ${formatCursor(event.cursor)}\ndata: ${JSON.stringify(toCloudEvent(event, source))}\n\n`
    texts.set(event, text)
    return text
  }
}

/** One read at a time, followed by a pause as long: however many catch up, half of the time is left to others. */
function openPacedTurns() {
  let turn: Promise<unknown> = Promise.resolve()
  return <T>(read: () => Promise<T>): Promise<T> => {
    const done = turn.then(async () => {
      const startedAt = performance.now()
      const result = await read()
      return { result, tookMs: performance.now() - startedAt }
    })
    turn = done.then(
      ({ tookMs }) => sleep(tookMs),
      () => undefined,
    )
    return done.then(({ result }) => result)
  }
}

async function waitForDatabase(error: unknown): Promise<undefined> {
  if (!isConnectionLoss(error)) throw error
  await sleep(1_000)
}
