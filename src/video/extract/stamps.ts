import type { Readable } from 'node:stream'

/**
 * The least distance between two full-size pictures, microseconds. At every usual rate it is at most 133 ms of frames,
 * so that a state of an eighth of a second is seen.
 */
const STILL_SPACING_US = 99_000

/** Selects the full-size pictures in ffmpeg by the rule of `readStamps`. Half a microsecond avoids rounding errors. */
export const STILL_FILTER = `select='isnan(prev_selected_t)+gte(t-prev_selected_t,${(STILL_SPACING_US - 0.5) / 1e6})'`

/**
 * Prints each frame's stamp next to some padding. ffmpeg flushes printed text every 32 KiB. Without the padding that is
 * every 700 frames, which is too late. With it that is about every 40 frames. `direct=1` would flush at once, but its
 * two system calls for every frame cost more than the scaling.
 */
export const STAMP_FILTERS = [
  ...['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `metadata=mode=add:key=${key}:value=${'-'.repeat(120)}`),
  "metadata=mode=print:file='pipe\\:4'",
].join(',')

export interface Stamp {
  tMs: number
  /** Whether this frame also comes at full size. */
  isStill: boolean
}

export function readStamps(stamps: Readable, fps: number, take: (stamp: Stamp) => void): void {
  let text = ''
  let lastMs = Number.NEGATIVE_INFINITY
  let stillUs = Number.NaN
  stamps.setEncoding('latin1')
  stamps.on('data', (chunk: string) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop()!
    for (const line of lines) {
      const found = /^frame:\d+\s+pts:(\S+)/.exec(line)
      if (!found) continue
      const us = Number(found[1])
      const isStill = Number.isNaN(stillUs) || us - stillUs >= STILL_SPACING_US
      if (isStill) stillUs = us
      // A frame without a stamp, or with one that goes back, follows the last by one step: times always rise.
      const tMs = Number.isNaN(us) || us / 1000 <= lastMs ? Math.max(0, lastMs + 1000 / fps) : us / 1000
      lastMs = tMs
      take({ tMs, isStill })
    }
  })
}
