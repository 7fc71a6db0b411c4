import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import sharp from 'sharp'
import { extractVideo } from '../src/video/extract/extract.ts'
import type { ExtractedFrame } from '../src/video/extract/frame-images.ts'
import { measureSharpness } from '../src/video/extract/measure.ts'
import { inputOptions } from '../src/video/programs.ts'
import { hashDistance } from '../src/vocabulary.ts'
import type { About } from './support/bench.ts'
import { type Clip, defaultFolder, loadClips, readStamps } from './support/clips.ts'
import { type Composition, makeMotionFilms } from './support/motion-films.ts'
import { median, round } from './support/stats.ts'

/** Sharpness is judged on every frame at this width, independently of the pictures the picker saw. */
const JUDGE_WIDTH = 640
const JUDGE_HEIGHT = 360

/** Films of these seeds were never looked at while the picks were tuned; 1 to 12, 201 to 212 and 401 to 502 were. */
const seedsFrom = (first: number, length: number) => Array.from({ length }, (_, n) => first + n)
const JUDGED_SEEDS = [...seedsFrom(101, 12), ...seedsFrom(301, 12), ...seedsFrom(503, 3)]

/** Compositions of the two launch films, in seconds, by hand: from when all of it stands until it begins to leave. */
const BY_HAND: Record<string, [from: number, to: number][]> = {
  'launch-atlas.mp4': [
    [0.8, 2.5],
    [16.6, 17.6],
    [19.7, 21.4],
    [38.7, 42.1],
    [42.7, 44.1],
    [48.3, 50.6],
  ],
  'launch-relay.mp4': [
    [2, 4.35],
    [33, 35.95],
    [36.6, 37.95],
    [44.4, 47.2],
  ],
}

/** Aims: every composition kept once, complete; 0.9 of the picks of clips sharp, every shot represented. */
export const about: About = {
  measures:
    'How good the kept frames are over all clips with known transitions. A true shot of 0.6 s or more counts as ' +
    'represented when a frame of it is kept. Two frames are near-duplicates within 6 bits of hash and a mean luma ' +
    'difference of 2. On made films of motion graphics, a composition is covered when a frame was taken while it was ' +
    'complete and at rest, and a frame is complete when it was taken then.',
  against: "the median sharpness of a frame's shot, measured on every frame, and the transitions written down by hand.",
  figures: [
    { what: 'compositions of motion graphics covered', at: ['motion', 'coverage'], atLeast: 0.95 },
    { what: 'frames of motion graphics complete', at: ['motion', 'complete'], atLeast: 0.95 },
    { what: 'frames a composition', at: ['motion', 'frames_a_composition'], atMost: 1.25 },
    { what: 'picks at 0.95 or more of the median sharpness of their shot', at: ['sharp_share'], atLeast: 0.9 },
    { what: 'true shots represented', at: ['represented'], atLeast: 1 },
    { what: 'picks inside a transition', at: ['in_transition'], atMost: 0 },
    { what: 'compositions of the launch films covered', at: ['launch_films_covered'], atLeast: 0.95 },
    { what: 'near-duplicates', at: ['near_duplicates'], atMost: 0 },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const folder = resolve(args.find((arg) => !arg.startsWith('--')) ?? defaultFolder())
  const rows: Array<Record<string, string | number>> = []
  const all = { byHand: 0, frames: 0, inTransition: 0, shots: 0, represented: 0, duplicates: 0, sharp: 0 }
  for (const clip of loadClips(folder)) {
    const one = await judge(folder, clip)
    for (const key of Object.keys(all) as Array<keyof typeof all>) all[key] += one[key]
    rows.push({
      clip: clip.file,
      frames: one.frames,
      'in a transition': one.inTransition,
      'shots ≥ 0.6 s': one.shots,
      represented: one.represented,
      'near-duplicates': one.duplicates,
      'sharp ≥ 0.95': (one.sharp / Math.max(1, one.frames)).toFixed(2),
      lost: one.lost,
    })
  }
  console.table(rows)
  const motion = await judgeMotion()
  return {
    bench: 'picks',
    motion,
    frames: all.frames,
    in_transition: all.inTransition,
    represented: round(all.represented / Math.max(1, all.shots)),
    shots: all.shots,
    near_duplicates: all.duplicates,
    launch_films_covered: round(all.byHand / Object.values(BY_HAND).flat().length),
    sharp_share: round(all.sharp / Math.max(1, all.frames)),
  }
}

/** Made films of motion graphics, with the truth of every composition. */
async function judgeMotion() {
  const byKind: Record<string, { compositions: number; covered: number }> = {}
  let [frameCount, complete] = [0, 0]
  for (const film of await makeMotionFilms(join(tmpdir(), 'bench-motion-films'), JUDGED_SEEDS)) {
    const frames = await extract(film.file)
    const slack = 1 / film.fps + 0.001
    const within = ({ tMs }: ExtractedFrame, { from, to }: Composition) =>
      tMs / 1000 >= from - slack && tMs / 1000 <= to + slack
    for (const composition of film.compositions) {
      byKind[composition.kind] ??= { compositions: 0, covered: 0 }
      byKind[composition.kind]!.compositions++
      if (frames.some((frame) => within(frame, composition))) byKind[composition.kind]!.covered++
    }
    frameCount += frames.length
    complete += frames.filter((frame) => film.compositions.some((one) => within(frame, one))).length
  }
  console.table(byKind)
  const sum = (of: 'compositions' | 'covered') => Object.values(byKind).reduce((total, one) => total + one[of], 0)
  return {
    compositions: sum('compositions'),
    coverage: round(sum('covered') / sum('compositions')),
    complete: round(complete / frameCount),
    frames_a_composition: round(frameCount / sum('compositions')),
  }
}

async function extract(file: string): Promise<ExtractedFrame[]> {
  const scratchDir = await mkdtemp(join(tmpdir(), 'bench-picks-'))
  try {
    const signal = new AbortController().signal
    return (await extractVideo({ file, scratchDir, signal, limits: { maxDurationSec: 3600 } })).frames
  } finally {
    await rm(scratchDir, { recursive: true, force: true })
  }
}

async function judge(folder: string, clip: Clip) {
  const path = join(folder, clip.file)
  const scratchDir = await mkdtemp(join(tmpdir(), 'bench-picks-'))
  try {
    const { frames } = await extractVideo({
      file: path,
      scratchDir,
      signal: new AbortController().signal,
      limits: { maxDurationSec: 3600 },
    })
    const stamps = await readStamps(path)
    const sharpness = await measureAll(path)
    const at = (tMs: number) =>
      stamps.reduce((best, stamp, i) => (Math.abs(stamp - tMs) < Math.abs(stamps[best]! - tMs) ? i : best), 0)
    const shots = toShots(clip, sharpness.length)
    const samples = frames.map(({ tMs }) => at(tMs))
    const gradual = clip.transitions.filter(({ start, end }) => end > start)
    const shotOf = (sample: number) => shots.find(({ from, to }) => sample >= from && sample <= to)
    const minis = await Promise.all(frames.map(toMini))
    let duplicates = 0
    for (let i = 0; i < frames.length; i++)
      for (let j = 0; j < i; j++) if (isDuplicate(frames[i]!, frames[j]!, minis[i]!, minis[j]!)) duplicates++
    const long = shots.filter(
      ({ from, to }) => (to - from + 1) / clip.fps >= 0.6 && !sharpness.slice(from, to + 1).every(({ blank }) => blank),
    )
    const missing = long.filter(({ from, to }) => !samples.some((sample) => sample >= from && sample <= to))
    const sharp = samples.filter((sample) => {
      const shot = shotOf(sample)
      return (
        shot &&
        sharpness[sample]!.value >= 0.95 * median(sharpness.slice(shot.from, shot.to + 1).map(({ value }) => value))
      )
    })
    const byHand = (BY_HAND[clip.file] ?? []).filter(([from, to]) =>
      frames.some(({ tMs }) => tMs / 1000 >= from && tMs / 1000 <= to),
    )
    return {
      byHand: byHand.length,
      frames: frames.length,
      inTransition: samples.filter((sample) => gradual.some(({ start, end }) => sample >= start && sample <= end))
        .length,
      shots: long.length,
      represented: long.length - missing.length,
      duplicates,
      sharp: sharp.length,
      lost: missing.map(({ from, to }) => `${from}-${to}`).join(' '),
    }
  } finally {
    await rm(scratchDir, { recursive: true, force: true })
  }
}

function toShots(clip: Clip, count: number): Array<{ from: number; to: number }> {
  const shots: Array<{ from: number; to: number }> = []
  let from = 0
  for (const { start, end } of [...clip.transitions].sort((a, b) => a.start - b.start)) {
    shots.push({ from, to: start - 1 })
    from = end > start ? end + 1 : start
  }
  shots.push({ from, to: count - 1 })
  return shots.filter(({ from, to }) => to >= from)
}

async function measureAll(path: string): Promise<Array<{ value: number; blank: boolean }>> {
  const bytes = JUDGE_WIDTH * JUDGE_HEIGHT
  const filter = `scale=${JUDGE_WIDTH}:${JUDGE_HEIGHT}:flags=bilinear,format=gray`
  const through = `-map 0:v:0 -vf ${filter} -fps_mode passthrough -f rawvideo pipe:1`
  const args = ['-v', 'error', '-nostdin', ...inputOptions(path), ...through.split(' ')]
  const child = spawn('ffmpeg', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const result: Array<{ value: number; blank: boolean }> = []
  let rest = Buffer.alloc(0)
  for await (const chunk of child.stdout!) {
    rest = Buffer.concat([rest, chunk as Buffer])
    while (rest.length >= bytes) {
      const data = rest.subarray(0, bytes)
      let low = 255
      let high = 0
      for (let i = 0; i < bytes; i += 7) {
        low = Math.min(low, data[i]!)
        high = Math.max(high, data[i]!)
      }
      result.push({
        value: measureSharpness({ width: JUDGE_WIDTH, height: JUDGE_HEIGHT, data }),
        blank: high - low < 12,
      })
      rest = rest.subarray(bytes)
    }
  }
  return result
}

async function toMini(frame: ExtractedFrame): Promise<Buffer> {
  return sharp(frame.thumbPath).greyscale().resize(32, 18, { fit: 'fill' }).raw().toBuffer()
}

function isDuplicate(a: ExtractedFrame, b: ExtractedFrame, miniA: Buffer, miniB: Buffer): boolean {
  if (hashDistance(a.phash, b.phash) > 6) return false
  let sum = 0
  for (let i = 0; i < miniA.length; i++) sum += Math.abs(miniA[i]! - miniB[i]!)
  return sum / miniA.length <= 2
}
