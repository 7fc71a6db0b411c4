import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { MediaError } from '../../errors.ts'
import { collectTail, ended, type MediaTools, openPipes, readPieces, startLimited } from '../programs.ts'
import { PICTURE_BYTES } from '../shots/features.ts'
import { decodeArguments, readStamps, type Stamp, toImageSize, toneMapFilters } from './decode-arguments.ts'
import type { YuvPicture } from './measure.ts'
import type { Probe } from './probe.ts'

const STANDSTILL_MS = 120_000

export interface DecodeOptions extends MediaTools {
  file: string
  /** A private folder for the named pipes, which are unlinked before the first picture. */
  scratchDir: string
  signal: AbortSignal
  limits: {
    maxDurationSec: number
    /** CPU seconds of ffmpeg. Default: six times the video's length, at least two minutes. */
    cpuSec?: number
    /** How long no picture may arrive. The length of the whole pass has no limit: a busy machine decodes slowly. */
    standstillMs?: number
    /** Address space of ffmpeg, KiB. */
    memoryKb?: number
  }
}

export interface DecodeSinks {
  /**
   * Every frame in order, 160×90 planar YUV 4:4:4, in memory that is reused as soon as this returns. `isStill` says
   * that the frame also comes, or came, at full size.
   */
  frame(tMs: number, data: Uint8Array, isStill: boolean): void
  /** About ten pictures a second, at most 1280 wide. The memory comes from `allocate` and belongs to the receiver. */
  still?(picture: YuvPicture): void
  allocate?(bytes: number): Uint8Array
}

/** The running decode pass, for its sinks. */
export interface Decoding {
  /** The colour matrix of the full-size pictures by ffmpeg's name; null where the file does not say. */
  colorSpace: string | null
  /** Pauses the decoding or lets it go on. */
  hold(held: boolean): void
  /** Ends it; `decodeVideo` then throws the reason. */
  stop(reason: unknown): void
}

/**
 * One decode pass with two outputs: every frame small for the detector, and about ten a second at the size that is
 * kept. Time stamps come through a third pipe, because raw video has none. Returns when ffmpeg has ended and
 * everything was handed over, with its complaints: empty for a whole file. In every case no process is left running.
 * @throws MediaError when the file is at fault; the signal's reason when aborted; other errors when the machine is
 */
export async function decodeVideo(
  options: DecodeOptions,
  probe: Probe,
  start: (decoding: Decoding) => DecodeSinks,
): Promise<string> {
  const { limits } = options
  const size = toImageSize(probe)
  const cpuSec = limits.cpuSec ?? Math.max(120, Math.ceil(6 * (probe.durationSec || limits.maxDurationSec)))
  const ffmpeg = options.ffmpegPath ?? 'ffmpeg'
  const toneMap = await toneMapFilters(ffmpeg, probe)
  const args = decodeArguments(options.file, probe, { size, maxDurationSec: limits.maxDurationSec, toneMap })
  const [small, full] = await openPipes(options.scratchDir, ['small', 'full'])
  const child = startLimited(ffmpeg, args, {
    stdio: ['ignore', small!.writeFd, 'pipe', full!.writeFd, 'pipe'],
    memoryKb: limits.memoryKb ?? 3_000_000,
    cpuSec,
  })
  // The child has its own copies of these ends. Ours would keep the pipes from ending.
  closeSync(small!.writeFd)
  closeSync(full!.writeFd)
  const tail = collectTail(child)
  const stopping = new AbortController()
  const stop = (reason: unknown) => stopping.abort(reason)
  const signal = AbortSignal.any([options.signal, stopping.signal])
  const end = ended(child, { signal })
  const sources: Array<Socket | Readable> = []
  const colorSpace = toneMap ? 'bt709' : probe.colorSpace
  const hold = (held: boolean) => {
    for (const source of sources) held ? source.pause() : source.resume()
  }
  const sinks = start({ colorSpace, stop, hold })
  const pairs = pairFrames(sinks)
  let seen = 0
  const watch = setInterval(() => {
    const message = 'The machine was too busy to decode the video. Retry it later.'
    if (pairs.arrived === seen) stop(new MediaError('timed_out', message, { retryable: true }))
    seen = pairs.arrived
  }, limits.standstillMs ?? STANDSTILL_MS)
  const stampData = child.stdio[4] as Readable
  readStamps(stampData, probe.fps, pairs.addStamp)
  const stillBytes = (size.width * size.height * 3) / 2
  const smallData = readPieces(small!.readFd, PICTURE_BYTES, pairs.allocate, pairs.addPicture)
  const fullData = readPieces(
    full!.readFd,
    stillBytes,
    () => sinks.allocate?.(stillBytes) ?? new Uint8Array(stillBytes),
    (data) => sinks.still?.({ ...size, data }),
  )
  sources.push(stampData, smallData.socket, fullData.socket)

  try {
    const [outcome] = await Promise.all([end, smallData.ended, fullData.ended])
    signal.throwIfAborted()
    if (outcome.failed) throw outcome.failed
    if (outcome.code === 127 || outcome.code === 126) throw new Error('ffmpeg was not found. Install ffmpeg.')
    if (pairs.count === 0 || outcome.code !== 0) throw toDecodeError(tail(), outcome)
    return tail()
  } finally {
    clearInterval(watch)
    smallData.socket.destroy()
    fullData.socket.destroy()
  }
}

/** Frames and their stamps come through different pipes. They are paired by order. */
function pairFrames(sinks: DecodeSinks) {
  const stamps: Stamp[] = []
  const pictures: Uint8Array[] = []
  const spare: Uint8Array[] = []
  let count = 0
  let arrived = 0

  function pair(): void {
    while (pictures.length > 0 && stamps.length > 0) {
      const { tMs, isStill } = stamps.shift()!
      const data = pictures.shift()!
      count++
      sinks.frame(tMs, data, isStill)
      spare.push(data)
    }
  }

  return {
    get count() {
      return count
    },
    /** Also those whose stamps ffmpeg still buffers. */
    get arrived() {
      return arrived
    },
    allocate: () => spare.pop() ?? new Uint8Array(PICTURE_BYTES),
    addStamp(stamp: Stamp): void {
      stamps.push(stamp)
      pair()
    },
    addPicture(data: Uint8Array): void {
      arrived++
      pictures.push(data)
      pair()
    },
  }
}

/** ffmpeg's exit code after a signal that it handles, which SIGXCPU is. */
const FFMPEG_SIGNALLED = 255

function toDecodeError(stderr: string, { code, signal }: { code: number | null; signal: string | null }): Error {
  if (signal === 'SIGXCPU' || code === FFMPEG_SIGNALLED)
    return new MediaError('timed_out', 'Decoding the video took too much computing time. Use a smaller version.')
  // A container without memory kills its largest process.
  if (signal === 'SIGKILL')
    return new MediaError('crashed', 'The decoder was killed. Give the worker more memory.', { retryable: true })
  if (/Cannot allocate memory|malloc/i.test(stderr))
    return new MediaError('too_large', 'The video needs more memory to decode than is allowed. Use a smaller version.')
  return new MediaError('truncated', 'The video cannot be decoded: the file is cut off or damaged. Use a whole copy.', {
    cause: new Error(stderr.slice(-500)),
  })
}
