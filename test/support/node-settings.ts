import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

/** Environment that lets a Node process of the tests start in half the time: compiled code is kept between starts. */
export const NODE_SETTINGS = {
  NODE_OPTIONS: `--import=${new URL('test/support/quick-imports.mjs', root).href}`,
  NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/frames-tests/', root)),
}
