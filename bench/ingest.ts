import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { CHILD_ENV } from '../src/processes/child.ts'
import { extractVideo } from '../src/video/extract/extract.ts'
import { encodeImages } from '../src/video/extract/frame-images.ts'
import { CHILD_FLAGS } from '../src/video/extract/run-extraction.ts'
import type { About } from './support/bench.ts'
import { median } from './support/stats.ts'

const SELF = fileURLToPath(import.meta.url)
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const QUIET = '-v error -nostdin -y'.split(' ')
const CLIPS = ['launch-atlas.mp4', 'launch-relay.mp4']

interface Cost {
  wallSec: number
  cpuSec: number
}

interface ClipCost {
  name: string
  ours: Cost
  base: Cost
  frames: number
  peakMb: number
}

/** Aims: 1.3 times the bare work, 400 MB at most. `--hour` also runs an hour of 1080p. */
export const about: About = {
  measures:
    'Wall and CPU seconds of ingesting a clip: probe, shots, picks and images, and the peak memory with ffmpeg.',
  against: 'bare decoding of the clip plus encoding the same kept images with the same settings, in turns.',
  figures: [
    { what: 'wall, 720p', at: ['clips', '720p', 'wall'], atMost: 1.3 },
    { what: 'wall, 1080p', at: ['clips', '1080p', 'wall'], atMost: 1.3 },
    { what: 'CPU, 720p', at: ['clips', '720p', 'cpu'], atMost: 1.3 },
    { what: 'CPU, 1080p', at: ['clips', '1080p', 'cpu'], atMost: 1.3 },
    { what: 'peak memory', at: ['clips', '1080p', 'peak_mb'], atMost: 400, unit: 'MB' },
    { what: 'peak memory, an hour of 1080p', at: ['hour_1080p', 'peak_mb'], atMost: 400, unit: 'MB' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const rounds = Number(args[args.indexOf('--rounds') + 1]) || 3
  const folder = await mkdtemp(join(tmpdir(), 'bench-ingest-'))
  try {
    const results: ClipCost[] = []
    for (const [name, height] of [
      ['720p', 720],
      ['1080p', 1080],
    ] as const) {
      const clip = await makeClip(folder, name, height)
      results.push({ name, ...(await compare(folder, clip, rounds)) })
    }
    print(results)
    const hour = args.includes('--hour') ? await runHour(folder) : null
    if (hour)
      console.log(
        `One hour of 1080p: ${hour.frames} frames, ${hour.wallSec.toFixed(0)} s, peak ${Math.round(hour.peakMb)} MB.`,
      )
    const round = (value: number) => Math.round(value * 100) / 100
    const perClip = results.map(({ name, ours, base, frames, peakMb }) => [
      name,
      {
        wall: round(ours.wallSec / base.wallSec),
        cpu: round(ours.cpuSec / base.cpuSec),
        frames,
        peak_mb: Math.round(peakMb),
        ours,
        base,
      },
    ])
    return {
      bench: 'ingest',
      ratio: round(
        Math.max(...results.flatMap(({ ours, base }) => [ours.wallSec / base.wallSec, ours.cpuSec / base.cpuSec])),
      ),
      ratio_of: 'ingesting to bare decoding and encoding of the same images, the worst of wall and CPU, 720p and 1080p',
      clips: Object.fromEntries(perClip),
      ...(hour
        ? { hour_1080p: { peak_mb: Math.round(hour.peakMb), wall_sec: round(hour.wallSec), frames: hour.frames } }
        : {}),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function print(results: readonly ClipCost[]): void {
  console.table(
    results.map(({ name, ours, base, frames, peakMb }) => ({
      clip: name,
      frames,
      'ours wall s': ours.wallSec.toFixed(2),
      'base wall s': base.wallSec.toFixed(2),
      'wall ratio': (ours.wallSec / base.wallSec).toFixed(2),
      'ours CPU s': ours.cpuSec.toFixed(2),
      'base CPU s': base.cpuSec.toFixed(2),
      'CPU ratio': (ours.cpuSec / base.cpuSec).toFixed(2),
      'peak MB': Math.round(peakMb),
    })),
  )
}

async function makeClip(folder: string, name: string, height: number): Promise<string> {
  const shared = join(ROOT, '../shared/videos')
  const sources = existsSync(shared)
    ? CLIPS.map((clip) => join(shared, clip))
    : [join(ROOT, 'samples/relay-launch.mp4')]
  const file = join(folder, `${name}.mp4`)
  const scaled = sources.map((_, i) => `[${i}:v]scale=${(height * 16) / 9}:${height},setsar=1,fps=30[v${i}]`).join(';')
  const graph = `${scaled};${sources.map((_, i) => `[v${i}]`).join('')}concat=n=${sources.length}[v]`
  const coded = '-c:v libx264 -preset veryfast -crf 21 -pix_fmt yuv420p -an'
  const inputs = sources.flatMap((source) => ['-i', source])
  await timed('ffmpeg', [...QUIET, ...inputs, '-filter_complex', graph, '-map', '[v]', ...coded.split(' '), file])
  return file
}

async function compare(folder: string, clip: string, rounds: number): Promise<Omit<ClipCost, 'name'>> {
  const ours: Cost[] = []
  const base: Cost[] = []
  let frames = 0
  let peakMb = 0
  for (let round = 0; round <= rounds; round++) {
    const scratch = await mkdtemp(join(folder, 'scratch-'))
    const extracted = await timed(process.execPath, [...CHILD_FLAGS, SELF, 'extract', clip, scratch, '900'])
    const raw = await mkdtemp(join(folder, 'raw-'))
    const images = readdirSync(scratch).filter((one) => one.endsWith('.webp') && !one.includes('-'))
    for (const image of images) {
      const { data, info } = await sharp(join(scratch, image)).removeAlpha().raw().toBuffer({ resolveWithObject: true })
      await writeFile(join(raw, `${info.width}x${info.height}-${image}.rgb`), data)
    }
    const decoded = await timed('ffmpeg', ['-v', 'error', '-nostdin', '-i', clip, '-an', '-f', 'null', '-'])
    const encoded = await timed(process.execPath, [SELF, 'encode', raw])
    await rm(scratch, { recursive: true })
    await rm(raw, { recursive: true })
    frames = images.length
    peakMb = Math.max(peakMb, extracted.peakMb)
    // The first round only warms the caches.
    if (round === 0) continue
    ours.push(extracted)
    base.push({ wallSec: decoded.wallSec + encoded.wallSec, cpuSec: decoded.cpuSec + encoded.cpuSec })
  }
  return { ours: middle(ours), base: middle(base), frames, peakMb }
}

async function runHour(folder: string): Promise<{ peakMb: number; wallSec: number; frames: number }> {
  const hour = join(folder, 'hour.mp4')
  const clip = join(folder, '1080p.mp4')
  await timed('ffmpeg', [...QUIET, '-stream_loop', '60', '-i', clip, ...'-t 3600 -c copy'.split(' '), hour])
  const scratch = join(folder, 'hour')
  await mkdir(scratch)
  const { peakMb, wallSec } = await timed(process.execPath, [...CHILD_FLAGS, SELF, 'extract', hour, scratch, '3700'])
  return { peakMb, wallSec, frames: readdirSync(scratch).length / 2 }
}

function middle(costs: Cost[]): Cost {
  return { wallSec: median(costs.map(({ wallSec }) => wallSec)), cpuSec: median(costs.map(({ cpuSec }) => cpuSec)) }
}

/** Runs a program to its end. Counts the CPU seconds and the memory of all processes it started, too. */
async function timed(program: string, args: string[]): Promise<Cost & { peakMb: number }> {
  const started = performance.now()
  const child = spawn('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$0" "$@"', program, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...CHILD_ENV },
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  let peak = 0
  const sampler = setInterval(() => {
    peak = Math.max(peak, groupMemory(child.pid!))
  }, 100)
  const code = await new Promise((done) => child.once('close', done))
  clearInterval(sampler)
  const times = /([\d.]+) ([\d.]+)\s*$/.exec(stderr)
  if (code !== 0 || !times) throw new Error(`${program} ended with ${code}: ${stderr.slice(-500)}`)
  return {
    wallSec: (performance.now() - started) / 1000,
    cpuSec: Number(times[1]) + Number(times[2]),
    peakMb: peak / 1024,
  }
}

/** Resident KiB of every process of a group (Linux). */
function groupMemory(group: number): number {
  let sum = 0
  for (const pid of existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      if (Number(fields[2]) === group)
        sum += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum
}

if (process.argv[1] === SELF) {
  const [, , what, ...rest] = process.argv
  if (what === 'extract') {
    const [file, scratchDir, maxDurationSec] = rest
    await extractVideo({
      file: file!,
      scratchDir: scratchDir!,
      signal: new AbortController().signal,
      limits: { maxDurationSec: Number(maxDurationSec), cpuSec: 14_400 },
    })
  }
  if (what === 'encode') {
    for (const name of readdirSync(rest[0]!)) {
      const [width, height] = name.split('-')[0]!.split('x').map(Number)
      const { image, thumb } = await encodeImages(await readFile(join(rest[0]!, name)), width!, height!)
      await writeFile(join(rest[0]!, `${name}.out.webp`), image)
      await writeFile(join(rest[0]!, `${name}.out-480.webp`), thumb)
    }
  }
}
