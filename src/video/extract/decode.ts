import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { MediaError } from '../../errors.ts'
import { PICTURE_BYTES, PICTURE_HEIGHT, PICTURE_WIDTH } from '../shots/features.ts'
import { collectTail, ended, inputOptions, type MediaTools, startLimited } from './ffmpeg.ts'
import type { YuvPicture } from './measure.ts'
import type { Probe } from './probe.ts'

const run = promisify(execFile)

const IMAGE_WIDTH = 1280
/** Full-size pictures are this far apart or more, microseconds. ffmpeg and we choose them by the same rule, half a microsecond away from any rounding. */
const STILL_SPACING_US = 249_000

const ONE_THREAD_PIXELS = 1920 * 1088

export interface DecodeOptions extends MediaTools {
  file: string
  /** A private folder for the named pipes; they are gone from it before the first picture. */
  scratchDir: string
  signal: AbortSignal
  limits: {
    maxDurationSec: number
    /** Wall-clock limit; three times the video's length and at least a minute when left out. */
    timeoutMs?: number
    /** Address space of ffmpeg, KiB. */
    memoryKb?: number
  }
}

export interface DecodeSinks {
  /** Every frame in order, 160×90 planar YUV 4:4:4, in memory that is used again as soon as this returns. `isStill`: it comes, or came, at full size too. */
  frame(tMs: number, data: Uint8Array, isStill: boolean): void
  /** About four pictures a second, at most 1280 wide. The picture's memory comes from `allocate` and is the receiver's. */
  still?(picture: YuvPicture): void
  allocate?(bytes: number): Uint8Array
}

/** What a sink may do while it runs. */
export interface Decoding {
  /** The colour matrix of the full-size pictures by ffmpeg's name; null where the file does not say. */
  colorSpace: string | null
  /** Holds the decoding up, or lets it go on. */
  hold(held: boolean): void
  /** Ends it; `decodeVideo` then throws the reason. */
  stop(reason: unknown): void
}

/**
 * One decoding, two outputs: every frame small for the detector, about four a second at the size that is kept. Presentation time stamps come beside them, because raw video has none.
 * Returns when ffmpeg has ended and everything was handed over. Nothing is left running whatever happens.
 * @throws MediaError when the file is at fault; the signal's reason when aborted; other errors when the machine is
 */
export async function decodeVideo(
  options: DecodeOptions,
  probe: Probe,
  start: (decoding: Decoding) => DecodeSinks,
): Promise<void> {
  const { signal, limits, scratchDir } = options
  const size = toImageSize(probe)
  const timeoutMs = limits.timeoutMs ?? Math.max(60_000, 3000 * (probe.durationSec || limits.maxDurationSec))
  const ffmpeg = options.ffmpegPath ?? 'ffmpeg'
  const toneMap = probe.hdrTransfer !== null && (await canToneMap(ffmpeg)) ? toneMapFilter(probe.hdrTransfer) : ''
  const [small, full] = await openPipes(scratchDir, ['small', 'full'])
  const child = startLimited(ffmpeg, decodeArguments(options.file, probe, size, limits.maxDurationSec, toneMap), {
    stdio: ['ignore', small!.writeFd, 'pipe', full!.writeFd, 'pipe'],
    memoryKb: limits.memoryKb ?? 3_000_000,
    cpuSec: Math.ceil(timeoutMs / 500),
  })
  // The child has its own copies of these ends; ours would keep the pipes from ending.
  closeSync(small!.writeFd)
  closeSync(full!.writeFd)
  const tail = collectTail(child)
  const end = ended(child)
  let failure: unknown = null
  const stop = (reason: unknown) => {
    failure ??= reason
    child.kill('SIGKILL')
  }
  const abort = () => stop(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  const timer = setTimeout(() => stop(new MediaError('timed_out', 'Decoding the video took too long.')), timeoutMs)

  // Frames and their stamps come through different pipes: pairs by order.
  const stamps: Stamp[] = []
  const pictures: Uint8Array[] = []
  const spare: Uint8Array[] = []
  let held = false
  let count = 0
  const sources: Array<Socket | Readable> = []
  const sinks = start({
    colorSpace: toneMap ? 'bt709' : probe.colorSpace,
    stop,
    hold(value) {
      if (value === held) return
      held = value
      for (const source of sources) held ? source.pause() : source.resume()
    },
  })

  function pair(): void {
    while (pictures.length > 0 && stamps.length > 0) {
      const { tMs, isStill } = stamps.shift()!
      const data = pictures.shift()!
      count++
      sinks.frame(tMs, data, isStill)
      spare.push(data)
    }
  }

  const stampData = child.stdio[4] as Readable
  readStamps(stampData, probe.fps, (stamp) => {
    stamps.push(stamp)
    pair()
  })
  const stillBytes = (size.width * size.height * 3) / 2
  const smallData = readPieces(
    small!.readFd,
    PICTURE_BYTES,
    () => spare.pop() ?? new Uint8Array(PICTURE_BYTES),
    (data) => {
      pictures.push(data)
      pair()
    },
  )
  const fullData = readPieces(
    full!.readFd,
    stillBytes,
    () => sinks.allocate?.(stillBytes) ?? new Uint8Array(stillBytes),
    (data) => sinks.still?.({ ...size, data }),
  )
  sources.push(stampData, smallData.socket, fullData.socket)

  try {
    const [outcome] = await Promise.all([end, smallData.ended, fullData.ended])
    if (failure) throw failure
    if (outcome.failed) throw outcome.failed
    if (outcome.code === 127 || outcome.code === 126) throw new Error('ffmpeg was not found. Install ffmpeg.')
    if (count === 0 || outcome.code !== 0) throw toDecodeError(tail(), outcome.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    smallData.socket.destroy()
    fullData.socket.destroy()
  }
}

/** The size of the kept pictures: even sides, at most 1280 wide. */
export function toImageSize({ width, height }: Pick<Probe, 'width' | 'height'>): { width: number; height: number } {
  const scale = Math.min(1, IMAGE_WIDTH / width)
  return {
    width: Math.max(2, Math.round((width * scale) / 2) * 2),
    height: Math.max(2, Math.round((height * scale) / 2) * 2),
  }
}

/**
 * Prints each frame's stamp beside some padding. ffmpeg hands printed text on every 32 KiB: without padding that is after 700 frames, too late;
 * with `direct=1` it is two system calls for every frame, which cost more than the scaling. With it, it is about 80 frames.
 */
const STAMP = [
  ...['a', 'b', 'c'].map((key) => `metadata=mode=add:key=${key}:value=${'-'.repeat(120)}`),
  "metadata=mode=print:file='pipe\\:4'",
].join(',')

/**
 * Filters that bring a high dynamic range to BT.709 and the usual range: without them its pictures are grey and pale. Diffuse white lies at 203 cd/m² (ITU-R BT.2408);
 * up to seven tenths of it nothing is changed, what is brighter is bent down so that 1,000 cd/m² are white.
 */
function toneMapFilter(transfer: NonNullable<Probe['hdrTransfer']>): string {
  return [
    `,zscale=tin=${transfer}:min=bt2020nc:pin=bt2020:rin=tv:t=linear:p=bt2020:m=gbr:npl=203`,
    'format=gbrpf32le',
    'zscale=tin=linear:min=gbr:pin=bt2020:t=linear:m=gbr:p=bt709',
    'tonemap=mobius:param=0.7:peak=5:desat=0',
    'zscale=tin=linear:min=gbr:pin=bt709:t=bt709:m=bt709:p=bt709:r=tv',
  ].join(',')
}

/** Whether this ffmpeg was built with the filters; Debian's is. */
async function canToneMap(ffmpeg: string): Promise<boolean> {
  const asked = run(ffmpeg, ['-v', 'error', '-hide_banner', '-filters'], { maxBuffer: 4_000_000, timeout: 20_000 })
  // Where it cannot be started, the decoding says so.
  const { stdout } = await asked.catch(() => ({ stdout: '' }))
  return / zscale /.test(stdout) && / tonemap /.test(stdout)
}

function decodeArguments(
  file: string,
  probe: Probe,
  size: { width: number; height: number },
  maxDurationSec: number,
  toneMap: string,
): string[] {
  // Asked for a range, the scaler copies even pictures that are as wanted.
  const range = probe.plainPixels ? '' : ':out_range=tv'
  const graph = [
    // Microseconds throughout: the printed seconds have six digits, too few for a long video.
    `[0:${probe.streamIndex}]settb=1/1000000,split=2[a][b]`,
    `[a]scale=${PICTURE_WIDTH}:${PICTURE_HEIGHT}:flags=fast_bilinear${range}${toneMap},format=yuv444p,${STAMP}[small]`,
    `[b]select='isnan(prev_selected_t)+gte(t-prev_selected_t,${(STILL_SPACING_US - 0.5) / 1e6})',scale=${size.width}:${size.height}:flags=bicubic${range}${toneMap},format=yuv420p[full]`,
  ].join(';')
  const raw = ['-fps_mode', 'passthrough', '-f', 'rawvideo']
  // A second thread costs a tenth more CPU, and there are as many of these processes as cores. Larger pictures are given one, or they would come near their time limit.
  const threads = probe.width * probe.height > ONE_THREAD_PIXELS ? 2 : 1
  return [
    ...[
      '-v',
      'error',
      '-hide_banner',
      '-nostdin',
      '-threads',
      String(threads),
      '-filter_complex_threads',
      '1',
      '-t',
      String(maxDurationSec + 5),
    ],
    ...inputOptions(file),
    ...['-filter_complex', graph, '-map', '[small]', ...raw, 'pipe:1', '-map', '[full]', ...raw, 'pipe:3'],
  ]
}

interface PipeEnds {
  readFd: number
  writeFd: number
}

/**
 * Named pipes that are unlinked at once. Node's own pipes to a child bring every 64 KiB in new memory, and collecting that costs as much as measuring the frames;
 * a socket made from a descriptor reads into memory of ours.
 */
async function openPipes(folder: string, names: readonly string[]): Promise<PipeEnds[]> {
  const paths = names.map((name) => join(folder, `${name}.pipe`))
  await run('mkfifo', ['-m', '600', ...paths]).catch((cause: Error) => {
    throw Object.assign(
      new Error('The scratch folder holds no named pipe.', { cause }),
      /No space/.test(cause.message) ? { code: 'ENOSPC' } : {},
    )
  })
  return paths.map((path) => {
    // The reader first and without waiting, so that neither end waits for the other.
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writeFd = openSync(path, constants.O_WRONLY)
    unlinkSync(path)
    return { readFd, writeFd }
  })
}

/** Cuts what comes through a pipe into pieces of one length, each read straight into memory from `allocate`. */
function readPieces(
  fd: number,
  bytes: number,
  allocate: () => Uint8Array,
  take: (piece: Uint8Array) => void,
): { socket: Socket; ended: Promise<void> } {
  let piece = allocate()
  let filled = 0
  const socket = new Socket({
    fd,
    readable: true,
    writable: false,
    onread: {
      buffer: () => (filled === 0 ? piece : piece.subarray(filled)),
      callback(length) {
        filled += length
        if (filled === bytes) {
          take(piece)
          piece = allocate()
          filled = 0
        }
        return true
      },
    },
  })
  const ended = new Promise<void>((done) => socket.once('close', () => done()))
  socket.on('error', () => {})
  socket.resume()
  return { socket, ended }
}

interface Stamp {
  tMs: number
  /** Whether this frame also comes at full size. */
  isStill: boolean
}

function readStamps(stamps: Readable, fps: number, take: (stamp: Stamp) => void): void {
  let text = ''
  let lastMs = Number.NEGATIVE_INFINITY
  let stillUs = Number.NaN
  stamps.setEncoding('latin1')
  stamps.on('data', (chunk: string) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop()!
    for (const line of lines) {
      const found = /^frame:\d+\s+pts:(\S+)/.exec(line)
      if (!found) continue
      const us = Number(found[1])
      const isStill = Number.isNaN(stillUs) || us - stillUs >= STILL_SPACING_US
      if (isStill) stillUs = us
      // A frame without a stamp, or one that goes back, follows the last by one step, so that times always rise.
      const tMs = Number.isNaN(us) || us / 1000 <= lastMs ? Math.max(0, lastMs + 1000 / fps) : us / 1000
      lastMs = tMs
      take({ tMs, isStill })
    }
  })
}

function toDecodeError(stderr: string, signal: NodeJS.Signals | null): Error {
  if (signal === 'SIGXCPU') return new MediaError('timed_out', 'Decoding the video took too much computing time.')
  if (/Cannot allocate memory|malloc/i.test(stderr))
    return new MediaError('too_large', 'The video needs more memory to decode than is allowed.')
  return new MediaError('truncated', 'The video cannot be decoded: the file is cut off or damaged.', {
    cause: new Error(stderr.slice(-500)),
  })
}
