// Hashes a file beside the page, and says how far it is.
import { sha256 } from './sha256.js'

const PIECE = 4 * 1024 * 1024

addEventListener('message', async ({ data }) => {
  const file = /** @type {File} */ (data)
  const hash = sha256()
  try {
    for (let at = 0; at < file.size; at += PIECE) {
      hash.update(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()))
      postMessage({ done: Math.min(1, (at + PIECE) / file.size) })
    }
    postMessage({ sha256: hash.digest() })
  } catch {
    postMessage({ error: 'The file cannot be read.' })
  }
})
