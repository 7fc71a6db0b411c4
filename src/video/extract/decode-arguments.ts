import { execFile } from 'node:child_process'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { inputOptions } from '../programs.ts'
import { PICTURE_HEIGHT, PICTURE_WIDTH } from '../shots/features.ts'
import type { Probe } from './probe.ts'

const run = promisify(execFile)

const IMAGE_WIDTH = 1280
const ONE_THREAD_PIXELS = 1920 * 1088

interface PictureSize {
  width: number
  height: number
}

/** The size of the kept pictures: even sides, at most 1280 wide. */
export function toImageSize({ width, height }: PictureSize): PictureSize {
  const scale = Math.min(1, IMAGE_WIDTH / width)
  return {
    width: Math.max(2, Math.round((width * scale) / 2) * 2),
    height: Math.max(2, Math.round((height * scale) / 2) * 2),
  }
}

/**
 * Filters that bring a high dynamic range to BT.709 and the usual range. Without them its pictures are grey and pale.
 * Diffuse white lies at 203 cd/m² (ITU-R BT.2408). Nothing changes up to seven tenths of it; brighter values are
 * compressed so that 1,000 cd/m² become white. Empty where the video or this ffmpeg (Debian's can) does not allow it.
 *
 * Wide primaries in the usual range (Display P3 of phones and screens) become those of BT.709. Without that, colours
 * are pale.
 */
export async function toneMapFilters(
  ffmpeg: string,
  { hdrTransfer: transfer, widePrimaries, colorSpace }: Pick<Probe, 'hdrTransfer' | 'widePrimaries' | 'colorSpace'>,
): Promise<string> {
  if (transfer === null && widePrimaries === null) return ''
  if (!(await canToneMap(ffmpeg))) return ''
  if (transfer === null) {
    const matrix = colorSpace ?? 'bt709'
    // A screen decodes both with its own curve, which is near sRGB's.
    const curve = 'tin=iec61966-2-1:t=iec61966-2-1'
    // Pictures that are stored as RGB are rare, and stay as they are.
    return matrix === 'gbr' ? '' : `,zscale=${curve}:min=${matrix}:m=bt709:pin=${widePrimaries}:p=bt709:rin=tv:r=tv`
  }
  return [
    `,zscale=tin=${transfer}:min=bt2020nc:pin=bt2020:rin=tv:t=linear:p=bt2020:m=gbr:npl=203`,
    'format=gbrpf32le',
    'zscale=tin=linear:min=gbr:pin=bt2020:t=linear:m=gbr:p=bt709',
    'tonemap=mobius:param=0.7:peak=5:desat=0',
    'zscale=tin=linear:min=gbr:pin=bt709:t=bt709:m=bt709:p=bt709:r=tv',
  ].join(',')
}

async function canToneMap(ffmpeg: string): Promise<boolean> {
  const listing = run(ffmpeg, ['-v', 'error', '-hide_banner', '-filters'], { maxBuffer: 4_000_000, timeout: 20_000 })
  // If ffmpeg cannot start, the decoding itself reports it.
  const { stdout } = await listing.catch(() => ({ stdout: '' }))
  return / zscale /.test(stdout) && / tonemap /.test(stdout)
}

/** ffmpeg's arguments: small frames go to pipe 1, full-size pictures to pipe 3, the stamps to pipe 4. */
export function decodeArguments(
  file: string,
  probe: Probe,
  { size, maxDurationSec, toneMap }: { size: PictureSize; maxDurationSec: number; toneMap: string },
): string[] {
  // With an explicit range, the scaler copies even pictures that need no conversion.
  const range = probe.plainPixels ? '' : ':out_range=tv'
  const toSmall = `scale=${PICTURE_WIDTH}:${PICTURE_HEIGHT}:flags=fast_bilinear${range}${toneMap}`
  const toFull = `scale=${size.width}:${size.height}:flags=bicubic${range}${toneMap}`
  const graph = [
    // Microseconds throughout: the printed seconds have six digits, too few for a long video.
    `[0:${probe.streamIndex}]settb=1/1000000,split=2[a][b]`,
    `[a]${toSmall},format=yuv444p,${STAMP_FILTERS}[small]`,
    `[b]${STILL_FILTER},${toFull},format=yuv420p[full]`,
  ].join(';')
  const raw = ['-fps_mode', 'passthrough', '-f', 'rawvideo']
  // A second thread costs a tenth more CPU, and as many of these processes run as there are cores. Larger pictures get
  // one, because they would otherwise come close to their time limit.
  const threads = probe.width * probe.height > ONE_THREAD_PIXELS ? 2 : 1
  return [
    ...['-v', 'error', '-hide_banner', '-nostdin'],
    ...['-threads', String(threads), '-filter_complex_threads', '1', '-t', String(maxDurationSec + 5)],
    ...inputOptions(file),
    ...['-filter_complex', graph, '-map', '[small]', ...raw, 'pipe:1', '-map', '[full]', ...raw, 'pipe:3'],
  ]
}

/**
 * The least distance between two full-size pictures, microseconds. At every usual rate it is at most 133 ms of frames,
 * so that a state of an eighth of a second is seen.
 */
const STILL_SPACING_US = 99_000

/** Selects the full-size pictures in ffmpeg by the rule of `readStamps`. Half a microsecond avoids rounding errors. */
const STILL_FILTER = `select='isnan(prev_selected_t)+gte(t-prev_selected_t,${(STILL_SPACING_US - 0.5) / 1e6})'`

/**
 * Prints each frame's stamp next to some padding. ffmpeg flushes printed text every 32 KiB. Without the padding that is
 * every 700 frames, which is too late. With it that is about every 40 frames. `direct=1` would flush at once, but its
 * two system calls for every frame cost more than the scaling.
 */
const STAMP_FILTERS = [
  ...['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `metadata=mode=add:key=${key}:value=${'-'.repeat(120)}`),
  "metadata=mode=print:file='pipe\\:4'",
].join(',')

export interface Stamp {
  tMs: number
  /** Whether this frame also comes at full size. */
  isStill: boolean
}

export function readStamps(stamps: Readable, fps: number, take: (stamp: Stamp) => void): void {
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
      // A frame without a stamp, or with one that goes back, follows the last by one step: times always rise.
      const tMs = Number.isNaN(us) || us / 1000 <= lastMs ? Math.max(0, lastMs + 1000 / fps) : us / 1000
      lastMs = tMs
      take({ tMs, isStill })
    }
  })
}
