/** A wait that a wake-up ends early. A wake-up before the wait counts, until it is reset. */
export interface Poller {
  wake(): void
  reset(): void
  wait(ms: number): Promise<void>
}

export function createPoller(stop: AbortSignal): Poller {
  let end: (() => void) | undefined
  let pending = false
  return {
    wake() {
      pending = true
      end?.()
    },
    reset() {
      pending = false
    },
    async wait(ms) {
      if (pending || stop.aborted) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        end = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      end = undefined
    },
  }
}
