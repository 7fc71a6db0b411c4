/** 95 % of a normal distribution lie within so many deviations of its mean. */
const Z = 1.96

/**
 * The range in which a share lies with 95 % confidence, by Wilson's score interval (1927). For texts, which agree in
 * part, it is a little too wide.
 */
export function wilson(agreed: number, n: number): [low: number, high: number] {
  const share = agreed / n
  const middle = (share + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n)
  const reach = (Z / (1 + Z ** 2 / n)) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2))
  return [Math.max(0, middle - reach), Math.min(1, middle + reach)]
}
