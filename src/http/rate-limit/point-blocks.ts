import { LRUCache } from 'lru-cache'
import type { Usage } from './budgets.ts'

/** A block is a fiftieth of the budget, and at most this many points. */
const MAX_BLOCK = 1_000

interface Block {
  /** Points taken from the shared count and not yet spent in this process. */
  left: number
  /** The last answer of the shared count. */
  usage: Usage | undefined
  untilMs: number
  filling: Promise<void> | undefined
}

export interface PointBlocks {
  /** Points taken and not yet spent. */
  held(subject: string): number
  /**
   * Spends points of a budget of `limit` points: synchronously from the block, else after `take`. Errors of `take` are
   * passed on.
   */
  spend(
    subject: string,
    points: number,
    limit: number,
    take: (points: number) => Promise<Usage>,
  ): Usage | Promise<Usage>
}

/**
 * Takes points from the shared count in blocks and spends them in this process, so one round trip serves many requests.
 * The shared count is never exceeded. Points held by one process are not available to the others until the window ends.
 * A small budget has blocks of one request, so it is exact in every process.
 */
export function openPointBlocks(): PointBlocks {
  const blocks = new LRUCache<string, Block>({ max: 10_000 })

  function find(subject: string): Block | undefined {
    const block = blocks.get(subject)
    return block && (block.filling || performance.now() < block.untilMs) ? block : undefined
  }

  async function spendTaken(
    subject: string,
    points: number,
    limit: number,
    take: (points: number) => Promise<Usage>,
  ): Promise<Usage> {
    for (;;) {
      const block: Block = find(subject) ?? { left: 0, usage: undefined, untilMs: 0, filling: undefined }
      const spent = spendHeld(block, points)
      if (spent) return spent
      if (block.filling) {
        await block.filling
        continue
      }
      const { left } = block
      const size = Math.min(MAX_BLOCK, Math.floor(limit / 50), block.usage?.remaining ?? limit)
      const wanted = Math.max(points - left, size)
      block.left = 0
      const taking = take(wanted)
      // Waiting requests check again afterwards; each gets its own refusal.
      block.filling = taking.then(
        () => undefined,
        () => undefined,
      )
      blocks.set(subject, block)
      try {
        block.usage = await taking
        block.untilMs = performance.now() + block.usage.resetSec * 1000
        block.left += left + wanted - points
        return usageAfter(block, block.usage)
      } catch (error) {
        block.left += left
        throw error
      } finally {
        block.filling = undefined
      }
    }
  }

  return {
    held: (subject) => find(subject)?.left ?? 0,
    spend: (subject, points, limit, take) =>
      spendHeld(find(subject), points) ?? spendTaken(subject, points, limit, take),
  }
}

function spendHeld(block: Block | undefined, points: number): Usage | undefined {
  if (!block?.usage || block.left < points) return undefined
  block.left -= points
  return usageAfter(block, block.usage)
}

function usageAfter({ left, untilMs }: Block, { limit, windowSec, remaining }: Usage): Usage {
  const resetSec = Math.max(1, Math.ceil((untilMs - performance.now()) / 1000))
  return { limit, windowSec, remaining: remaining + left, resetSec }
}
