import { editDistance } from '../search/text/typos.ts'

const MOST = 3
const NEAR = 2

/** The names that a mistyped one was probably meant for: those that it begins, else the nearest by letters. */
export function similarNames(given: string, names: readonly string[]): string[] {
  const typed = given.toLowerCase()
  const begun = names.filter((name) => name.startsWith(typed))
  if (typed.length >= 2 && begun.length > 0) return begun.slice(0, MOST)
  const measured = names.map((name) => ({ name, distance: editDistance(typed, name, NEAR) }))
  const least = Math.min(...measured.map(({ distance }) => distance))
  if (least > NEAR || least >= typed.length) return []
  return measured
    .filter(({ distance }) => distance === least)
    .map(({ name }) => name)
    .slice(0, MOST)
}
