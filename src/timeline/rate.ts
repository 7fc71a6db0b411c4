/** An exact frame rate: `30000/1001`, not 29.97. */
export interface Rate {
  num: number
  den: number
}

/** A frame number as `HH:MM:SS:FF` is read and written: at its rate, with or without dropped labels. */
interface Counting {
  rate: Rate
  drop: boolean
}

const WHOLE_RATES = [10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 90, 100, 120]
/** The rates that broadcast in NTSC countries divides by 1.001. */
const DIVIDED_RATES = [24, 30, 48, 60, 120]

/** The usual rate that is nearest: that of a rounded one, and of a file whose own rate varies. */
export function toRate(fps: number): Rate {
  const known = [
    ...WHOLE_RATES.map((num) => ({ num, den: 1 })),
    ...DIVIDED_RATES.map((base) => ({ num: base * 1000, den: 1001 })),
  ]
  const distance = ({ num, den }: Rate) => Math.abs(num / den - fps)
  return known.reduce((best, each) => (distance(each) < distance(best) ? each : best))
}

/** The frame that is shown at a time. Lengths are differences of frame numbers, so that they never drift. */
export function toFrame(ms: number, { num, den }: Rate): number {
  return Math.round((ms * num) / (1000 * den))
}

export function sameRate(one: Rate, other: Rate): boolean {
  return one.num * other.den === other.num * one.den
}

/** Frame labels a second: 30 for 29.97. */
export function timebase({ num, den }: Rate): number {
  return Math.round(num / den)
}

/** Labels that drop-frame counting leaves out a minute: 2 at 29.97, 4 at 59.94, none elsewhere (SMPTE ST 12-1). */
function droppedLabels(rate: Rate): number {
  return rate.den === 1001 && timebase(rate) % 30 === 0 ? timebase(rate) / 15 : 0
}

export function canDrop(rate: Rate): boolean {
  return droppedLabels(rate) > 0
}

/** Frames of a day of labels. A timeline that is longer has no label for its end. */
export function framesOfADay({ rate, drop }: Counting): number {
  const dropped = drop ? droppedLabels(rate) : 0
  return timebase(rate) * 86_400 - dropped * (24 * 60 - 24 * 6)
}

/** `HH:MM:SS:FF`, with `;` before the frames where labels are dropped. */
export function toTimecode(frame: number, { rate, drop }: Counting): string {
  const base = timebase(rate)
  let label = frame % framesOfADay({ rate, drop })
  if (drop) {
    const dropped = droppedLabels(rate)
    const tenMinutes = 600 * base - 9 * dropped
    const minute = 60 * base - dropped
    const rest = label % tenMinutes
    const within = rest < 60 * base ? 0 : Math.floor((rest - dropped) / minute)
    label += dropped * (9 * Math.floor(label / tenMinutes) + within)
  }
  const two = (number: number) => String(Math.floor(number)).padStart(2, '0')
  const seconds = label / base
  const clock = `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`
  return `${clock}${drop ? ';' : ':'}${two(label % base)}`
}

/** The form of a timecode. `;` or `.` before the frames asks for dropped labels. */
export const TIMECODE = /^(\d{2}):([0-5]\d):([0-5]\d)([:;.])(\d{2,3})$/

/**
 * Reads a timecode at a rate.
 * @returns undefined for what is no timecode, or none at this rate: a label that drop-frame counting leaves out,
 * frames beyond the rate, dropped labels at a rate without them
 */
export function parseTimecode(text: string, rate: Rate): { frame: number; drop: boolean } | undefined {
  const match = TIMECODE.exec(text)
  if (!match) return undefined
  const [hours, minutes, seconds, frames] = [match[1], match[2], match[3], match[5]].map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const drop = match[4] !== ':'
  const base = timebase(rate)
  const dropped = droppedLabels(rate)
  if (hours > 23 || frames >= base || (drop && dropped === 0)) return undefined
  if (drop && seconds === 0 && minutes % 10 !== 0 && frames < dropped) return undefined
  const minutesInAll = hours * 60 + minutes
  const label = (minutesInAll * 60 + seconds) * base + frames
  return { frame: drop ? label - dropped * (minutesInAll - Math.floor(minutesInAll / 10)) : label, drop }
}
