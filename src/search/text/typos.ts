/** Typos forgiven in a word: none under five letters or with a digit, one under nine letters, else two. */
export function typosAllowed(word: string): 0 | 1 | 2 {
  if (word.length < 5 || /\d/.test(word)) return 0
  return word.length < 9 ? 1 : 2
}

/**
 * Optimal string alignment distance: insertions, deletions, replacements, and swaps of neighbours.
 * Returns `limit + 1` as soon as the distance exceeds `limit`.
 */
export function editDistance(a: string, b: string, limit: number): number {
  // An edit changes at most two letters, so this rules out most pairs without a table.
  if (Math.abs(a.length - b.length) > limit || hasMoreThan(letterSet(a) ^ letterSet(b), 2 * limit)) return limit + 1
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
      least = Math.min(least, cost)
    }
    if (least > limit) return limit + 1
    before = previous
    previous = row
  }
  return previous[b.length]!
}

/** The letters of a word as a set of bits; letters 32 code units apart share one. */
function letterSet(word: string): number {
  let set = 0
  for (let at = 0; at < word.length; at++) set |= 1 << (word.charCodeAt(at) & 31)
  return set
}

/** Whether a set of bits has more than `most` members; quicker than counting them. */
function hasMoreThan(set: number, most: number): boolean {
  let left = set
  for (let n = 0; left !== 0; n++, left &= left - 1) if (n === most) return true
  return false
}
