import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seededRandom } from '../../test/support/seeded-random.ts'
import { type Film, KINDS } from './film-kinds.ts'
import { BYTES, HEIGHT, type Picture, WIDTH, writeFilm } from './film-pictures.ts'

/*
 * Films with known transitions, made from real footage. They hold what detectors of shots get wrong in launch films,
 * moves that look like transitions, and pictures of every rate and quality. Every film has its truth beside it,
 * in the form that `loadClips` reads.
 */

const FPS = 30

/** A stretch of a file that holds one shot, in seconds. */
export interface Source {
  file: string
  from: number
  seconds: number
}

/** `clip.mp4` or `clip.mp4@3-9`: the stretch from second 3 to second 9. */
export function parseSource(text: string): Source {
  const [, file, from, to] = /^(.*?)(?:@([\d.]+)-([\d.]+))?$/.exec(text)!
  return { file: file!, from: Number(from ?? 0), seconds: Number(to ?? 1e9) - Number(from ?? 0) }
}

/** The kind of a film that `makeFilms` wrote, from its name. */
export function kindOf(file: string): string {
  return file.replace(/-\d+\.mp4$/, '')
}

/**
 * Writes `each` films of every kind, or of these kinds, to `folder`, with their truth. The same sources and seed give
 * the same films.
 */
export async function makeFilms(
  sources: readonly Source[],
  { folder, each, seed, kinds }: { folder: string; each: number; seed: number; kinds?: readonly string[] },
): Promise<void> {
  if (sources.length < 3) throw new Error('Give at least three clips of one shot each, as clip.mp4 or clip.mp4@3-9.')
  const clips = await Promise.all(sources.map(readPictures))
  for (const [place, name] of Object.keys(KINDS).entries()) {
    if (kinds && !kinds.includes(name)) continue
    for (let n = 0; n < each; n++) {
      const random = seededRandom(seed * 100_003 + place * 1_009 + n)
      const start = Math.floor(random() * clips.length)
      const film = await KINDS[name]!({ clips: [...clips.slice(start), ...clips.slice(0, start)], random })
      const file = `${name}-${n}.mp4`
      await encode(film, join(folder, file))
      const truth = { video: file, fps: film.fps ?? FPS, transitions: toTruth(film) }
      await writeFile(join(folder, `${name}-${n}.truth.json`), JSON.stringify(truth))
    }
  }
}

/** Which pictures a film of varying rate keeps, for ffmpeg and here. */
const KEPT = 'lt(mod(7*n*n+n,11),8)'
const isKept = (n: number) => (7 * n * n + n) % 11 < 8

/** Counts the pictures that are kept. */
function toTruth({ transitions, pictures, varying }: Film) {
  const kept = pictures.map((_, n) => n).filter((n) => !varying || isKept(n))
  const at = (n: number) => kept.findLastIndex((one) => one < n) + 1
  return transitions.map(({ type, start, end }) => ({ type, start_frame: at(start), end_frame: at(end) }))
}

const SCALE = `fps=${FPS},scale=${WIDTH}:${HEIGHT}:force_original_aspect_ratio=increase,crop=${WIDTH}:${HEIGHT}`

async function readPictures({ file, from, seconds }: Source): Promise<Picture[]> {
  const args = ['-v', 'error', '-nostdin', '-ss', String(from), '-t', String(Math.min(seconds, 12)), '-i', file]
  const child = spawn('ffmpeg', [...args, '-vf', SCALE, '-pix_fmt', 'rgb24', '-f', 'rawvideo', '-'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer)
  const all = Buffer.concat(chunks)
  if (all.length < BYTES) throw new Error(`${file} holds no picture.`)
  return Array.from({ length: Math.floor(all.length / BYTES) }, (_, i) => all.subarray(i * BYTES, (i + 1) * BYTES))
}

async function encode({ pictures, fps = FPS, filter, crf = 23, varying }: Film, file: string): Promise<void> {
  const filters = [varying && `select='${KEPT}'`, filter, 'null'].filter(Boolean)
  const x264 = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', String(crf), '-pix_fmt', 'yuv420p']
  const through = ['-vf', filters.join(','), '-fps_mode', 'passthrough']
  await writeFilm(file, pictures, { fps, coded: [...through, ...x264] })
}
