/** What a queue holds now: told by the queues, shown by the console, which knows no queue. */
export interface QueueCounts {
  queue: string
  paused: boolean
  /** Milliseconds for which the queue still pauses after a refused key or a spent budget. */
  rests_ms: number
  waiting: number
  prioritized: number
  delayed: number
  active: number
  failed: number
}
