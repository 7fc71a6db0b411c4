/** How pages write values, numbers and times. */

/** A map, because a slug may be the name of something that every object has. */
const WORDS = new Map([
  ['ui', 'UI'],
  ['b-roll', 'B-roll'],
  ['3d-render', '3D render'],
  ['x', 'X'],
  ['youtube', 'YouTube'],
  ['linkedin', 'LinkedIn'],
])

/** A value of a closed list or a slug, as people read it: `text-card` is "Text card". */
export function valueLabel(value: string): string {
  return capitalized(WORDS.get(value) ?? value.replaceAll('-', ' '))
}

/** A name that people gave, as it is, with a capital at the start. */
export function capitalized(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}

/** A whole number from 0 with its thousands apart. The first `toLocaleString` of a process holds it for 25 ms. */
export function thousands(count: number): string {
  let text = String(count)
  for (let at = text.length - 3; at > 0; at -= 3) text = `${text.slice(0, at)},${text.slice(at)}`
  return text
}

/** "1 frame", "1,204 frames". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : many}`
}

/** Seconds as minutes and seconds. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

/** A share of one in per cent. A share that is there is never shown as 0. */
export function percent(share: number): string {
  const whole = Math.round(share * 100)
  return whole === 0 && share > 0 ? '<1 %' : `${whole} %`
}
