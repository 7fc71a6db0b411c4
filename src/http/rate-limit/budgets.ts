import { AppError } from '../../errors.ts'

/**
 * What a request costs, by what it makes the service do and not by its verb. Exports, uploads, review, analytics,
 * lists of receivers and consumers, and changes of a whole vocabulary are heavy. How much a caller owns does not count.
 */
export const PRICES = { read: 1, search: 2, write: 5, heavy: 20 } as const
export type Price = keyof typeof PRICES

/** The most frames, videos or events that one write takes. */
export const MOST_ITEMS = 120

/** Points per window, before RATE_LIMIT_SCALE. */
export const BUDGETS = {
  anonymous: { points: 600, windowSec: 60 },
  free: { points: 1_200, windowSec: 60 },
  pro: { points: 6_000, windowSec: 60 },
  /**
   * Images are many and cheap: their own budget, so that looking at the wall does not use up the API's. One person who
   * scrolls through the wall as fast as a wheel turns asks for 14,000 a minute.
   */
  media: { points: 20_000, windowSec: 60 },
  /** Readiness checks: a busy address must not make an instance look unready. */
  probes: { points: 600, windowSec: 60 },
  /** Failed key checks per address and per key prefix. */
  failures: { points: 60, windowSec: 60 },
  /** Sign-in: a form costs its address one point, a mail costs its mailbox LINK_POINTS. */
  links: { points: 30, windowSec: 900 },
} as const
export type Budget = keyof typeof BUDGETS

/** How many of a kind one account, and one address, may have at a time in a process. */
export const AT_ONCE = {
  uploads: 4,
  /** Fetches of the documents of apps that ask for access. */
  documents: 4,
} as const
export type Holding = keyof typeof AT_ONCE
export const LINK_POINTS = 5

/** The budget and subject that a request's points are taken from. */
export interface Payer {
  budget: Budget
  /** The id of an account. */
  subject: string
}

/** What is left of a budget. */
export interface Usage {
  limit: number
  windowSec: number
  remaining: number
  resetSec: number
}

export class RateLimited extends AppError {
  readonly usage: Usage

  constructor(usage: Usage) {
    const { limit, windowSec, resetSec } = usage
    const message = `The limit of ${limit} points in ${windowSec} seconds is used up. Try again in ${resetSec} seconds.`
    super('rate_limited', message, { retryAfterSec: resetSec })
    this.usage = usage
  }
}
