import { AppError } from '../../errors.ts'

/** What a request costs. `similar`: beyond a search, the comparison with some hundred candidates. */
export const POINTS = { read: 1, search: 2, write: 5, similar: 4 } as const

/** Reads of operators that rank or count much of the library, measured by `npm run bench -- cost`. */
export const OPERATOR_POINTS = {
  videos: 6,
  review: 15,
  technique: 2,
  techniques: 5,
  analytics: 10,
  report: 4,
  system: 10,
  consumers: 8,
} as const

const DEEP_PAGE = 100

/** Near-duplicates are looked for on all pages before, so the price grows with the page. */
const VARIED_PAGES_PER_READ = 5

interface PricedQuestion {
  q?: string
  facets?: boolean
  page?: number
  variety?: 'on' | 'off'
}

/** Points of a question to the wall beyond a read, when the answer is not in memory. */
export function pointsForQuestion({ q, facets, page = 1, variety }: PricedQuestion): number {
  const words = q ? POINTS.search - POINTS.read : 0
  const varied = variety === 'on' ? Math.floor(page / VARIED_PAGES_PER_READ) * POINTS.read : 0
  return words + (facets ? 4 : 0) + (page >= DEEP_PAGE ? 2 : 0) + varied
}

/** The price of lists of any length, measured by `npm run bench -- cost`. */
const ITEMS_PER_READ = 70

export function pointsForItems(items: number): number {
  return Math.max(1, Math.ceil(items / ITEMS_PER_READ)) * POINTS.read
}

/** A list of boards: each comes with up to four covers. */
export function pointsForBoards(boards: number): number {
  return pointsForItems(5 * boards)
}

const BYTES_PER_POINT = 1024 * 1024

export function pointsForBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_POINT)
}

/** A write of many frames costs a point a frame, because it appends an event for each. */
export function pointsForFrames(frames: number): number {
  return Math.max(POINTS.write, frames)
}

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
  /** Streamed answers of any length: exports and whole lists. */
  longAnswers: 4,
  uploads: 4,
  /** Fetches of the documents of apps that ask for access. */
  documents: 4,
} as const
export type Holding = keyof typeof AT_ONCE
export const LINK_POINTS = 5

/** The budget and subject that a request's points are taken from. */
export interface Payer {
  budget: Budget
  /** An account or an address. */
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
