import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeVideo } from '../../src/video/extract/decode.ts'
import { probeVideo } from '../../src/video/extract/probe.ts'
import type { Boundary } from '../../src/video/shots/boundary.ts'
import { createShotDetector, HISTORY_FRAMES } from '../../src/video/shots/detector.ts'
import { createFrameMeter, KEPT_BYTES } from '../../src/video/shots/features.ts'
import { type Clip, capture, type Transition } from './clips.ts'
import { round } from './stats.ts'

interface Found {
  type: string
  frame: number
}
export interface Score {
  tp: number
  fp: number
  fn: number
}

/** Frames by which a boundary may miss the truth. */
const TOLERANCE = 2

/** CPU seconds of this process and of the children that have ended; 0 where the system does not tell. */
export function cpuSeconds(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
    // utime, stime, cutime and cstime, in hundredths: USER_HZ is 100 on every Linux.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  } catch {
    return 0
  }
}

/** Boundaries as frame numbers (the truth counts frames), from the decoding and the detector that ship. */
export async function findOurs(path: string): Promise<Found[]> {
  const detector = createShotDetector()
  const meter = createFrameMeter()
  const times: number[] = []
  const boundaries: Boundary[] = []
  const memory = new Uint8Array(KEPT_BYTES * HISTORY_FRAMES)
  const scratchDir = await mkdtemp(join(tmpdir(), 'bench-shots-'))
  try {
    const options = { file: path, scratchDir, signal: new AbortController().signal, limits: { maxDurationSec: 3600 } }
    const probe = await probeVideo(path, options.limits)
    await decodeVideo(options, probe, () => ({
      frame(tMs, data) {
        const at = (times.length % HISTORY_FRAMES) * KEPT_BYTES
        times.push(tMs)
        boundaries.push(...detector.push(meter.measure(tMs, data, memory.subarray(at, at + KEPT_BYTES))))
      },
    }))
  } finally {
    await rm(scratchDir, { recursive: true, force: true })
  }
  boundaries.push(...detector.finish())
  return boundaries.map(({ type, tMs }) => ({ type, frame: nearest(times, tMs) }))
}

function nearest(times: number[], tMs: number): number {
  return times.reduce((best, time, i) => (Math.abs(time - tMs) < Math.abs(times[best]! - tMs) ? i : best), 0)
}

export async function findScdet(path: string): Promise<Array<{ frame: number; value: number }>> {
  const out = await capture('ffmpeg', [
    '-v',
    'error',
    '-nostdin',
    '-i',
    path,
    '-an',
    '-vf',
    'scdet=t=0.1,metadata=print:file=-',
    '-f',
    'null',
    '-',
  ])
  const scenes: Array<{ frame: number; value: number }> = []
  let frame = 0
  let value = 0
  for (const line of out.split('\n')) {
    const at = /^frame:(\d+)/.exec(line)
    if (at) {
      frame = Number(at[1])
      value = 0
      continue
    }
    const score = /lavfi\.scd\.score=([\d.]+)/.exec(line)
    if (score) {
      value = Number(score[1])
      scenes.push({ frame, value })
    }
  }
  return scenes
}

export function score(clip: Clip, found: Found[]): { score: Score; invented: Found[]; missed: Transition[] } {
  const open = new Set(clip.transitions)
  const invented: Found[] = []
  for (const one of found) {
    const hit = [...open].find(({ start, end }) => one.frame >= start - TOLERANCE && one.frame <= end + TOLERANCE)
    if (hit) open.delete(hit)
    else invented.push(one)
  }
  return {
    score: { tp: clip.transitions.length - open.size, fp: invented.length, fn: open.size },
    invented,
    missed: [...open],
  }
}

export const sum = (scores: Score[]): Score =>
  scores.reduce((a, b) => ({ tp: a.tp + b.tp, fp: a.fp + b.fp, fn: a.fn + b.fn }), { tp: 0, fp: 0, fn: 0 })
/** A clip without transitions in which none was found is right. */
export const precision = ({ tp, fp }: Score) => (tp + fp === 0 ? 1 : tp / (tp + fp))
export const recall = ({ tp, fn }: Score) => (tp + fn === 0 ? 1 : tp / (tp + fn))
export const f1 = ({ tp, fp, fn }: Score) => (tp + fp + fn === 0 ? 1 : (2 * tp) / (2 * tp + fp + fn))
export const fixed = (value: number) => value.toFixed(3)

export const figuresOf = (one: Score) => ({
  f1: round(f1(one)),
  precision: round(precision(one)),
  recall: round(recall(one)),
  ...one,
})
