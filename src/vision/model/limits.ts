/** The right to make one call. */
interface Lease {
  /** Idempotent. */
  release(): void
}

/** Limits the calls in flight, in this process or in several. */
export interface CallLimiter {
  /** Waits for a lease. Rejects when the signal fires. */
  acquire(signal: AbortSignal): Promise<Lease>
}

/** At most `concurrency` leases in this process, first come, first served. */
export function openLocalLimiter(concurrency: number): CallLimiter {
  const limit = Math.max(1, concurrency)
  let inFlight = 0
  const waiting: Array<() => void> = []

  function take(): Lease {
    inFlight++
    let held = true
    return {
      release() {
        if (!held) return
        held = false
        inFlight--
        waiting.shift()?.()
      },
    }
  }

  return {
    async acquire(signal) {
      signal.throwIfAborted()
      if (inFlight < limit) return take()
      return new Promise<Lease>((resolve, reject) => {
        const enter = () => {
          signal.removeEventListener('abort', leave)
          resolve(take())
        }
        const leave = () => {
          waiting.splice(waiting.indexOf(enter), 1)
          reject(signal.reason)
        }
        waiting.push(enter)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}

/**
 * Opens after `threshold` failures in a row and stays open for `coolDownMs`. Then one call is let through, and its
 * outcome closes the breaker or opens it again.
 */
export function createBreaker(threshold: number, coolDownMs: number, now: () => number = Date.now) {
  let failures = 0
  let openUntil = 0
  let probing = false
  return {
    /** Milliseconds until a call may be made. 0 when it may be made now: then its outcome must be reported. */
    enter(): number {
      if (failures < threshold) return 0
      const wait = openUntil - now()
      if (wait > 0) return wait
      if (probing) return coolDownMs
      probing = true
      return 0
    },
    succeeded() {
      failures = 0
      probing = false
    },
    failed() {
      failures++
      probing = false
      if (failures >= threshold) openUntil = now() + coolDownMs
    },
    /** A call that says nothing about the endpoint's health: we stopped it, or the endpoint asked to wait. */
    left() {
      probing = false
    },
  }
}
