import { rmSync } from 'node:fs'
import { type LocalRedis, startLocalRedis } from '../../src/local/redis.ts'
import { openEnding } from './ending.ts'

/** Starts Redis in a temporary folder. A signal that ends the bench stops it and removes the folder. */
export async function startTemporaryRedis(options: { dir: string; persistent?: boolean }): Promise<LocalRedis> {
  const ending = openEnding()
  ending.defer(() => rmSync(options.dir, { recursive: true, force: true }))
  const redis = await ending.use(startLocalRedis(options), (started) => started.stop())
  return { ...redis, stop: () => ending.leave() }
}
