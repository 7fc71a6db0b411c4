import { distance, toOklab } from '../search/color.ts'

/** Colours closer than this in OKLab look like one in a row of swatches. */
const APART = 0.11

/**
 * The colours that stand for many palettes. The most frequent are chosen, none near another. They are in the order of
 * the rainbow, with greys at the end. Larger areas of a picture count more.
 */
export function colorsOf(palettes: readonly (readonly string[])[], most = 21): string[] {
  const weights = new Map<string, number>()
  for (const palette of palettes)
    palette.forEach((hex, n) => {
      weights.set(hex, (weights.get(hex) ?? 0) + 1 / (n + 1))
    })
  const chosen: { hex: string; lab: ReturnType<typeof toOklab> }[] = []
  for (const [hex] of [...weights].sort(([, a], [, b]) => b - a)) {
    if (chosen.length === most) break
    const lab = toOklab(hex)
    if (chosen.every((one) => distance(one.lab, lab) >= APART)) chosen.push({ hex, lab })
  }
  const order = ({ lab: { l, a, b } }: (typeof chosen)[number]) =>
    Math.hypot(a, b) < 0.03 ? 10 + l : Math.atan2(b, a) + (Math.atan2(b, a) < 0 ? 2 * Math.PI : 0)
  return chosen.sort((one, other) => order(one) - order(other)).map(({ hex }) => hex)
}
