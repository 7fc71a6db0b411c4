import { describeChanges, describeEmpty } from './contract/changes.ts'
import type { Engine } from './contract/engine.ts'
import { describeAsked, describeKinds } from './contract/kinds.ts'
import { describePhrases } from './contract/phrases.ts'
import { describeScripts } from './contract/scripts.ts'
import { describeDuplicates, describeSimilar } from './contract/similar.ts'
import { describeNames, describeSpellings } from './contract/spellings.ts'
import { describeWall } from './contract/wall.ts'
import { describeWords } from './contract/words.ts'

/** What every engine behind `LibrarySearch` must do. Each group opens an empty engine of its own. */
export function describeContract(name: string, open: () => Promise<Engine>): void {
  describeEmpty(name, open)
  describeWords(name, open)
  describePhrases(name, open)
  describeKinds(name, open)
  describeAsked(name, open)
  describeScripts(name, open)
  describeSpellings(name, open)
  describeNames(name, open)
  describeWall(name, open)
  describeDuplicates(name, open)
  describeSimilar(name, open)
  describeChanges(name, open)
}
