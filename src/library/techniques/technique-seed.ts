import type { TechniqueTerm } from '../../vision/annotator.ts'
import { OBJECTS_AND_CUTS } from './seed/objects-and-cuts.ts'
import { SCREENS_AND_DIAGRAMS } from './seed/screens-and-diagrams.ts'
import { WORDS_AND_PEOPLE } from './seed/words-and-people.ts'

/** The vocabulary of a new library: moves of launch and product films. Operators add, rename, merge and retire them. */
export const TECHNIQUE_SEED: readonly TechniqueTerm[] = [
  ...WORDS_AND_PEOPLE,
  ...SCREENS_AND_DIAGRAMS,
  ...OBJECTS_AND_CUTS,
]
