import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DETECTOR_VERSION } from '../src/video/shots/detector.ts'
import type { About } from './support/bench.ts'
import { type Clip, defaultFolder, loadClips } from './support/clips.ts'
import { KINDS } from './support/film-kinds.ts'
import { kindOf, makeFilms, parseSource } from './support/films.ts'
import {
  extentOf,
  f1,
  figuresOf,
  findOurs,
  findScdet,
  fixed,
  precision,
  recall,
  type Score,
  score,
  sum,
} from './support/shot-scores.ts'

/** Aims: F1 of 0.90 over all clips, 0.95 for each launch film. `scdet` is given the best of six thresholds, too. */
export const about: About = {
  measures:
    'F1 of the shot boundaries found in every clip of a folder with `MANIFEST.json` and `*.truth.json`. A cut counts ' +
    'within two frames, a gradual transition when the boundary lies inside it or within two frames of it. The ' +
    'detector was tuned on the clips of `../shared/videos`, so their figure is an upper one. `--made` with clips of ' +
    'your own makes films of 30 kinds from them; the clips of the saved run were not used for tuning. Extents ' +
    'are those of mixed frames.',
  against: "known transitions, and ffmpeg's `scdet` on the same clips.",
  figures: [
    { what: 'F1, all clips', at: ['f1'], atLeast: 0.9 },
    { what: 'F1, first launch film', at: ['clips', 'launch-atlas.mp4', 'f1'], atLeast: 0.95 },
    { what: 'F1, second launch film', at: ['clips', 'launch-relay.mp4', 'f1'], atLeast: 0.95 },
    { what: 'mean overlap of gradual transitions', at: ['extent', 'mean_iou'] },
    { what: 'F1 where half overlaps', at: ['extent', 'f1_at_half'] },
    { what: 'F1 where three quarters overlap', at: ['extent', 'f1_at_three_quarters'] },
    { what: '`scdet`, all clips', at: ['scdet', 'f1'] },
    { what: '`scdet`, first launch film', at: ['clips', 'launch-atlas.mp4', 'scdet', 'f1'] },
    { what: '`scdet`, second launch film', at: ['clips', 'launch-relay.mp4', 'scdet', 'f1'] },
    ...Object.keys(KINDS).map((kind) => ({ what: `F1, films of ${kind}`, at: ['clips', kind, 'f1'] })),
  ],
}

/** scdet's thresholds. 10 is its default. */
const THRESHOLDS = [4, 6, 8, 10, 12, 15]

interface Row {
  clip: Clip
  ours: Score
  judged: ReturnType<typeof score>
  scdet: Score[]
  lost: string
}

/**
 * `[folder] [--verbose]`, or `--made clip.mp4[@from-to]… [--each=3] [--seed=99] [--kinds=a,b]`:
 * films made from single shots, one row a kind of film.
 */
export async function run(args: string[]): Promise<object | undefined> {
  const given = args.filter((arg) => !arg.startsWith('--'))
  const number = (name: string, usual: number) =>
    Number(args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? usual)
  const options = { verbose: args.includes('--verbose') }
  if (!args.includes('--made')) return judge(resolve(given[0] ?? defaultFolder()), options)
  const folder = await mkdtemp(join(tmpdir(), 'bench-films-'))
  try {
    const kinds = args
      .find((arg) => arg.startsWith('--kinds='))
      ?.slice('--kinds='.length)
      .split(',')
    const made = { folder, each: number('each', 3), seed: number('seed', 99), ...(kinds ? { kinds } : {}) }
    await makeFilms(given.map(parseSource), made)
    return await judge(folder, { ...options, rowOf: kindOf })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function judge(folder: string, options: { verbose: boolean; rowOf?: (file: string) => string }): Promise<object> {
  const { verbose, rowOf = (file) => file } = options
  const judged: Row[] = []
  for (const clip of loadClips(folder)) judged.push(await judgeClip(folder, clip))
  const rows = Map.groupBy(judged, ({ clip }) => rowOf(clip.file))
  const all = sum(judged.map((row) => row.ours))
  const scdetAll = THRESHOLDS.map((_, i) => sum(judged.map((row) => row.scdet[i]!)))
  const best = scdetAll.reduce((a, b, i) => (f1(b) > f1(scdetAll[a]!) ? i : a), 0)
  const defaultAt = THRESHOLDS.indexOf(10)
  const table = [...rows].map(([name, list]) => {
    const ours = sum(list.map((row) => row.ours))
    return {
      clip: name,
      true: ours.tp + ours.fn,
      F1: fixed(f1(ours)),
      P: fixed(precision(ours)),
      R: fixed(recall(ours)),
      invented: ours.fp,
      missed: ours.fn,
      'scdet 10': fixed(f1(sum(list.map(({ scdet }) => scdet[defaultAt]!)))),
      [`scdet ${THRESHOLDS[best]}`]: fixed(f1(sum(list.map(({ scdet }) => scdet[best]!)))),
      ...(verbose ? { lost: list.map(({ lost }) => lost).join(' ') } : {}),
    }
  })
  console.table(table)
  return {
    bench: 'shots',
    detector: DETECTOR_VERSION,
    ...figuresOf(all),
    extent: extentOf(judged.map((row) => row.judged)),
    clips: Object.fromEntries(
      [...rows].map(([name, list]) => [
        name,
        {
          ...figuresOf(sum(list.map((row) => row.ours))),
          scdet: figuresOf(sum(list.map(({ scdet }) => scdet[defaultAt]!))),
        },
      ]),
    ),
    scdet: { threshold: 10, ...figuresOf(scdetAll[defaultAt]!) },
    scdet_best: { threshold: THRESHOLDS[best], ...figuresOf(scdetAll[best]!) },
  }
}

async function judgeClip(folder: string, clip: Clip): Promise<Row> {
  const path = join(folder, clip.file)
  const ours = score(clip, await findOurs(path))
  const scenes = await findScdet(path)
  return {
    clip,
    ours: ours.score,
    judged: ours,
    scdet: THRESHOLDS.map(
      (threshold) =>
        score(
          clip,
          scenes
            .filter((scene) => scene.value >= threshold)
            .map(({ frame }) => ({ type: 'cut', frame, from: frame, to: frame })),
        ).score,
    ),
    lost: [
      ...ours.invented.map(({ type, frame }) => `+${type}@${frame}`),
      ...ours.missed.map(({ type, start }) => `-${type}@${start}`),
    ].join(' '),
  }
}
