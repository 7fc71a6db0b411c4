/** Numbers, times and others' words on one line, as models and people read them. */

/**
 * One line of about `max` Latin letters at most; characters of wide scripts count double.
 * Text from videos and models is data: no line of it may look like one of ours.
 */
export function clip(text: string, max: number): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  let weight = 0
  let end = 0
  for (const character of line) {
    weight += character.codePointAt(0)! < 0x250 ? 1 : 2
    if (weight > max) return `${line.slice(0, end).trimEnd()}…`
    end += character.length
  }
  return line
}

/** Text from videos, models and people, clipped and in double quotes. Quotes inside become apostrophes. */
export function quote(text: string, max: number): string {
  return `"${clip(text.replace(/["\u201c-\u201f\u00ab\u00bb\u2033\uff02]/g, "'"), max)}"`
}

/** Seconds as minutes and seconds, from an hour on with hours. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds)
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  return (parts[0]! > 0 ? parts : parts.slice(1))
    .map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, '0')))
    .join(':')
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** A share of one in per cent. A share that is there is never shown as 0. */
export function percent(share: number): string {
  const whole = Math.round(share * 100)
  return whole === 0 && share > 0 ? '<1 %' : `${whole} %`
}
