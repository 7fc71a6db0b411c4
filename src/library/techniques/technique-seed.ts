import type { TechniqueTerm } from '../../vision/annotator.ts'
import terms from './techniques.json' with { type: 'json' }

/** The vocabulary of a new library: moves of launch and product films. Operators add, rename, merge and retire them. */
export const TECHNIQUE_SEED: readonly TechniqueTerm[] = Object.entries(terms).map(([slug, { aliases, ...term }]) => ({
  slug,
  ...term,
  aliases: aliases.split(', '),
}))
