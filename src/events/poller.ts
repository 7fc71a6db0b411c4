/** A wait that a wake-up ends early. A wake-up before the wait counts, until it is reset. */
export interface Poller {
  wake(): void
  /** Wakes up, and ends a pause too. */
  hurry(): void
  /** Forgets a wake-up. False when there was none. */
  reset(): boolean
  wait(ms: number): Promise<void>
  /** A wait between two failed attempts, which wake-ups do not shorten. */
  pause(ms: number): Promise<void>
}

export function createPoller(stop: AbortSignal): Poller {
  let endWait: (() => void) | undefined
  let endPause: (() => void) | undefined
  let pending = false
  const poller: Poller = {
    wake() {
      pending = true
      endWait?.()
    },
    hurry() {
      poller.wake()
      endPause?.()
    },
    reset() {
      const was = pending
      pending = false
      return was
    },
    async wait(ms) {
      if (pending || stop.aborted) return
      await new Promise<void>((resolve) => {
        endWait = resolveAfter(ms, resolve)
      })
      endWait = undefined
    },
    async pause(ms) {
      if (stop.aborted) return
      await new Promise<void>((resolve) => {
        endPause = resolveAfter(ms, resolve)
      })
      endPause = undefined
    },
  }
  stop.addEventListener('abort', () => poller.hurry(), { once: true })
  return poller
}

/** Calls `resolve` after `ms`. Returns a function that calls it at once. */
function resolveAfter(ms: number, resolve: () => void): () => void {
  const timer = setTimeout(resolve, ms)
  return () => {
    clearTimeout(timer)
    resolve()
  }
}
