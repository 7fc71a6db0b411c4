import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

/** Many tests wait for another process: one worker more than there are cores keeps the machine busy. */
export const MAX_WORKERS = Math.min(availableParallelism() + 1, 5)

/** Environment of a Node process of the tests. Compiled code is kept between starts; the text model is not needed. */
export const NODE_SETTINGS = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/frames-tests/', root)),
  EMBED: 'off',
}
