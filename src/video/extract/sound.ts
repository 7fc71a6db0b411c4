import { createInterface } from 'node:readline'
import type { FilmPicture, SoundMeasure } from '../../vocabulary.ts'
import { ended, inputOptions, startLimited } from '../programs.ts'
import type { DecodeOptions } from './decode.ts'
import type { Probe } from './probe.ts'

export type FilmSound = Pick<FilmPicture, 'noSound'> & {
  measures: Record<SoundMeasure, number | null>
}

const NONE = { loudness: null, silence_share: null } as const

/** A line of the summary that `ebur128` prints at its end. */
const LOUDNESS = /^\s+I:\s+(-?[\d.]+) LUFS/
const SILENCE = /silence_duration: ([\d.]+)/
/** What the meter reads for sound in which nothing is above its gate (ITU-R BS.1770). */
const GATE_LUFS = -70
/**
 * Measures the loudness of the first sound track by EBU R 128, and its silence (half of a second or more below -50 dB).
 *
 * A film without sound, and one whose sound this ffmpeg cannot read, has none, with the reason: the video is not to
 * blame. @throws the signal's reason when aborted
 */
export async function measureSound(options: DecodeOptions, probe: Probe, durationSec: number): Promise<FilmSound> {
  if (!probe.hasSound) return { measures: NONE, noSound: 'The film has no sound.' }
  const { file, signal, limits, ffmpegPath = 'ffmpeg' } = options
  const child = startLimited(
    ffmpegPath,
    [
      ...['-v', 'info', '-hide_banner', '-nostats', '-nostdin', '-threads', '1', '-t', String(limits.maxDurationSec)],
      ...[...inputOptions(file), '-vn', '-sn', '-dn', '-map', '0:a:0', '-filter_threads', '1'],
      ...['-af', 'ebur128=framelog=verbose,silencedetect=n=-50dB:d=0.5', '-f', 'null', '-'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], memoryKb: 1_500_000, cpuSec: Math.max(60, durationSec) },
  )
  const end = ended(child, { signal })
  let loudness: number | null = null
  let silentSec = 0
  for await (const line of createInterface({ input: child.stderr! })) {
    silentSec += Number(SILENCE.exec(line)?.[1] ?? 0)
    const value = LOUDNESS.exec(line)?.[1]
    if (value !== undefined) loudness = Number(value)
  }
  const { code } = await end
  signal.throwIfAborted()
  if (code !== 0 || loudness === null)
    return { measures: NONE, noSound: 'The sound could not be read by the ffmpeg of this service.' }
  const silence_share = Math.min(1, round(silentSec / Math.max(0.001, durationSec)))
  if (loudness <= GATE_LUFS) return { measures: { ...NONE, silence_share }, noSound: 'The sound is silent.' }
  return { measures: { loudness, silence_share }, noSound: null }
}

const round = (value: number): number => Math.round(1000 * value) / 1000
