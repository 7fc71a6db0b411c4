const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** How long ago, in its largest whole unit: `3 min`. */
export function ageOf(time: Date | string, now = new Date()): string {
  return duration((now.getTime() - new Date(time).getTime()) / 1_000)
}

/** Seconds in their largest whole unit. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ['s', 1]
  return `${Math.max(0, Math.floor(seconds / size))} ${unit}`
}
