/** The jobs in a queue now. The queues report it; the console, which may not import them, shows it. */
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
