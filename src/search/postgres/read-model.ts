import type { Expand } from './candidates.ts'
import type { CommonWords } from './common-words.ts'
import type { Executor } from './tables.ts'

/** What a search reads from. */
export interface ReadModel {
  /** Plans each statement for its values. */
  db: Executor
  /** Plans each statement once, for any values: for words that are in few frames. */
  kept: Executor
  commonWords: CommonWords
  expand: Expand
}
