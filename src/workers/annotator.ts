import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Annotator } from '../vision/annotator.ts'
import { openMeasuringAnnotator } from '../vision/measured/measuring-annotator.ts'

export interface ConfiguredAnnotator {
  annotator: Annotator
  /** The part of it that costs nothing; absent where that is all there is. */
  withoutModel?: Annotator
}

/** The annotator this installation has: the measuring one always, the configured model over it. */
export async function openConfiguredAnnotator(_: { config: Config; db: Db; redis: Redis; prefix: string }): Promise<ConfiguredAnnotator> {
  return { annotator: await openMeasuringAnnotator({}) }
}
