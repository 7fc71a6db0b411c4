import { createInterface } from 'node:readline'
import type { BeatMeasure, FilmPicture, SoundMeasure } from '../../vocabulary.ts'
import { ended, inputOptions, startLimited } from '../programs.ts'
import { BEAT_RATE, createBeatMeter, cutsOnBeats, NO_BEAT } from './beats.ts'
import type { DecodeOptions } from './decode.ts'
import type { Probe } from './probe.ts'

export type FilmSound = Pick<FilmPicture, 'noSound'> & {
  measures: Record<SoundMeasure | BeatMeasure, number | null>
}

const NONE = { loudness: null, loudness_range: null, true_peak: null, silence_share: null, ...NO_BEAT } as const

/** The lines of the summary that `ebur128` prints at its end. */
const SUMMARY = {
  loudness: /^\s+I:\s+(-?[\d.]+) LUFS/,
  loudness_range: /^\s+LRA:\s+(-?[\d.]+) LU/,
  true_peak: /^\s+Peak:\s+(-?[\d.]+) dBFS/,
} as const
const SILENCE = /silence_duration: ([\d.]+)/
/** What the meter reads for sound in which nothing is above its gate (ITU-R BS.1770). */
const GATE_LUFS = -70
/** A cut that is no farther from a beat is on it. */
const NEAR_FRAMES = 2

/** Loudness and silence by one branch, samples by another: from the film's beginning, also where the sound is late. */
const GRAPH = [
  '[0:a:0]asplit=2[one][other]',
  '[one]ebur128=peak=true:framelog=verbose,silencedetect=n=-50dB:d=0.5[loud]',
  `[other]aresample=${BEAT_RATE}:async=1:first_pts=0,aformat=sample_fmts=s16:channel_layouts=mono[beat]`,
].join(';')

/**
 * Measures the loudness of the first sound track by EBU R 128, its silence (half of a second or more below -50 dB), and
 * its beat beside the `cuts`, which are in seconds.
 *
 * A film without sound, and one whose sound this ffmpeg cannot read, has none, with the reason: the video is not to
 * blame. @throws the signal's reason when aborted
 */
export async function measureSound(
  options: DecodeOptions,
  probe: Probe,
  { durationSec, cuts }: { durationSec: number; cuts: readonly number[] },
): Promise<FilmSound> {
  if (!probe.hasSound) return { measures: NONE, noSound: 'The film has no sound.' }
  const { file, signal, limits, ffmpegPath = 'ffmpeg' } = options
  const child = startLimited(
    ffmpegPath,
    [
      ...['-v', 'info', '-hide_banner', '-nostats', '-nostdin', '-threads', '1', '-t', String(limits.maxDurationSec)],
      ...[...inputOptions(file), '-vn', '-sn', '-dn', '-filter_complex_threads', '1', '-filter_complex', GRAPH],
      ...['-map', '[loud]', '-f', 'null', '-', '-map', '[beat]', '-f', 's16le', 'pipe:1'],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], memoryKb: 1_500_000, cpuSec: Math.max(60, durationSec) },
  )
  const end = ended(child, { signal })
  const found: FilmSound['measures'] = { ...NONE }
  const meter = createBeatMeter()
  child.stdout!.on('data', meter.add)
  let silentSec = 0
  for await (const line of createInterface({ input: child.stderr! })) {
    silentSec += Number(SILENCE.exec(line)?.[1] ?? 0)
    for (const [name, pattern] of Object.entries(SUMMARY)) {
      const value = pattern.exec(line)?.[1]
      if (value !== undefined) found[name as SoundMeasure] = Number(value)
    }
  }
  const { code } = await end
  signal.throwIfAborted()
  if (code !== 0 || found.loudness === null)
    return { measures: NONE, noSound: 'The sound could not be read by the ffmpeg of this service.' }
  const silence_share = Math.min(1, round(silentSec / Math.max(0.001, durationSec)))
  if (found.loudness <= GATE_LUFS) return { measures: { ...NONE, silence_share }, noSound: 'The sound is silent.' }
  const beat = meter.beat()
  const on = beat && cutsOnBeats(cuts, beat.beats, { nearSec: NEAR_FRAMES / probe.fps, durationSec })
  const rhythm = beat && {
    ...{ tempo_bpm: beat.bpm, cuts_on_beats: on && round(on.share) },
    cuts_on_beats_by_chance: on && round(on.byChance),
  }
  return { measures: { ...found, ...rhythm, silence_share }, noSound: null }
}

const round = (value: number): number => Math.round(1000 * value) / 1000
