import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { noteOf } from '../../src/library/frames/record-annotations.ts'
import { distance } from '../../src/search/color.ts'
import type { Extraction } from '../../src/video/extract/extract.ts'
import { extractInChild } from '../../src/video/extract/run-extraction.ts'
import { SUBJECTS, toOklab } from '../../src/vocabulary.ts'
import { ffmpeg, QUICK, useClips } from './ffmpeg.ts'

const sampleFile = (name: string) => join(import.meta.dirname, '../../samples', name)
const SAMPLE = sampleFile('tears-of-steel.mp4')
const clips = useClips()
const { folder, scratch } = clips
const make = (name: string, ...args: string[]) => clips.make(name, ...args, ...QUICK)
const extract = (file: string, limits = { maxDurationSec: 900 }, loops = false) =>
  clips.extract(file, { limits, loops })

/** Each is extracted once for those who look at it; the first with its loops. */
const extractions = new Map<string, Promise<Extraction>>()
function extractSample(file = SAMPLE): Promise<Extraction> {
  const extraction = extractions.get(file) ?? extract(file, undefined, file === SAMPLE)
  extractions.set(file, extraction)
  return extraction
}

test('a film gives its shots, its frames and their images', async () => {
  const extraction = await extractSample()
  expect(extraction.probe).toMatchObject({
    width: 800,
    height: 332,
    fps: 24,
    rotation: 0,
    codec: 'h264',
    title: 'Tears of Steel',
  })
  expect(extraction.shots.map(({ startMs }) => Math.round((startMs / 1000) * 24))).toEqual([
    0, 52, 122, 158, 221, 309, 715,
  ])
  const bounds = extraction.shots.map(({ fromMs, toMs }) => [fromMs, toMs])
  expect(bounds.slice(1).map(([from]) => from)).toEqual(bounds.slice(0, -1).map(([, to]) => to))
  // Filmed throughout: nothing is ever held.
  expect(extraction.shots.map(({ held }) => held)).toEqual(extraction.shots.map(() => 0))
  expect(extraction.picture.measures.motion).toBeGreaterThan(20)
  expect(extraction.picture.arcs.luma).toHaveLength(32)
  expect(extraction.detector.version).toMatch(/@/)
  const times = extraction.frames.map(({ tMs }) => tMs)
  expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
  expect(extraction.frames[0]!.kind).toBe('intro')
  const cuts = extraction.frames.filter(({ kind }) => kind === 'cut')
  // Each stands for its shot, and has the time of its own picture.
  const shotOf = (tMs: number) => extraction.shots.findLastIndex(({ startMs }) => tMs >= startMs)
  expect(cuts.map(({ tMs }) => shotOf(tMs))).toEqual(extraction.shots.slice(1).map((_, n) => n + 1))
  for (const frame of extraction.frames) {
    expect(frame.reason).toMatch(/\S/)
    expect(frame.palette).toHaveLength(5)
    expect(frame.paletteShares.reduce((a, b) => a + b)).toBeCloseTo(1, 2)
    expect(frame.phash).toMatch(/^[0-9a-f]{16}$/)
    const image = await sharp(readFileSync(frame.imagePath)).metadata()
    expect([image.format, image.width, image.height]).toEqual(['webp', frame.width, frame.height])
    expect((await sharp(readFileSync(frame.thumbPath)).metadata()).width).toBe(480)
    const { channels } = await sharp(readFileSync(frame.imagePath)).stats()
    const luma = 0.2126 * channels[0]!.mean + 0.7152 * channels[1]!.mean + 0.0722 * channels[2]!.mean
    expect(Math.abs(luma - frame.luma)).toBeLessThan(2)
  }
})

test('the same file gives the same picks, in a child process too', async () => {
  const strip = ({ frames, shots }: Extraction) => ({
    shots,
    frames: frames.map(({ imagePath: _, thumbPath: __, loop, ...frame }) => ({ ...frame, loop: loop?.sha256 })),
  })
  const [first, second] = [
    await extractSample(),
    await extractInChild({
      file: SAMPLE,
      scratchDir: scratch(),
      signal: new AbortController().signal,
      limits: { maxDurationSec: 900 },
      loops: true,
    }),
  ]
  expect(strip(second)).toEqual(strip(first))
})

test('a video turned by its header comes out upright, with its true colours', async () => {
  const plain = make('plain.mp4', '-f', 'lavfi', '-i', 'color=red:s=320x240:d=2,drawbox=0:0:160:240:blue:fill')
  const file = join(folder, 'turned.mp4')
  ffmpeg('-i', plain, '-c', 'copy', '-metadata:s:v', 'rotate=90', file)
  const { probe, frames } = await extract(file)
  expect(probe).toMatchObject({ width: 240, height: 320 })
  expect(probe.rotation % 180).toBe(90)
  expect([frames[0]!.width, frames[0]!.height]).toEqual([240, 320])
  // ffmpeg writes this tag as a turn to the left, so the blue left half ends up below.
  const half = (top: number) =>
    sharp(frames[0]!.imagePath).extract({ left: 60, top, width: 120, height: 80 }).raw().toBuffer()
  const [above, below] = [await half(20), await half(220)]
  expect([above[0]! > 200, above[2]! < 60]).toEqual([true, true])
  expect([below[0]! < 60, below[2]! > 200]).toEqual([true, true])
})

test('pixels that are not square are widened', async () => {
  const file = make('anamorphic.mp4', '-f', 'lavfi', '-i', 'testsrc=s=360x288:d=1:r=25,setsar=16/11')
  const { probe, frames } = await extract(file)
  expect(probe).toMatchObject({ width: 524, height: 288 })
  expect(frames[0]!.width).toBe(524)
})

test('a small picture is not enlarged and a large one is made 1280 wide', async () => {
  const small = await extract(make('small.mp4', '-f', 'lavfi', '-i', 'testsrc=s=200x120:d=1'))
  expect([small.frames[0]!.width, small.frames[0]!.height]).toEqual([200, 120])
  expect((await sharp(small.frames[0]!.thumbPath).metadata()).width).toBe(200)
  const large = await extract(make('large.mp4', '-f', 'lavfi', '-i', 'testsrc2=s=1920x1080:d=1'))
  expect([large.frames[0]!.width, large.frames[0]!.height]).toEqual([1280, 720])
})

test('time stamps of a variable frame rate are kept', async () => {
  // A still picture for three seconds, stored as its first frame only, then a cut.
  const file = make(
    'vfr.mp4',
    ...['-f', 'lavfi', '-i', "testsrc2=s=320x180:r=30:d=3,select='lt(n,20)+gt(t,2.9)'"],
    ...['-f', 'lavfi', '-i', 'mandelbrot=s=320x180:r=30'],
    '-filter_complex',
    '[1]trim=duration=2,setpts=PTS-STARTPTS+3/TB[b];[0][b]interleave=duration=longest',
    ...['-fps_mode', 'vfr', '-t', '5'],
  )
  const { shots, frames } = await extract(file)
  expect(shots.map(({ startMs }) => startMs)).toEqual([0, 3000])
  const cut = frames.find(({ kind }) => kind === 'cut')!
  expect([cut.tMs >= 3000, cut.tMs < 5000]).toEqual([true, true])
})

test('an abort stops the work and leaves no process', async () => {
  const stop = new AbortController()
  const work = extractInChild({
    file: SAMPLE,
    scratchDir: scratch(),
    signal: stop.signal,
    limits: { maxDurationSec: 900 },
    onProgress: ({ stage }) => stage === 'shots' && stop.abort(new Error('enough')),
  })
  await expect(work).rejects.toThrow('enough')
})

test('time stamps stay exact far into a long video', async () => {
  const jump = ['-f', 'lavfi', '-i', "testsrc2=s=160x90:r=30:d=4,setpts='PTS+if(gt(N,30),2000/TB,0)'"]
  const file = make('long.mkv', ...jump, '-fps_mode', 'passthrough')
  const { frames, shots } = await extract(file, { maxDurationSec: 3000 })
  expect(shots.at(-1)!.endMs).toBeGreaterThan(2_003_000)
  const late = frames.filter(({ tMs }) => tMs > 2_000_000)
  expect(late.length).toBeGreaterThan(0)
  // Each is a multiple of 1/30 s after the jump, to the container's millisecond.
  for (const { tMs } of late) {
    const steps = ((tMs - 2_000_000) / 1000) * 30
    expect(Math.abs(steps - Math.round(steps))).toBeLessThan(0.05)
  }
})

/** Kind, first and last frame of each transition, as the sample films were put together at 30 a second. */
const MADE: Record<string, string> = {
  'atlas-launch':
    'cut 75, cut 165, cut 315, cut 375, dissolve 570-584, cut 750, cut 900, cut 924, cut 942, cut 962, ' +
    'fade 1070-1093, cut 1157, dissolve 1262-1276, cut 1322, cut 1367, dissolve 1427-1441',
  'relay-launch':
    'cut 60, dissolve 135-149, cut 210, cut 315, cut 480, cut 546, cut 576, cut 616, cut 646, fade 739-762, ' +
    'dissolve 886-900, cut 1081, cut 1141, fade 1204-1227, cut 1276, cut 1330',
}

test.each(Object.entries(MADE))('%s is cut where it was made, to the frame', async (name, made) => {
  const { shots } = await extractSample(sampleFile(`${name}.mp4`))
  const frameOf = (ms: number) => Math.round((ms * 30) / 1000)
  const transitions = made.split(', ').map((one) => {
    const [kind, frames] = one.split(' ') as [string, string]
    const [first, last = first] = frames.split('-').map(Number) as [number, number?]
    return { kind, first, last }
  })
  expect(shots.slice(1).map(({ transition }) => transition)).toEqual(transitions.map(({ kind }) => kind))
  for (const [n, { kind, first, last }] of transitions.entries()) {
    const [from, to] = [frameOf(shots[n]!.endMs), frameOf(shots[n + 1]!.startMs)]
    if (kind === 'cut') expect([from, to]).toEqual([first, first])
    // The clean parts hold no picture of a mix, and lose few beside it.
    else expect([first - from, to - last].map((lost) => lost >= 0 && lost <= 5)).toEqual([true, true])
  }
})

interface Sample {
  file: string
  /** The palette has the two strongest colours of the picture that was looked at. Without one no frame is taken. */
  notes: { at: number; subject: string; palette?: string[] }[]
}
const SAMPLES = JSON.parse(readFileSync(sampleFile('samples.json'), 'utf8')) as Sample[]

/** In OKLab. The colours of one shot move by 0.016. */
const SAME_COLOUR = 0.04

test.each(SAMPLES)('each note of $file stands beside the picture that was looked at', async ({ file, notes }) => {
  const { shots, frames } = await extractSample(sampleFile(file))
  const shown = new Set<unknown>()
  for (const { tMs, palette } of frames) {
    const note = noteOf(tMs, { shots, notes })
    const colours = palette.map(toOklab)
    const isSeen = (hex: string) => colours.some((one) => distance(one, toOklab(hex)) < SAME_COLOUR)
    expect([tMs, note?.palette?.filter((hex) => !isSeen(hex))]).toEqual([tMs, []])
    shown.add(note)
  }
  expect(shown).toEqual(new Set(notes.filter(({ palette }) => palette)))
})

test('the samples show every subject', () => {
  const shown = SAMPLES.flatMap(({ notes }) => notes.filter(({ palette }) => palette).map(({ subject }) => subject))
  expect(new Set(shown)).toEqual(new Set(SUBJECTS))
})
