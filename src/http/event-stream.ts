import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../errors.ts'

/** Returns the holders, among these, that may still read. Called with all of them at every heartbeat and `recheck`. */
export type StreamGuard = (holders: readonly string[]) => Promise<ReadonlySet<string>>

interface EventStreamOptions {
  /** The stream counts for this holder: the id of a key. */
  holder: string
  /** Whole messages. The next one is requested when the client has read the previous one. Ends at the signal. */
  messages(signal: AbortSignal): AsyncIterable<string>
}

export type EventStreams = ReturnType<typeof openEventStreams>

export interface EventStreamLimits {
  inProcess?: number
  /** Load balancers cut silent connections after 30 to 60 seconds. */
  heartbeatMs?: number
  /** How long a client may leave its buffer full. It can reconnect and continue from its last id. */
  stalledMs?: number
}

/** Streams that one key or session may have open. */
const PER_HOLDER = 5
const RETRY_AFTER_SEC = 5
/** How long a client waits before it connects again: after a fault, and after an orderly end. */
const RETRY_MS = { fault: 3_000, end: 1_000 } as const

interface OpenStream {
  holder: string
  res: ServerResponse
  refuse(): void
}

/** The open `text/event-stream` answers of one process. */
export function openEventStreams(
  guard: StreamGuard,
  { inProcess = 1_000, heartbeatMs = 15_000, stalledMs = 30_000 }: EventStreamLimits = {},
) {
  const open = new Set<OpenStream>()
  let timer: NodeJS.Timeout | undefined

  function add(stream: OpenStream): void {
    if (open.size >= inProcess) throw tooMany('unavailable', `At most ${inProcess} streams are open in one process.`)
    if ([...open].filter(({ holder }) => holder === stream.holder).length >= PER_HOLDER)
      throw tooMany('rate_limited', `A key may have ${PER_HOLDER} streams open at a time. Close one first.`)
    open.add(stream)
    timer ??= setInterval(beat, heartbeatMs).unref()
  }

  function remove(stream: OpenStream): void {
    open.delete(stream)
    if (open.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function beat(): void {
    for (const { res } of open) if (res.headersSent && !res.writableNeedDrain) res.write(':\n\n')
    recheck()
  }

  function recheck(): void {
    const asked = [...open]
    guard([...new Set(asked.map(({ holder }) => holder))]).then(
      (allowed) => {
        for (const stream of asked) if (!allowed.has(stream.holder)) stream.refuse()
      },
      // Ignored: without its database the service sends no events either.
      () => undefined,
    )
  }

  return {
    /** Calls the guard now, because a permission may have ended. */
    recheck,
    /**
     * Sends until the client leaves or stops reading, the messages end, or the guard refuses the holder.
     * @throws AppError rate_limited, unavailable: too many are open; before anything is sent
     */
    async send({ req, res }: { req: IncomingMessage; res: ServerResponse }, { holder, messages }: EventStreamOptions) {
      // Its client left while the request was read: `close` does not come any more.
      if (res.closed) return
      const ending = new AbortController()
      const stream = { holder, res, refuse: () => ending.abort() }
      add(stream)
      res.once('close', () => ending.abort())
      try {
        begin(res)
        if (req.method !== 'HEAD') await pump(res, messages(ending.signal), { signal: ending.signal, stalledMs })
        if (!res.destroyed) res.end(ending.signal.aborted || req.method === 'HEAD' ? undefined : retry(RETRY_MS.end))
      } finally {
        remove(stream)
      }
    },
  }
}

function tooMany(code: 'rate_limited' | 'unavailable', message: string): AppError {
  return new AppError(code, `${message} Try again in ${RETRY_AFTER_SEC} seconds.`, { retryAfterSec: RETRY_AFTER_SEC })
}

const retry = (ms: number) => `retry: ${ms}\n\n`

/** The head and the first bytes go out at once, so that the client and every proxy know that it runs. */
function begin(res: ServerResponse): void {
  res.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store, no-transform',
    // Otherwise nginx buffers the answer.
    'X-Accel-Buffering': 'no',
    // The connection ends with the stream, so that a process that stops need not wait for it.
    Connection: 'close',
  })
  res.flushHeaders()
  res.write(`:ok\n\n${retry(RETRY_MS.fault)}`)
}

async function pump(
  res: ServerResponse,
  messages: AsyncIterable<string>,
  { signal, stalledMs }: { signal: AbortSignal; stalledMs: number },
): Promise<void> {
  for await (const message of messages) {
    if (signal.aborted) return
    if (res.write(message)) continue
    const patience = AbortSignal.timeout(stalledMs)
    await once(res, 'drain', { signal: AbortSignal.any([signal, patience]) }).catch(() => undefined)
    if (!signal.aborted && patience.aborted) res.destroy()
  }
}
