import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MediaError } from '../../src/errors.ts'
import { type Extraction, extractVideo } from '../../src/video/extract/extract.ts'
import { extractInChild } from '../../src/video/extract/run-extraction.ts'
import { inputOptions } from '../../src/video/programs.ts'
import { listenOn } from '../support/listening.ts'
import { QUICK, useClips } from './ffmpeg.ts'

/** Every failure code of a file. Document a new one too. */
const CODES = [
  'unreadable',
  'empty_file',
  'not_a_video',
  'truncated',
  'no_video_stream',
  'unsupported_codec',
  'too_long',
  'too_large',
  'timed_out',
  'blank_video',
]
const MAX_SEC = 120

const { folder, make, scratch } = useClips()
let listener: Server
let connections = 0
let port = 0
let clip: Buffer
let webm: Buffer
let mkv: Buffer
let avi: Buffer
let ts: Buffer

function path(name: string): string {
  return join(folder, name)
}

function write(name: string, content: Buffer | string): string {
  writeFileSync(path(name), content)
  return path(name)
}

beforeAll(async () => {
  listener = createServer((socket) => {
    connections++
    socket.destroy()
  })
  ;({ port } = await listenOn(listener))
  write('secret.txt', 'secret')
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=25:d=3']
  clip = readFileSync(make('clip.mp4', ...picture, ...QUICK, '-movflags', '+faststart'))
  webm = readFileSync(make('clip.webm', ...picture, '-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'))
  mkv = readFileSync(make('clip.mkv', '-i', path('clip.mp4'), '-c', 'copy'))
  avi = readFileSync(make('clip.avi', ...picture, '-c:v', 'mpeg4'))
  ts = readFileSync(make('clip.ts', '-i', path('clip.mp4'), '-c', 'copy'))
})

afterAll(() => new Promise((done) => listener.close(done)))

type Outcome = { extraction: Extraction; code: null } | { extraction: null; code: string }

async function run(
  file: string,
  limits: Parameters<typeof extractVideo>[0]['limits'] = { maxDurationSec: MAX_SEC },
  extract = extractVideo,
): Promise<Outcome> {
  const scratchDir = scratch()
  try {
    const extraction = await extract({ file, scratchDir, signal: new AbortController().signal, limits })
    expect(extraction.frames.length).toBeGreaterThan(0)
    expect(readdirSync(scratchDir).length).toBe(extraction.frames.length * 2)
    return { extraction, code: null }
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    expect(CODES).toContain(error.code)
    expect(error.message).toMatch(/^[A-Z].*\.$/s)
    expect(error.message).not.toContain(folder)
    return { extraction: null, code: error.code }
  } finally {
    rmSync(scratchDir, { recursive: true, force: true })
  }
}

/** Flips bytes, the same ones on every machine. */
function flip(bytes: Buffer, seed: number, count: number, from = 0): Buffer {
  const copy = Buffer.from(bytes)
  let state = seed * 2654435761 + 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  for (let i = 0; i < count; i++) {
    const at = from + (next() % (copy.length - from))
    copy[at] = copy[at]! ^ (1 << (next() % 8))
  }
  return copy
}

test('cut off anywhere: 15 files', async () => {
  const ends: Record<string, string | null> = {}
  for (const [ending, bytes] of [
    ['mp4', clip],
    ['webm', webm],
    ['ts', ts],
  ] as const) {
    for (const share of [0.0005, 0.02, 0.2, 0.5, 0.9]) {
      const name = `cut-${share}.${ending}`
      ends[name] = (await run(write(name, bytes.subarray(0, Math.max(1, Math.round(bytes.length * share)))))).code
    }
  }
  expect(ends['cut-0.0005.mp4']).not.toBeNull()
  expect(ends['cut-0.2.mp4']).toBe('truncated')
  expect(ends['cut-0.5.mp4']).toBe('truncated')
})

test('an index at the end that never came', async () => {
  const late = readFileSync(make('late.mp4', '-i', path('clip.mp4'), '-c', 'copy'))
  expect((await run(write('no-index.mp4', late.subarray(0, Math.round(late.length * 0.6))))).code).toBe('truncated')
})

test('bits turned over: 16 files', async () => {
  for (const [ending, bytes] of [
    ['mp4', clip],
    ['webm', webm],
    ['mkv', mkv],
    ['avi', avi],
  ] as const) {
    for (const seed of [1, 2]) await run(write(`flip-${seed}.${ending}`, flip(bytes, seed, 40)))
    // Only the header, which holds the lengths, sizes and offsets.
    for (const seed of [4, 5]) await run(write(`flip-${seed}.${ending}`, flip(bytes.subarray(0, 3000), seed, 25)))
  }
})

test('files that name other files or addresses are opened by none of their names', async () => {
  const http = `http://127.0.0.1:${port}/a.ts`
  const secret = path('secret.txt')
  const hostile: Record<string, string> = {
    'hls-file.mp4': `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
    'hls-http.mp4': `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n${http}\n#EXT-X-ENDLIST\n`,
    'hls-local.mp4': `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nclip.ts\n#EXT-X-ENDLIST\n`,
    'hls-byterange.m3u8': `#EXTM3U\n#EXT-X-MAP:URI="${http}"\n#EXTINF:1,\n${http}\n`,
    'hls-key.ts': `#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="${http}"\n#EXTINF:1,\nclip.ts\n#EXT-X-ENDLIST\n`,
    'concat.mp4': `ffconcat version 1.0\nfile '${path('clip.mp4')}'\n`,
    'concat-secret.mp4': `ffconcat version 1.0\nfile '${secret}'\n`,
    'concat-http.mkv': `ffconcat version 1.0\nfile '${http}'\n`,
    'dash.mp4':
      '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" ' +
      'mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="video/mp4">' +
      '<Representation id="1" bandwidth="1">' +
      `<BaseURL>${http}</BaseURL><SegmentBase/></Representation></AdaptationSet></Period></MPD>`,
    'smooth.mp4':
      '<?xml version="1.0"?><SmoothStreamingMedia MajorVersion="2">' +
      `<StreamIndex Type="video" Url="${http}"/></SmoothStreamingMedia>`,
    'session.mp4':
      'v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\n' +
      `m=video ${port} RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
    'playlist.mp4': `[playlist]\nFile1=${http}\nLength1=10\n`,
    'reference.mov': `RTSPtext\nrtsp://127.0.0.1:${port}/a\n`,
    'asx.mp4': `<asx version="3.0"><entry><ref href="${http}"/></entry></asx>`,
    'metadata.mp4': ';FFMETADATA1\ntitle=x\n',
    'ismv.mp4': `<smil><body><video src="${http}"/></body></smil>`,
  }
  for (const [name, content] of Object.entries(hostile)) {
    const outcome = await run(write(name, content))
    expect([name, outcome.code]).toEqual([name, 'not_a_video'])
  }
  // Without the check of the first bytes ffprobe itself must refuse them.
  for (const name of Object.keys(hostile)) {
    const probe = spawnSync('ffprobe', ['-v', 'error', '-show_format', ...inputOptions(path(name))], {
      encoding: 'utf8',
    })
    expect([name, probe.status === 0, probe.stdout.trim()]).toEqual([name, false, ''])
  }
  // A path that looks like a protocol is an ordinary file name.
  for (const name of [
    `concat:${path('clip.mp4')}`,
    `subfile,,start,0,end,0,,:${path('clip.mp4')}`,
    http,
    'pipe:0',
    'data:video/mp4;base64,AAAA',
    '-i',
  ]) {
    expect([name, (await run(name)).code]).toEqual([name, 'unreadable'])
  }
  expect(connections).toBe(0)
})

/** Both files in one, the first stream of pictures as its cover. */
const AS_COVER = ['-map', '0', '-map', '1', '-c', 'copy', '-disposition:v:0', 'attached_pic']

test('what is no video at all', async () => {
  make('sound.wav', '-f', 'lavfi', '-i', 'sine=d=1')
  make('cover.png', '-f', 'lavfi', '-i', 'color=red:s=64x64', '-frames:v', '1')
  make('sound.m4a', '-i', path('sound.wav'), '-c:a', 'aac')
  make('covered.m4a', '-i', path('sound.m4a'), '-i', path('cover.png'), ...AS_COVER)
  make('words.srt', '-f', 'lavfi', '-i', 'color=red:s=64x64:d=1', '-f', 'ffmetadata')
  mkdirSync(path('a-folder.mp4'))
  execFileSync('mkfifo', [path('a-pipe.mp4')])
  const expected: Record<string, string> = {
    'sound.wav': 'not_a_video',
    'sound.m4a': 'no_video_stream',
    'covered.m4a': 'no_video_stream',
    'cover.png': 'not_a_video',
    'words.srt': 'not_a_video',
    'secret.txt': 'not_a_video',
    'a-folder.mp4': 'unreadable',
    'a-pipe.mp4': 'unreadable',
    'absent.mp4': 'unreadable',
  }
  write('empty.mp4', '')
  expected['empty.mp4'] = 'empty_file'
  write('subtitles.mp4', '1\n00:00:00,000 --> 00:00:02,000\nhello\n')
  write('zeros.mp4', Buffer.alloc(100_000))
  write('noise.mp4', flip(Buffer.alloc(100_000, 0x5a), 9, 400_000))
  write('page.mp4', '<!doctype html><title>x</title>')
  write('archive.mp4', Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(1000, 1)]))
  write('one-byte.mp4', 'x')
  for (const name of ['subtitles.mp4', 'zeros.mp4', 'noise.mp4', 'page.mp4', 'archive.mp4', 'one-byte.mp4'])
    expected[name] = 'not_a_video'
  // A box that claims to be four exabytes long.
  write(
    'endless-box.mp4',
    Buffer.concat([
      clip.subarray(0, 32),
      Buffer.from([0, 0, 0, 1]),
      Buffer.from('moov'),
      Buffer.alloc(8, 0x3f),
      clip.subarray(48),
    ]),
  )
  for (const [name, code] of Object.entries(expected))
    expect([name, (await run(path(name))).code]).toEqual([name, code])
  expect((await run(path('endless-box.mp4'))).code).not.toBeNull()
})

test('sizes, lengths and rates beyond measure', async () => {
  expect((await run(make('wide.mp4', '-f', 'lavfi', '-i', 'color=red:s=8192x64:r=1:d=1', ...QUICK))).code).toBe(
    'too_large',
  )
  expect((await run(make('vast.mp4', '-f', 'lavfi', '-i', 'color=red:s=4000x4000:r=1:d=1', ...QUICK))).code).toBe(
    'too_large',
  )
  expect((await run(make('long.mp4', '-f', 'lavfi', '-i', 'color=red:s=64x64:r=1:d=200', ...QUICK))).code).toBe(
    'too_long',
  )
  // The header has no length, so the decoded length counts.
  make('long.mkv', '-i', path('long.mp4'), '-c', 'copy', '-f', 'matroska', '-live', '1')
  expect((await run(path('long.mkv'))).code).toBe('too_long')
  const jump = ['-f', 'lavfi', '-i', "testsrc2=s=64x64:r=5:d=2,setpts='if(lt(N,5),PTS,PTS+5000/TB)'"]
  expect((await run(make('gap.mkv', ...jump, ...QUICK, '-fps_mode', 'passthrough'))).code).toBe('too_long')
  const tiny = make('tiny-frames.mp4', '-f', 'lavfi', '-i', 'testsrc2=s=16x16:r=1000:d=4', ...QUICK)
  expect((await run(tiny)).extraction).not.toBeNull()
  expect((await run(tiny, { maxDurationSec: 5 })).code).toBe('too_large')
  expect((await run(tiny, { maxDurationSec: MAX_SEC, standstillMs: 1 })).code).toBe('timed_out')
  // Too little for the decoder to start.
  await expect(run(path('clip.mp4'), { maxDurationSec: MAX_SEC, memoryKb: 40_000 })).rejects.toThrow('ffmpeg')
  const black = make('black.mp4', '-f', 'lavfi', '-i', 'color=black:s=320x180:d=2', ...QUICK)
  expect((await run(black)).code).toBe('blank_video')
})

test('odd but honest files become frames', async () => {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=25:d=1']
  make('still.png', ...picture, '-frames:v', '1')
  write('words2.srt', '1\n00:00:00,000 --> 00:00:02,000\nhello\n')
  make('moved.mp4', '-i', path('clip.mp4'), '-c', 'copy', '-metadata:s:v', 'rotate=270')
  make('small.ts', '-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=25:d=1', ...QUICK)
  const honest: Record<string, string[]> = {
    'one-frame.mp4': [...picture, '-frames:v', '1', ...QUICK],
    'two-pixels.mp4': ['-f', 'lavfi', '-i', 'testsrc2=s=16x2:r=25:d=1', ...QUICK],
    'strip.mp4': ['-f', 'lavfi', '-i', 'testsrc2=s=2000x16:r=25:d=1', ...QUICK],
    'odd.mkv': ['-f', 'lavfi', '-i', 'testsrc2=s=333x187:r=25:d=1', '-preset', 'ultrafast', '-pix_fmt', 'yuv444p'],
    'rgb.mp4': [...picture, '-c:v', 'libx264rgb', '-preset', 'ultrafast'],
    'grey.mp4': [...picture, '-preset', 'ultrafast', '-pix_fmt', 'gray'],
    'full-range.mp4': [...picture, '-preset', 'ultrafast', '-pix_fmt', 'yuvj420p'],
    'interlaced.ts': [...picture, '-c:v', 'libx264', '-flags', '+ildct+ilme', '-x264opts', 'tff=1', ...QUICK],
    'absurd-aspect.mp4': [...picture, '-vf', 'setsar=1000/1', ...QUICK],
    'subtitled.mp4': ['-i', path('clip.mp4'), '-i', path('words2.srt'), '-c:v', 'copy', '-c:s', 'mov_text'],
    'covered.mp4': ['-i', path('still.png'), '-i', path('clip.mp4'), ...AS_COVER],
    'two-tracks.mkv': ['-i', path('clip.mp4'), '-i', path('moved.mp4'), '-map', '0', '-map', '1', '-c', 'copy'],
    'late-start.mp4': ['-itsoffset', '50', '-i', path('clip.mp4'), '-c', 'copy'],
    'negative-start.mkv': ['-itsoffset', '-1', '-i', path('clip.mp4'), '-c', 'copy', '-avoid_negative_ts', 'disabled'],
    'no-length.webm': ['-i', path('clip.webm'), '-c', 'copy', '-live', '1'],
  }
  for (const [name, args] of Object.entries(honest)) {
    const { extraction, code } = await run(make(name, ...args))
    expect([name, code]).toEqual([name, null])
    expect(Math.min(...extraction!.frames.map(({ tMs }) => tMs))).toBeGreaterThanOrEqual(0)
  }
  write('changes-size.ts', Buffer.concat([ts, readFileSync(path('small.ts'))]))
  await run(path('changes-size.ts'))
  for (const codec of ['mjpeg', 'ffv1', 'huffyuv', 'rawvideo', 'mpeg2video']) {
    expect([codec, (await run(make(`${codec}.mkv`, ...picture, '-c:v', codec))).code]).toEqual([
      codec,
      'unsupported_codec',
    ])
  }
})

test('in a child process too, and the parent lives', async () => {
  expect((await run(path('clip.mp4'), undefined, extractInChild)).extraction!.probe.width).toBe(320)
  expect((await run(path('hls-http.mp4'), undefined, extractInChild)).code).toBe('not_a_video')
  expect((await run(path('flip-4.mp4'), undefined, extractInChild)).code).toEqual((await run(path('flip-4.mp4'))).code)
  expect(connections).toBe(0)
})
