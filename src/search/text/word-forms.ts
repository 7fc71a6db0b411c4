/**
 * What the forms of an English word have in common: smile of smiles, smiled and smiling. Plurals and the endings of
 * verbs as in step 1 of Porter's algorithm, and of longer words -er and -ic (present, presenter; robot, robotic). The
 * later steps of Porter join too much: organ and organisation, univers of university.
 */
export function stemOf(word: string): string {
  if (!/^[a-z]{4,}$/.test(word)) return word
  const single = singular(word)
  const verb = withoutEnding(single)
  if (verb.length >= 3 && verb !== single && /[aeiouy]/.test(verb)) return bare(undoubled(verb))
  const root = /^(.{5,})(?:er|ic)$/.exec(single)
  return bare(root ? undoubled(root[1]!) : single)
}

/** Whether two words are forms of one. */
export const sameStem = (one: string, other: string): boolean => one[0] === other[0] && stemOf(one) === stemOf(other)

/** Words that have this stem begin so. */
export const beginningOf = (stem: string): string => stem.replace(/(?<=..)i$/, '')

function singular(word: string): string {
  if (word === 'news') return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word
}

function withoutEnding(word: string): string {
  if (word.endsWith('ing')) return word.slice(0, -3)
  return word.endsWith('ed') && !word.endsWith('eed') ? word.slice(0, -2) : word
}

/** Planned as plan, but fill of filled. */
const undoubled = (root: string): string => root.replace(/([bdgmnprt])\1$/, '$1')

/** Without the last letter that forms change: smile as in smiling, story as in stories. */
function bare(word: string): string {
  if (word.length > 3 && word.endsWith('e')) return word.slice(0, -1)
  return word.length > 3 && word.endsWith('y') ? `${word.slice(0, -1)}i` : word
}
