import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ExtractOptions, extractVideo } from '../../src/video/extract/extract.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sound-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Eight seconds of picture with this sound. */
function film(name: string, ...sound: string[]): string {
  return filmOf(name, 'testsrc=s=160x90:r=10:d=8', sound)
}

function filmOf(name: string, source: string, sound: readonly string[]): string {
  const file = join(folder, name)
  const picture = ['-f', 'lavfi', '-i', source]
  const run = [
    '-v',
    'error',
    '-y',
    ...picture,
    ...sound,
    '-pix_fmt',
    'yuv420p',
    '-preset',
    'ultrafast',
    '-shortest',
    file,
  ]
  execFileSync('ffmpeg', run)
  return file
}

async function pictureOf(file: string, options: Partial<ExtractOptions> = {}) {
  const scratchDir = mkdtempSync(join(folder, 'scratch-'))
  const { signal } = new AbortController()
  const { picture } = await extractVideo({ file, scratchDir, signal, limits: { maxDurationSec: 60 }, ...options })
  return picture
}

async function soundOf(file: string, options: Partial<ExtractOptions> = {}) {
  const picture = await pictureOf(file, options)
  const { loudness, loudness_range, true_peak, silence_share } = picture.measures
  return { loudness, loudness_range, true_peak, silence_share, noSound: picture.noSound }
}

test('a tone for half of the time: its loudness, its peak and the silence', async () => {
  // An eighth of full scale is -18.1 dB; its mean power is 3 dB below, and a single channel counts once (BS.1770).
  const tone = film('tone.mov', '-f', 'lavfi', '-i', 'sine=f=997:r=48000:d=4', '-af', 'apad', '-c:a', 'pcm_s16le')
  const sound = await soundOf(tone)
  expect(sound.loudness).toBeGreaterThan(-21.3)
  expect(sound.loudness).toBeLessThan(-20.9)
  expect(sound.true_peak).toBeCloseTo(-18.1, 0)
  expect(sound.silence_share).toBeCloseTo(0.5, 1)
  expect(sound.noSound).toBeNull()
})

test('a film without sound has none, and says so; one that is silent says that', async () => {
  expect(await soundOf(film('none.mp4', '-an'))).toEqual({
    ...{ loudness: null, loudness_range: null, true_peak: null, silence_share: null },
    noSound: 'The film has no sound.',
  })
  const silent = film('silent.mov', '-f', 'lavfi', '-i', 'anullsrc=r=48000', '-c:a', 'pcm_s16le')
  expect(await soundOf(silent)).toMatchObject({ loudness: null, silence_share: 1, noSound: 'The sound is silent.' })
})

/** A picture that changes every second, from one second on, for 16 seconds. */
const CUTS = 'testsrc=s=160x90:r=25:d=16[a];smptebars=s=160x90:r=25:d=16[b];[a][b]overlay=enable=lt(mod(t\\,2)\\,1)'
/** A drum twice a second. */
const DRUM = "aevalsrc='0.7*exp(-15*mod(t,0.5))*sin(2*PI*60*mod(t,0.5))':s=44100:d=16"

test('cuts on the beat are counted beside chance, also where the sound begins late', async () => {
  const rhythmOf = async (name: string, delay: string) => {
    const drum = ['-itsoffset', delay, '-f', 'lavfi', '-i', DRUM, '-c:a', 'pcm_s16le']
    const { measures } = await pictureOf(filmOf(name, CUTS, drum))
    expect(Math.abs(measures.tempo_bpm! / 120 - 1)).toBeLessThan(0.01)
    // Two frames of 40 ms on both sides of a beat, every half a second.
    expect(measures.cuts_on_beats_by_chance).toBeCloseTo(0.32, 1)
    return measures.cuts_on_beats
  }
  expect(await rhythmOf('on.mov', '0')).toBe(1)
  expect(await rhythmOf('between.mov', '0.25')).toBe(0)
})

test('a sound without a beat has no tempo; a film with few cuts has a tempo alone', async () => {
  const noise = film('noise.mov', '-f', 'lavfi', '-i', 'anoisesrc=d=8:a=0.2', '-c:a', 'pcm_s16le')
  expect((await pictureOf(noise)).measures).toMatchObject({ tempo_bpm: null, cuts_on_beats: null })
  const drum = film('drum.mov', '-f', 'lavfi', '-i', DRUM, '-c:a', 'pcm_s16le')
  const { tempo_bpm, cuts_on_beats, cuts_on_beats_by_chance } = (await pictureOf(drum)).measures
  expect(tempo_bpm).toBeCloseTo(120, -1)
  expect([cuts_on_beats, cuts_on_beats_by_chance]).toEqual([null, null])
})

test('an ffmpeg that cannot read sound leaves everything else as it is', async () => {
  const tone = film('again.mov', '-f', 'lavfi', '-i', 'sine=f=440:d=8', '-c:a', 'pcm_s16le')
  const ffmpegPath = join(folder, 'ffmpeg-without-sound')
  writeFileSync(ffmpegPath, '#!/bin/sh\ncase "$*" in *ebur128*) exit 1;; esac\nexec ffmpeg "$@"\n')
  chmodSync(ffmpegPath, 0o755)
  expect(await soundOf(tone, { ffmpegPath })).toMatchObject({
    loudness: null,
    noSound: 'The sound could not be read by the ffmpeg of this service.',
  })
})
