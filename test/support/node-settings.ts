import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

/** Environment that lets a Node process of the tests start sooner: compiled code is kept between starts. */
export const NODE_SETTINGS = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/frames-tests/', root)),
}
