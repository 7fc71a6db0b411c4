/** The samples a second that a beat is sought in. One channel. */
export const BEAT_RATE = 22_050

const WINDOW = 1024
const HOP = 256
const HOPS_A_SECOND = BEAT_RATE / HOP
const BANDS = 40
/** What is below -60 dB of full scale is no sound. */
const FLOOR = 1e-6
/** Where in its window a sound begins as its change is the greatest, in samples. */
const ONSET_AT = 920
/** The tempo that is likeliest, and the ends of what is sought. Beats a minute. */
const USUAL_BPM = 120
const SLOWEST_BPM = 40
const FASTEST_BPM = 240
/** Below this share of the onsets coming again after one beat there is no tempo. Speech has about a fifth. */
const LEAST_STRENGTH = 0.4
const BEATS_LATER = 4
/** How strictly beats keep their distance (Ellis 2007). */
const TIGHTNESS = 100

export const NO_BEAT = { tempo_bpm: null, cuts_on_beats: null, cuts_on_beats_by_chance: null } as const

/**
 * Hears the onsets of a sound, then tells its beat. Onsets are rises of the logarithmic mel spectrum, the tempo their
 * autocorrelation, beats the best path through both.
 * Source: D. Ellis, Beat Tracking by Dynamic Programming, Journal of New Music Research 36, 2007.
 */
export function createBeatMeter() {
  const onsets: number[] = []
  const heard = new Float64Array(WINDOW)
  const bandsOf = createBands()
  let filled = 0
  let low: number | null = null
  let before: Float64Array | null = null

  function hop(): void {
    const bands = bandsOf(heard)
    if (before) onsets.push(bands.reduce((sum, level, n) => sum + Math.max(0, level - before![n]!), 0) / BANDS)
    before = bands
    heard.copyWithin(0, HOP)
    filled = WINDOW - HOP
  }

  return {
    /** Samples of 16 bits, little-endian; a piece may end within one. */
    add(bytes: Uint8Array): void {
      for (let n = 0; n < bytes.length; n++) {
        const byte = bytes[n]!
        if (low === null) low = byte
        else {
          heard[filled++] = ((byte << 24) | (low << 16)) / 2 ** 31
          low = null
          if (filled === WINDOW) hop()
        }
      }
    },
    /** The beats in seconds, rising. Null where no beat is steady enough. */
    beat(): { bpm: number; beats: number[] } | null {
      const period = periodOf(onsets)
      if (period === null) return null
      return { bpm: Math.round((600 * HOPS_A_SECOND) / period) / 10, beats: beatsOf(onsets, period) }
    },
  }
}

/** The logarithmic mel spectrum of a window. */
function createBands(): (samples: Float64Array) => Float64Array {
  const hann = Float64Array.from({ length: WINDOW }, (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / WINDOW))
  const mel = (hertz: number) => Math.log1p(hertz / 700)
  const places = Float64Array.from(
    { length: WINDOW / 2 },
    (_, bin) => ((BANDS + 1) * mel((bin * BEAT_RATE) / WINDOW)) / mel(BEAT_RATE / 2),
  )
  const transform = createTransform(WINDOW)
  const windowed = new Float64Array(WINDOW)
  return (samples) => {
    for (let n = 0; n < WINDOW; n++) windowed[n] = samples[n]! * hann[n]!
    const { real, imaginary } = transform(windowed)
    const energies = new Float64Array(BANDS + 2)
    for (let bin = 1; bin < WINDOW / 2; bin++) {
      const energy = (4 / WINDOW) ** 2 * (real[bin]! * real[bin]! + imaginary[bin]! * imaginary[bin]!)
      const band = Math.floor(places[bin]!)
      const part = places[bin]! - band
      energies[band]! += energy * (1 - part)
      energies[band + 1]! += energy * part
    }
    return energies.subarray(1, BANDS + 1).map((energy) => Math.log(FLOOR + energy))
  }
}

/** The discrete Fourier transform of real samples, as many as a power of two (Cooley and Tukey, radix 2). */
function createTransform(size: number): (samples: Float64Array) => { real: Float64Array; imaginary: Float64Array } {
  const cosine = Float64Array.from({ length: size / 2 }, (_, n) => Math.cos((2 * Math.PI * n) / size))
  const sine = Float64Array.from({ length: size / 2 }, (_, n) => Math.sin((2 * Math.PI * n) / size))
  const reversed = new Uint32Array(size)
  for (let n = 1; n < size; n++) reversed[n] = (reversed[n >> 1]! >> 1) | (n & 1 ? size >> 1 : 0)
  const real = new Float64Array(size)
  const imaginary = new Float64Array(size)
  return (samples) => {
    for (let n = 0; n < size; n++) real[n] = samples[reversed[n]!]!
    imaginary.fill(0)
    for (let half = 1, step = size >> 1; half < size; half *= 2, step >>= 1)
      for (let start = 0; start < size; start += 2 * half)
        for (let n = start, turn = 0; n < start + half; n++, turn += step) {
          const far = n + half
          const re = real[far]! * cosine[turn]! + imaginary[far]! * sine[turn]!
          const im = imaginary[far]! * cosine[turn]! - real[far]! * sine[turn]!
          real[far] = real[n]! - re
          imaginary[far] = imaginary[n]! - im
          real[n]! += re
          imaginary[n]! += im
        }
    return { real, imaginary }
  }
}

/** After how many hops the onsets come again; null where they do not. */
function periodOf(onsets: readonly number[]): number | null {
  const mean = onsets.reduce((sum, onset) => sum + onset, 0) / Math.max(1, onsets.length)
  const around = Float64Array.from(onsets, (onset) => onset - mean)
  const again = (lag: number) => {
    let sum = 0
    for (let n = lag; n < around.length; n++) sum += around[n]! * around[n - lag]!
    return sum
  }
  const lagOf = (bpm: number) => Math.round((60 * HOPS_A_SECOND) / bpm)
  let [best, most] = [0, 0]
  for (let lag = lagOf(FASTEST_BPM); lag <= lagOf(SLOWEST_BPM); lag++) {
    const octaves = Math.log2((60 * HOPS_A_SECOND) / lag / USUAL_BPM)
    const weight = again(lag) * Math.exp(-0.5 * octaves ** 2)
    if (weight > most) [best, most] = [lag, weight]
  }
  if (best === 0) return null
  // Two or three bangs come again once. A beat still does so four beats later, which tells its length closer, too.
  const later = BEATS_LATER * best
  let far = later
  for (let lag = later - BEATS_LATER; lag <= later + BEATS_LATER; lag++) if (again(lag) > again(far)) far = lag
  if (Math.min(again(best), again(far)) < LEAST_STRENGTH * again(0)) return null
  const [left, middle, right] = [again(far - 1), again(far), again(far + 1)]
  return (far + (left - right) / (2 * (left - 2 * middle + right))) / BEATS_LATER
}

/** The path of beats that fits the onsets and the tempo best. Seconds. */
function beatsOf(onsets: readonly number[], period: number): number[] {
  const size = Math.sqrt(onsets.reduce((sum, onset) => sum + onset ** 2, 0) / onsets.length)
  const score = Float64Array.from(onsets, (onset) => onset / size)
  const from = new Int32Array(score.length).fill(-1)
  let last = 0
  for (let n = 0; n < score.length; n++) {
    let best = 0
    for (let other = Math.max(0, n - Math.round(2 * period)); other <= n - Math.round(period / 2); other++) {
      const value = score[other]! - TIGHTNESS * Math.log((n - other) / period) ** 2
      if (value > best) [best, from[n]] = [value, other]
    }
    score[n]! += best
    if (score[n]! >= score[last]!) last = n
  }
  const path: number[] = []
  for (let n = last; n >= 0; n = from[n]!) path.push((n * HOP + ONSET_AT) / BEAT_RATE)
  return path.reverse()
}

/** Below this number of cuts, how many fall on a beat says nothing. */
export const LEAST_CUTS = 12

/**
 * The share of cuts on a beat, and what chance gives: the mean over all circular shifts of the cuts, which is the share
 * of the time that is near a beat. Null for too few cuts.
 */
export function cutsOnBeats(
  cuts: readonly number[],
  beats: readonly number[],
  { nearSec, durationSec }: { nearSec: number; durationSec: number },
): { share: number; byChance: number } | null {
  if (cuts.length < LEAST_CUTS) return null
  const hits = cuts.filter((cut) => beats.some((beat) => Math.abs(beat - cut) <= nearSec)).length
  const near = beats.reduce((sum, beat, n) => sum + Math.min(2 * nearSec, (beats[n + 1] ?? durationSec) - beat), 0)
  return { share: hits / cuts.length, byChance: Math.min(1, near / durationSec) }
}
