import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, isConnectionLoss } from '../db/client.ts'
import type { Cursor } from '../events/catalogue.ts'
import type { Logger } from '../logger.ts'
import { oneAtATime } from '../turns.ts'
import type { EndpointRow } from './endpoints.ts'
import type { Item } from './next.ts'
import { type Attempt, type Recorded, recordAttempts, STRUGGLING } from './record.ts'

interface Sent extends Item {
  epoch: number
  isOver: boolean
}

const RETRY_MS = 500

/** Keeps what a lane has sent that neither the checkpoint nor a delivery tells of, and records it. */
export function openRecorder(options: {
  db: Db
  lease: string
  logger: Logger
  random: () => number
  stop: AbortSignal
}) {
  const { db, lease, logger, random, stop } = options
  let epoch = 0
  /** Events of the log behind the checkpoint, in their order. */
  let ahead: Sent[] = []
  const due = new Set<number>()
  const over: Attempt[] = []
  let recorded: Recorded | undefined
  /** Nothing is recorded after a write that failed: the checkpoint would pass the events of that write. */
  let hasFailed = false
  const inTurn = oneAtATime()

  /** Attempts that end while others are recorded are recorded together. */
  async function recordOver(): Promise<Recorded | undefined> {
    const attempts = over.splice(0)
    if (hasFailed || attempts.length === 0) return recorded
    const first = ahead.findIndex(({ isOver }) => !isOver)
    const passed = ahead.splice(0, first < 0 ? ahead.length : first).at(-1)
    recorded = await write({ attempts, passed: passed && { cursor: passed.event.cursor, epoch }, random })
    hasFailed = recorded === undefined
    for (const attempt of attempts) if (attempt.due) due.delete(attempt.due.id)
    if (recorded?.strugglesNow) logger.warn({ endpoint: recorded.id, failures: STRUGGLING }, 'webhook receiver fails')
    if (recorded?.ended) logger.warn({ endpoint: recorded.id, because: recorded.ended }, 'webhook receiver stopped')
    return recorded
  }

  async function write(given: Parameters<typeof recordAttempts>[2]): Promise<Recorded | undefined> {
    for (;;) {
      try {
        return await recordAttempts(db, lease, given)
      } catch (error) {
        if (stop.aborted || !isConnectionLoss(error)) {
          const { length } = given.attempts
          logger.warn({ err: error, attempts: length }, 'webhook attempts not recorded: they are made again')
          return undefined
        }
        await sleep(RETRY_MS)
      }
    }
  }

  return {
    /** The number of events that another process would send again. */
    unrecorded: () => ahead.length + due.size,
    /** The deliveries among them. */
    due: due as ReadonlySet<number>,
    /** Where the log is read on. Begins anew when somebody has set the checkpoint. */
    position(endpoint: EndpointRow): Cursor {
      if (endpoint.epoch !== epoch) ahead = []
      epoch = endpoint.epoch
      return ahead.at(-1)?.event.cursor ?? endpoint
    },
    begin(item: Item): Sent {
      const sent = { ...item, epoch, isOver: false }
      if (item.due) due.add(item.due.id)
      else ahead.push(sent)
      return sent
    },
    /** Undefined when the lease has ended, or when the attempt cannot be recorded. */
    end(sent: Sent, attempt: Pick<Attempt, 'at' | 'outcome'>): Promise<Recorded | undefined> {
      sent.isOver = true
      over.push({ ...attempt, event: sent.event, due: sent.due, epoch: sent.epoch })
      return inTurn(recordOver)
    },
    /** Acts while nothing is recorded. */
    inTurn,
  }
}
