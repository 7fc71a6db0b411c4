import { SEED_WORDS } from './library.ts'

/*
 * Questions to a seeded library, another for each `n`, so that nothing comes from memory.
 */

const { adjectives, things, screen } = SEED_WORDS
const at = <T>(list: readonly T[], n: number): T => list[Math.floor(n) % list.length]!

export const twoWords = (n: number): string => `${at(adjectives, n)} ${at(things, n / adjectives.length)}`

/** No frame has all three often, and many have two of them. */
export const threeWords = (n: number): string =>
  `${twoWords(n)} ${at(screen, n / adjectives.length / things.length + n)}`

/** Words that no frame has, without digits: they might be typing mistakes. */
export const unheardOf = (n: number): string =>
  [2 * n, 2 * n + 1]
    .map((one) => `qz${[...String(one * 7919 + 10_000)].map((digit) => 'bdfghjkmpv'[+digit]).join('')}`)
    .join(' ')
