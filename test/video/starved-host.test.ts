import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { MediaError } from '../../src/errors.ts'
import { extractVideo } from '../../src/video/extract/extract.ts'
import { extractInChild } from '../../src/video/extract/run-extraction.ts'
import { QUICK, useClips } from './ffmpeg.ts'

// A machine with other work decodes slowly. That is never the fault of the file.

const { folder, make, scratch } = useClips()
let clip: string
beforeAll(() => {
  clip = make('clip.mp4', '-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=10:d=8', ...QUICK)
})

/** A program in place of ffmpeg or ffprobe. */
function program(name: string, script: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

function options(limits: { standstillMs?: number; cpuSec?: number } = {}) {
  return {
    file: clip,
    scratchDir: scratch(),
    signal: new AbortController().signal,
    limits: { maxDurationSec: 60, ...limits },
  }
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: MediaError) => error,
  )

test('a decode that goes on slowly is let go on past its time', async () => {
  // Pictures arrive as slowly as the video plays: eight seconds of time, a fraction of one of computing.
  const ffmpegPath = program('slow', 'exec ffmpeg -re "$@"')
  const { frames } = await extractVideo({ ...options({ standstillMs: 5_000 }), ffmpegPath })
  expect(frames.length).toBeGreaterThan(0)
})

test('a decode or a probe that stands still ends, and is tried again', async () => {
  const still = program('still', 'exec sleep 600')
  const decode = await failureOf(extractVideo({ ...options({ standstillMs: 300 }), ffmpegPath: still }))
  expect(decode).toMatchObject({ code: 'timed_out', retryable: true })
  const probe = await failureOf(extractVideo({ ...options(), ffprobePath: still, probeTimeoutMs: 300 }))
  expect(probe).toMatchObject({ code: 'timed_out', retryable: true })
  const child = await failureOf(extractInChild({ ...options({ standstillMs: 300 }), ffmpegPath: still }))
  expect(child).toMatchObject({ code: 'timed_out', retryable: true })
})

test('a file that takes too much computing fails at once', async () => {
  const endless = '-f lavfi -i testsrc2=s=1280x720 -f null -'
  for (const script of ['while :; do :; done', `exec ffmpeg -v error -nostdin ${endless}`]) {
    const failure = await failureOf(extractVideo({ ...options({ cpuSec: 1 }), ffmpegPath: program('busy', script) }))
    expect(failure, script).toMatchObject({ code: 'timed_out', retryable: false })
  }
})

test('a decoder that the system kills for want of memory is tried again', async () => {
  const killed = program('killed', 'kill -KILL $$')
  const failure = await failureOf(extractVideo({ ...options(), ffmpegPath: killed }))
  expect(failure).toMatchObject({ code: 'crashed', retryable: true })
})
