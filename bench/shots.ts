import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { decodeVideo } from '../src/video/extract/decode.ts'
import { probeVideo } from '../src/video/extract/probe.ts'
import type { Boundary } from '../src/video/shots/boundary.ts'
import { createShotDetector, DETECTOR_VERSION, HISTORY_FRAMES } from '../src/video/shots/detector.ts'
import { createFrameMeter, KEPT_BYTES } from '../src/video/shots/features.ts'
import type { About } from './support/bench.ts'
import { type Clip, capture, defaultFolder, loadClips, type Transition } from './support/clips.ts'
import { round } from './support/stats.ts'

interface Found {
  type: string
  frame: number
}
interface Score {
  tp: number
  fp: number
  fn: number
}

/** Frames by which a boundary may miss the truth. */
const TOLERANCE = 2

/** Aims: F1 of 0.90 over all clips, 0.95 for each launch film. `scdet` is given the best of six thresholds, too. */
export const about: About = {
  measures:
    'F1 of the shot boundaries found in every clip of a folder with `MANIFEST.json` and `*.truth.json`. A cut counts ' +
    'within two frames, a gradual transition when the boundary lies inside it or within two frames of it.',
  against: "transitions written down by hand, and ffmpeg's `scdet` on the same clips.",
  figures: [
    { what: 'F1, all clips', at: ['f1'], atLeast: 0.9 },
    { what: 'F1, first launch film', at: ['clips', 'launch-atlas.mp4', 'f1'], atLeast: 0.95 },
    { what: 'F1, second launch film', at: ['clips', 'launch-relay.mp4', 'f1'], atLeast: 0.95 },
    { what: '`scdet`, all clips', at: ['scdet', 'f1'] },
    { what: '`scdet`, first launch film', at: ['clips', 'launch-atlas.mp4', 'scdet', 'f1'] },
    { what: '`scdet`, second launch film', at: ['clips', 'launch-relay.mp4', 'scdet', 'f1'] },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const folder = resolve(args.find((arg) => !arg.startsWith('--')) ?? defaultFolder())
  const verbose = args.includes('--verbose')
  const clips = loadClips(folder)
  const thresholds = [4, 6, 8, 10, 12, 15]
  const rows: Array<{ clip: Clip; ours: Score; scdet: Score[]; lost: string }> = []
  for (const clip of clips) {
    const path = join(folder, clip.file)
    const found = await findOurs(path)
    const scenes = await findScdet(path)
    const ours = score(clip, found)
    rows.push({
      clip,
      ours: ours.score,
      scdet: thresholds.map(
        (threshold) =>
          score(
            clip,
            scenes.filter((scene) => scene.value >= threshold).map(({ frame }) => ({ type: 'cut', frame })),
          ).score,
      ),
      lost: [
        ...ours.invented.map(({ type, frame }) => `+${type}@${frame}`),
        ...ours.missed.map(({ type, start }) => `-${type}@${start}`),
      ].join(' '),
    })
  }
  const all = sum(rows.map((row) => row.ours))
  const scdetAll = thresholds.map((_, i) => sum(rows.map((row) => row.scdet[i]!)))
  const best = scdetAll.reduce((a, b, i) => (f1(b) > f1(scdetAll[a]!) ? i : a), 0)
  const defaultAt = thresholds.indexOf(10)
  const table = rows.map(({ clip, ours, scdet, lost }) => ({
    clip: clip.file,
    true: clip.transitions.length,
    F1: fixed(f1(ours)),
    P: fixed(precision(ours)),
    R: fixed(recall(ours)),
    invented: ours.fp,
    missed: ours.fn,
    'scdet 10': fixed(f1(scdet[defaultAt]!)),
    [`scdet ${thresholds[best]}`]: fixed(f1(scdet[best]!)),
    ...(verbose ? { lost } : {}),
  }))
  console.table(table)
  console.log(
    `All ${all.tp + all.fn} transitions: F1 ${fixed(f1(all))}, precision ${fixed(precision(all))}, ` +
      `recall ${fixed(recall(all))} (${DETECTOR_VERSION}).`,
  )
  console.log(
    `scdet at its default of 10: F1 ${fixed(f1(scdetAll[defaultAt]!))}; ` +
      `at ${thresholds[best]}, its best here: F1 ${fixed(f1(scdetAll[best]!))}.`,
  )
  const figures = (one: Score) => ({
    f1: round(f1(one)),
    precision: round(precision(one)),
    recall: round(recall(one)),
    ...one,
  })
  return {
    bench: 'shots',
    detector: DETECTOR_VERSION,
    ...figures(all),
    clips: Object.fromEntries(
      rows.map(({ clip, ours, scdet }) => [clip.file, { ...figures(ours), scdet: figures(scdet[defaultAt]!) }]),
    ),
    scdet: { threshold: 10, ...figures(scdetAll[defaultAt]!) },
    scdet_best: { threshold: thresholds[best], ...figures(scdetAll[best]!) },
  }
}

/** Boundaries as frame numbers (the truth counts frames), from the decoding and the detector that ship. */
async function findOurs(path: string): Promise<Found[]> {
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

async function findScdet(path: string): Promise<Array<{ frame: number; value: number }>> {
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

function score(clip: Clip, found: Found[]): { score: Score; invented: Found[]; missed: Transition[] } {
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

const sum = (scores: Score[]): Score =>
  scores.reduce((a, b) => ({ tp: a.tp + b.tp, fp: a.fp + b.fp, fn: a.fn + b.fn }), { tp: 0, fp: 0, fn: 0 })
/** A clip without transitions in which none was found is right. */
const precision = ({ tp, fp }: Score) => (tp + fp === 0 ? 1 : tp / (tp + fp))
const recall = ({ tp, fn }: Score) => (tp + fn === 0 ? 1 : tp / (tp + fn))
const f1 = ({ tp, fp, fn }: Score) => (tp + fp + fn === 0 ? 1 : (2 * tp) / (2 * tp + fp + fn))
const fixed = (value: number) => value.toFixed(3)
