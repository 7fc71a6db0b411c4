/** Scores are 0–1. All words found: 0.5 and above. Some words found: below 0.5. */
export const rounded = (score: number): number => Math.round(Math.min(1, Math.max(0, Number(score))) * 1e6) / 1e6

/** Without words the order itself is the score. */
export const scoreByPlace = (n: number, of: number): number => rounded(of <= 1 ? 1 : 1 - n / of)

/** The query contains the whole name and more. It beats documents that only have some of the words. */
export const NAMED = 0.45
