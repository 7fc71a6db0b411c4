import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeVideo } from '../../src/video/extract/decode.ts'
import { probeVideo } from '../../src/video/extract/probe.ts'
import type { Boundary } from '../../src/video/shots/boundary.ts'
import { createShotDetector } from '../../src/video/shots/detector.ts'
import { createFrameMeter } from '../../src/video/shots/features.ts'
import { type Clip, capture, type Transition } from './clips.ts'
import { round } from './stats.ts'

interface Found {
  type: string
  frame: number
  /** The first mixed frame and the last; for a cut the first of the new shot. */
  from: number
  to: number
}
export interface Score {
  tp: number
  fp: number
  fn: number
}

/** Frames by which a boundary may miss the truth. */
const TOLERANCE = 2

/** Boundaries as frame numbers (the truth counts frames), from the decoding and the detector that ship. */
export async function findOurs(path: string): Promise<Found[]> {
  const detector = createShotDetector()
  const meter = createFrameMeter()
  const times: number[] = []
  const boundaries: Boundary[] = []
  const scratchDir = await mkdtemp(join(tmpdir(), 'bench-shots-'))
  try {
    const options = { file: path, scratchDir, signal: new AbortController().signal, limits: { maxDurationSec: 3600 } }
    await decodeVideo(options, await probeVideo(path, options.limits), () => ({
      frame(tMs, data) {
        times.push(tMs)
        boundaries.push(...detector.push(meter.measure(tMs, data)))
      },
    }))
  } finally {
    await rm(scratchDir, { recursive: true, force: true })
  }
  boundaries.push(...detector.finish())
  return boundaries.map(({ type, tMs, startMs, endMs }) => {
    const from = nearest(times, startMs) + 1
    return { type, frame: nearest(times, tMs), from, to: Math.max(from, nearest(times, endMs) - 1) }
  })
}

function nearest(times: number[], tMs: number): number {
  return times.reduce((best, time, i) => (Math.abs(time - tMs) < Math.abs(times[best]! - tMs) ? i : best), 0)
}

export async function findScdet(path: string): Promise<Array<{ frame: number; value: number }>> {
  const through = '-an -vf scdet=t=0.1,metadata=print:file=- -f null -'
  const out = await capture('ffmpeg', ['-v', 'error', '-nostdin', '-i', path, ...through.split(' ')])
  return out.split(/^frame:/m).flatMap((told) => {
    const value = /lavfi\.scd\.score=([\d.]+)/.exec(told)?.[1]
    return value === undefined ? [] : [{ frame: Number.parseInt(told, 10), value: Number(value) }]
  })
}

interface Judged {
  score: Score
  invented: Pick<Found, 'type' | 'frame'>[]
  missed: Transition[]
  hits: { truth: Transition; found: Found }[]
}

export function score(clip: Clip, found: readonly Found[]): Judged {
  const open = new Set(clip.transitions)
  const invented: Found[] = []
  const hits: Judged['hits'] = []
  for (const one of found) {
    const hit = [...open].find(({ start, end }) => one.frame >= start - TOLERANCE && one.frame <= end + TOLERANCE)
    if (hit) hits.push({ truth: hit, found: one })
    if (hit) open.delete(hit)
    else invented.push(one)
  }
  return {
    score: { tp: clip.transitions.length - open.size, fp: invented.length, fn: open.size },
    invented,
    missed: [...open],
    hits,
  }
}

/** What the frames of a transition and of what was found have in common, by the frames of both. */
function overlap({ truth, found }: Judged['hits'][number]): number {
  const common = Math.min(truth.end, found.to) - Math.max(truth.start, found.from) + 1
  return Math.max(0, common) / (Math.max(truth.end, found.to) - Math.min(truth.start, found.from) + 1)
}

/** How well the extent and the kind of what was found are right. */
export function extentOf(judged: readonly Judged[]) {
  const hits = judged.flatMap((one) => one.hits)
  const { tp, fp, fn } = sum(judged.map((one) => one.score))
  const f1At = (least: number) => {
    const right = hits.filter((hit) => overlap(hit) >= least).length
    return round(f1({ tp: right, fp: tp + fp - right, fn: tp + fn - right }))
  }
  const gradual = hits.filter(({ truth }) => truth.type !== 'cut')
  const wrong = hits.filter(({ truth, found }) => truth.type !== found.type)
  const kinds = Object.groupBy(wrong, ({ truth, found }) => `${truth.type} called ${found.type}`)
  return {
    mean_iou: gradual.length > 0 ? round(gradual.reduce((all, hit) => all + overlap(hit), 0) / gradual.length) : null,
    f1_at_half: f1At(0.5),
    f1_at_three_quarters: f1At(0.75),
    confused: Object.fromEntries(Object.entries(kinds).map(([kind, some]) => [kind, some!.length])),
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
