import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decodeVideo } from '../src/video/extract/decode.ts'
import { probeVideo } from '../src/video/extract/probe.ts'
import type { Boundary } from '../src/video/shots/boundary.ts'
import { createShotDetector, DETECTOR_VERSION, HISTORY_FRAMES } from '../src/video/shots/detector.ts'
import { createFrameMeter, KEPT_BYTES } from '../src/video/shots/features.ts'

export interface Transition {
  type: string
  start: number
  end: number
}
export interface Clip {
  file: string
  fps: number
  transitions: Transition[]
}
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

/**
 * Shot boundaries of every clip of a folder with `MANIFEST.json` and `*.truth.json`, ours and ffmpeg's `scdet` (its default threshold and the best of six for the whole folder, which is more than fair).
 * A cut counts within ±2 frames, a gradual transition when the boundary lies inside it ±2; each true one may be found once.
 */
export async function run(args: string[]): Promise<void> {
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
    `All ${all.tp + all.fn} transitions: F1 ${fixed(f1(all))}, precision ${fixed(precision(all))}, recall ${fixed(recall(all))} (${DETECTOR_VERSION}).`,
  )
  console.log(
    `scdet at its default of 10: F1 ${fixed(f1(scdetAll[defaultAt]!))}; at ${thresholds[best]}, its best here: F1 ${fixed(f1(scdetAll[best]!))}.`,
  )
  const figures = (one: Score) => ({
    f1: round(f1(one)),
    precision: round(precision(one)),
    recall: round(recall(one)),
    ...one,
  })
  console.log(
    JSON.stringify({
      bench: 'shots',
      detector: DETECTOR_VERSION,
      ...figures(all),
      clips: Object.fromEntries(
        rows.map(({ clip, ours, scdet }) => [clip.file, { ...figures(ours), scdet: figures(scdet[defaultAt]!) }]),
      ),
      scdet: { threshold: 10, ...figures(scdetAll[defaultAt]!) },
      scdet_best: { threshold: thresholds[best], ...figures(scdetAll[best]!) },
    }),
  )
}

export function defaultFolder(): string {
  return fileURLToPath(new URL('../../shared/videos', import.meta.url))
}

export function loadClips(folder: string): Clip[] {
  const clips = new Map<string, Clip>()
  if (existsSync(join(folder, 'MANIFEST.json'))) {
    const parsed = JSON.parse(readFileSync(join(folder, 'MANIFEST.json'), 'utf8'))
    for (const entry of Array.isArray(parsed) ? parsed : (parsed.files ?? parsed.clips ?? [])) {
      if (!entry.cut_frames && !entry.other_transitions) continue
      const cuts: Transition[] = (entry.cut_frames ?? []).map((frame: number) => ({
        type: 'cut',
        start: frame,
        end: frame,
      }))
      clips.set(entry.file, {
        file: entry.file,
        fps: entry.fps,
        transitions: [...cuts, ...(entry.other_transitions ?? []).map(toTransition)],
      })
    }
  }
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.truth.json'))) {
    const truth = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    const file = truth.video ?? name.replace('.truth.json', '.mp4')
    clips.set(file, { file, fps: truth.fps, transitions: truth.transitions.map(toTransition) })
  }
  const present = [...clips.values()].filter(({ file }) => existsSync(join(folder, file)))
  if (present.length === 0) throw new Error(`No clips with known transitions in ${folder}.`)
  return present.sort((a, b) => a.file.localeCompare(b.file))
}

function toTransition(entry: { type: string; start_frame: number; end_frame: number }): Transition {
  return { type: entry.type, start: entry.start_frame, end: entry.end_frame }
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

export async function readStamps(path: string): Promise<number[]> {
  const out = await capture('ffprobe', [
    '-v',
    'error',
    '-select_streams',
    'v:0',
    '-show_entries',
    'packet=pts_time',
    '-of',
    'csv=p=0',
    path,
  ])
  return out
    .split('\n')
    .map((line) => Number.parseFloat(line) * 1000)
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
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

async function capture(program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout!) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
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
const round = (value: number) => Math.round(value * 1000) / 1000
const fixed = (value: number) => value.toFixed(3)
