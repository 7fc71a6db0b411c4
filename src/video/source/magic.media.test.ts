import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkMagic, SNIFF_BYTES } from './magic.ts'

const FORMATS = ['mp4', 'mov', 'webm', 'matroska', 'avi', 'mpegts']

test.each(FORMATS)('the beginning of a %s is that of a video', (format) => {
  const codec = format === 'webm' ? 'libvpx' : 'mpeg4'
  const movflags = ['mp4', 'mov'].includes(format) ? ['-movflags', 'frag_keyframe+empty_moov'] : []
  const made = execFileSync(
    'ffmpeg',
    ['-v', 'error', '-f', 'lavfi', '-i', 'color=s=64x64:d=0.2', '-c:v', codec, ...movflags, '-f', format, '-'],
    { maxBuffer: 8_000_000 },
  )
  const passes = (from: number) => {
    try {
      checkMagic(made.subarray(from, from + SNIFF_BYTES))
      return true
    } catch {
      return false
    }
  }
  expect([0, 1].map(passes)).toEqual([true, false])
})

test('a text, a picture, a list of songs and nothing are no videos', () => {
  for (const file of ['README.md', 'docs/search.webp', 'package.json'])
    expect(() => checkMagic(readFileSync(file).subarray(0, SNIFF_BYTES)), file).toThrow('is not a video')
  for (const text of ['#EXTM3U\nfile:///etc/passwd\n', '']) expect(() => checkMagic(Buffer.from(text))).toThrow()
})
