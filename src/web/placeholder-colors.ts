/**
 * The colour of a picture's place before the picture is there. Our policy allows no style attribute, so a colour is a
 * class. Each channel has six steps, as in the web-safe palette: near enough for the moment that it is seen.
 */
const STEPS = [0, 51, 102, 153, 204, 255]

/** The class for the largest colour of a palette. */
export function placeholderClass(palette: readonly string[]): string {
  const value = Number.parseInt((palette[0] ?? '#808080').slice(1), 16)
  const step = (shift: number) => Math.round(((value >> shift) & 255) / 51)
  return `p${step(16)}${step(8)}${step(0)}`
}

/** The rules of all classes. */
export function placeholderStyles(): string {
  const hex = (channel: number) => channel.toString(16).padStart(2, '0')
  const rules = STEPS.flatMap((red, r) =>
    STEPS.flatMap((green, g) =>
      STEPS.map((blue, b) => `.p${r}${g}${b}{background:#${hex(red)}${hex(green)}${hex(blue)}}`),
    ),
  )
  return `${rules.join('\n')}\n`
}
