import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HEAD_BYTES, looksLikeVideo } from './container.ts'

const FORMATS = ['mp4', 'mov', 'webm', 'matroska', 'avi', 'mpegts']

test.each(FORMATS)('the beginning of a %s is that of a video', (format) => {
  const codec = format === 'webm' ? 'libvpx' : 'mpeg4'
  const movflags = ['mp4', 'mov'].includes(format) ? ['-movflags', 'frag_keyframe+empty_moov'] : []
  const made = execFileSync(
    'ffmpeg',
    ['-v', 'error', '-f', 'lavfi', '-i', 'color=s=64x64:d=0.2', '-c:v', codec, ...movflags, '-f', format, '-'],
    { maxBuffer: 8_000_000 },
  )
  expect(looksLikeVideo(made.subarray(0, HEAD_BYTES))).toBe(true)
})

test('a text, a picture, a list of songs and nothing are no videos', () => {
  for (const file of ['README.md', 'docs/wall.webp', 'package.json'])
    expect(looksLikeVideo(readFileSync(file).subarray(0, HEAD_BYTES)), file).toBe(false)
  expect(looksLikeVideo(Buffer.from('#EXTM3U\nfile:///etc/passwd\n'))).toBe(false)
  expect(looksLikeVideo(Buffer.from('G'.repeat(100)))).toBe(false)
  expect(looksLikeVideo(new Uint8Array())).toBe(false)
})
