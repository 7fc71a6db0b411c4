import { open, stat } from 'node:fs/promises'
import { MediaError } from '../../errors.ts'
import { collectTail, ended, inputOptions, type MediaTools, startLimited } from '../programs.ts'
import { CONTAINERS_ALLOWED, checkMagic, SNIFF_BYTES } from '../source/magic.ts'

const CODECS = ['h264', 'hevc', 'vp8', 'vp9', 'av1', 'mpeg4', 'prores']
/** Display P3, DCI-P3 and BT.2020. */
const WIDE_PRIMARIES = ['smpte432', 'smpte431', 'bt2020'] as const
const MAX_PIXELS = 3840 * 2160
const MAX_SIDE = 4096
const MAX_FPS = 125
const PROBE_TIMEOUT_MS = 20_000
const MAX_OUTPUT = 1_000_000

/**
 * What ffprobe says about a file that passed the checks. Times in seconds, sizes in pixels after rotation and sample
 * aspect ratio.
 */
export interface ProbedVideo {
  durationSec: number
  width: number
  height: number
  fps: number
  /** The exact rate, `30000/1001`; null where it varies. */
  frameRate: string | null
  /** The timecode of the first frame as the file has it; null where it has none. */
  startTimecode: string | null
  rotation: number
  codec: string
  container: string
  title: string | null
}

/** Adds what the decode pass needs and nothing stores. */
export interface Probe extends ProbedVideo {
  streamIndex: number
  hasSound: boolean
  /** ffprobe's name for the colour matrix; null where the file does not say. */
  colorSpace: string | null
  /** ffprobe's name for the transfer function of a high dynamic range; null for the usual range. */
  hdrTransfer: 'smpte2084' | 'arib-std-b67' | null
  /** ffprobe's name for primaries wider than BT.709 in the usual range (Display P3); null for all others. */
  widePrimaries: (typeof WIDE_PRIMARIES)[number] | null
  /** The pictures are already 8-bit 4:2:0 in limited range and need no conversion. */
  plainPixels: boolean
  /**
   * False for recordings whose header gives no length (live WebM). Then `durationSec` is 0 until the decode pass has
   * measured it.
   */
  durationKnown: boolean
}

interface ProbedStream {
  index: number
  codec_type?: string
  codec_name?: string
  width?: number
  height?: number
  avg_frame_rate?: string
  r_frame_rate?: string
  sample_aspect_ratio?: string
  color_space?: string
  color_transfer?: string
  color_primaries?: string
  color_range?: string
  pix_fmt?: string
  duration?: string
  disposition?: Record<string, number>
  tags?: Record<string, string>
  side_data_list?: Array<{ rotation?: number; dv_profile?: number; dv_bl_signal_compatibility_id?: number }>
}

/**
 * Reads a file's header with ffprobe and refuses what cannot or must not be decoded.
 * @throws MediaError `unreadable` `empty_file` `not_a_video` `truncated` `no_video_stream` `unsupported_codec`
 * `unsupported_colour` `too_long` `too_large` `timed_out`
 */
export async function probeVideo(
  file: string,
  options: MediaTools & { maxDurationSec: number; signal?: AbortSignal; probeTimeoutMs?: number },
): Promise<Probe> {
  await checkReadable(file)
  const output = await runProbe(file, options)
  const streams = output.streams ?? []
  const format = output.format ?? {}
  const stream = findVideoStream(streams)
  const codec = stream.codec_name ?? 'unknown'
  if (!CODECS.includes(codec)) {
    const message = `The codec ${codec.slice(0, 40)} is not supported. Allowed: ${CODECS.join(', ')}.`
    throw new MediaError('unsupported_codec', message)
  }
  refuseClosedColours(stream)
  const hdrTransfer =
    stream.color_transfer === 'smpte2084' || stream.color_transfer === 'arib-std-b67' ? stream.color_transfer : null
  const rotation = toRotation(stream)
  const size = checkSize(stream, rotation)
  const fps = toRate(stream.avg_frame_rate) ?? toRate(stream.r_frame_rate) ?? 25
  const length = toSeconds(stream.duration) ?? toSeconds(format.duration)
  if (length !== null && length > options.maxDurationSec) throw tooLong(length, options.maxDurationSec)
  if (fps > MAX_FPS && (length === null || fps * length > MAX_FPS * options.maxDurationSec)) {
    throw new MediaError(
      'too_large',
      `The video has ${Math.round(fps)} frames a second. Use one of at most ${MAX_FPS}.`,
    )
  }
  return {
    durationSec: length ?? 0,
    durationKnown: length !== null,
    ...size,
    fps: Math.round(fps * 1000) / 1000,
    frameRate: toExactRate(stream),
    startTimecode: toStartTimecode([format, ...streams]),
    rotation,
    codec,
    container: (format.format_name ?? 'unknown').split(',')[0]!,
    title: toTitle(format.tags?.title ?? format.tags?.TITLE),
    streamIndex: stream.index,
    hasSound: streams.some(({ codec_type }) => codec_type === 'audio'),
    hdrTransfer,
    widePrimaries: hdrTransfer ? null : (WIDE_PRIMARIES.find((each) => each === stream.color_primaries) ?? null),
    plainPixels: stream.pix_fmt === 'yuv420p' && stream.color_range !== 'pc',
    colorSpace: stream.color_space && stream.color_space !== 'unknown' ? stream.color_space : null,
  }
}

function findVideoStream(streams: readonly ProbedStream[]): ProbedStream {
  const found = streams.find(
    ({ codec_type, disposition }) =>
      codec_type === 'video' && !disposition?.attached_pic && !disposition?.timed_thumbnails,
  )
  if (found) return found
  const rest = streams.some(({ codec_type }) => codec_type === 'audio') ? ', only sound' : ''
  throw new MediaError('no_video_stream', `The file has no video track${rest}. Use a file with a video track.`)
}

/**
 * Dolby Vision without a compatible base layer (profile 5) is coded in colours of its own. Read as usual ones they are
 * green and violet, and no free decoder brings them back.
 */
function refuseClosedColours({ side_data_list }: ProbedStream): void {
  const vision = side_data_list?.find(({ dv_profile }) => typeof dv_profile === 'number')
  if (!vision || (vision.dv_profile !== 5 && vision.dv_bl_signal_compatibility_id !== 0)) return
  throw new MediaError(
    'unsupported_colour',
    `The video is Dolby Vision profile ${vision.dv_profile}, whose colours only licensed players show. ` +
      'Export it as HDR10, HLG or SDR and add that file.',
  )
}

/** The display size, checked together with the coded one. */
function checkSize(stream: ProbedStream, rotation: number): { width: number; height: number } {
  const coded = { width: stream.width ?? 0, height: stream.height ?? 0 }
  if (coded.width < 2 || coded.height < 2)
    throw new MediaError('not_a_video', 'The video track has no picture size. Use another version.')
  const size = toDisplaySize(coded, stream.sample_aspect_ratio, rotation)
  const longest = Math.max(coded.width, coded.height, size.width, size.height)
  if (coded.width * coded.height > MAX_PIXELS || longest > MAX_SIDE)
    throw new MediaError('too_large', `The picture is ${coded.width}×${coded.height}. Use one of at most 3840×2160.`)
  return size
}

export function tooLong(lengthSec: number, maxSec: number): MediaError {
  return new MediaError('too_long', `The video is ${toClock(lengthSec)} long. Use one of at most ${toClock(maxSec)}.`)
}

function toClock(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')} min`
}

async function checkReadable(file: string): Promise<void> {
  try {
    const info = await stat(file)
    if (!info.isFile()) throw new MediaError('unreadable', 'The source is not a regular file.')
    if (info.size === 0) throw new MediaError('empty_file', 'The file is empty. Use another one.')
    checkMagic(await readHead(file))
  } catch (cause) {
    if (cause instanceof MediaError) throw cause
    throw new MediaError('unreadable', 'The file cannot be read: it is missing, or access is denied. Check both.', {
      cause,
    })
  }
}

async function readHead(file: string): Promise<Uint8Array> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(SNIFF_BYTES), 0, SNIFF_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

interface ProbeOutput {
  streams?: ProbedStream[]
  format?: { format_name?: string; duration?: string; tags?: Record<string, string> }
}

async function runProbe(
  file: string,
  {
    signal,
    ffprobePath = 'ffprobe',
    probeTimeoutMs = PROBE_TIMEOUT_MS,
  }: MediaTools & { signal?: AbortSignal; probeTimeoutMs?: number },
): Promise<ProbeOutput> {
  signal?.throwIfAborted()
  const args = ['-v', 'error', '-hide_banner', '-print_format', 'json', '-show_format', '-show_streams']
  const child = startLimited(ffprobePath, [...args, ...inputOptions(file)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    memoryKb: 2_000_000,
    cpuSec: 20,
  })
  const tail = collectTail(child)
  const chunks: Buffer[] = []
  let size = 0
  child.stdout!.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_OUTPUT) child.kill('SIGKILL')
    else chunks.push(chunk)
  })
  const end = await ended(child, { signal, timeoutMs: probeTimeoutMs })
  signal?.throwIfAborted()
  if (end.failed) throw end.failed
  if (end.code === 127 || end.code === 126) throw new Error('ffprobe was not found. Install ffmpeg.')
  if (end.timedOut) {
    const message = 'The machine was too busy to read the header of the file. Retry it later.'
    throw new MediaError('timed_out', message, { retryable: true })
  }
  if (size > MAX_OUTPUT) throw new MediaError('not_a_video', "The file's header is too large. Use another version.")
  if (end.code !== 0) throw toProbeError(tail())
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as ProbeOutput
  } catch (cause) {
    throw new MediaError('not_a_video', `The file cannot be read as a video. ${CONTAINERS_ALLOWED}`, { cause })
  }
}

function toProbeError(stderr: string): MediaError {
  if (/not on whitelist|not in the whitelist/i.test(stderr)) {
    return new MediaError('not_a_video', `The file is a playlist or an unsupported container. ${CONTAINERS_ALLOWED}`)
  }
  if (/moov atom not found|End of file/i.test(stderr)) {
    return new MediaError(
      'truncated',
      'The file ends before its index: the upload or the recording is incomplete. Use a whole copy.',
    )
  }
  return new MediaError('not_a_video', `The file cannot be read as a video. ${CONTAINERS_ALLOWED}`)
}

function toRotation(stream: ProbedStream): number {
  const fromMatrix = stream.side_data_list?.find((data) => typeof data.rotation === 'number')?.rotation
  const degrees = fromMatrix ?? -Number(stream.tags?.rotate ?? 0)
  return Number.isFinite(degrees) ? (((Math.round(-degrees / 90) * 90) % 360) + 360) % 360 : 0
}

function toDisplaySize(
  coded: { width: number; height: number },
  aspect: string | undefined,
  rotation: number,
): { width: number; height: number } {
  const [num = 1, den = 1] = (aspect ?? '1:1').split(':').map(Number)
  const stated = num > 0 && den > 0 ? num / den : 1
  // A nearly square pixel is the encoder's rounding; an absurd one is damage.
  const ratio = Math.abs(stated - 1) < 0.02 || stated > 8 || stated < 1 / 8 ? 1 : stated
  // The width is stretched, as players do, and the height stays.
  const width = Math.round(coded.width * ratio)
  return rotation % 180 === 90 ? { width: coded.height, height: width } : { width, height: coded.height }
}

function toRate(text: string | undefined): number | null {
  const [num = 0, den = 1] = (text ?? '').split('/').map(Number)
  const rate = num / den
  return Number.isFinite(rate) && rate > 0 ? rate : null
}

/** A file whose frames keep one rate says so twice: its nominal rate is its mean one. */
function toExactRate({ avg_frame_rate, r_frame_rate }: ProbedStream): string | null {
  const [mean, nominal] = [toRate(avg_frame_rate), toRate(r_frame_rate)]
  if (mean === null || nominal === null || Math.abs(mean - nominal) > nominal / 200) return null
  return r_frame_rate!
}

function toStartTimecode(parts: readonly { tags?: Record<string, string> }[]): string | null {
  const given = parts.map(({ tags }) => tags?.timecode).find((timecode) => timecode !== undefined)
  return given !== undefined && /^\d{2}:\d{2}:\d{2}[:;.]\d{2,3}$/.test(given) ? given : null
}

function toSeconds(text: string | undefined): number | null {
  const seconds = Number(text)
  return text !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}

function toTitle(text: string | undefined): string | null {
  const title = (text ?? '')
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, 300)
  return title === '' ? null : title
}
