import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ExtractOptions } from '../../src/video/extract/extract.ts'
import { QUICK, useClips } from './ffmpeg.ts'

const { extract, folder, make } = useClips()

/** Eight seconds of picture with this sound. */
const film = (name: string, ...sound: string[]) =>
  make(name, '-f', 'lavfi', '-i', 'testsrc=s=160x90:r=10:d=8', ...sound, ...QUICK, '-shortest')

async function soundOf(file: string, options: Partial<ExtractOptions> = {}) {
  const { picture } = await extract(file, options)
  const { loudness, silence_share } = picture.measures
  return { loudness, silence_share, noSound: picture.noSound }
}

test('a tone for half of the time: its loudness and the silence', async () => {
  // An eighth of full scale is -18.1 dB; its mean power is 3 dB below, and a single channel counts once (BS.1770).
  const tone = film('tone.mov', '-f', 'lavfi', '-i', 'sine=f=997:r=48000:d=4', '-af', 'apad', '-c:a', 'pcm_s16le')
  const sound = await soundOf(tone)
  expect(sound.loudness).toBeGreaterThan(-21.3)
  expect(sound.loudness).toBeLessThan(-20.9)
  expect(sound.silence_share).toBeCloseTo(0.5, 1)
  expect(sound.noSound).toBeNull()
})

test('a film without sound has none, and says so; one that is silent says that', async () => {
  expect(await soundOf(film('none.mp4', '-an'))).toEqual({
    ...{ loudness: null, silence_share: null },
    noSound: 'The film has no sound.',
  })
  const silent = film('silent.mov', '-f', 'lavfi', '-i', 'anullsrc=r=48000', '-c:a', 'pcm_s16le')
  expect(await soundOf(silent)).toMatchObject({ loudness: null, silence_share: 1, noSound: 'The sound is silent.' })
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
