// Hashes a file in pieces beside the page, and says how far it is. Web Crypto takes whole messages only, and a video
// may be larger than the memory.
import { createSHA256 } from './hash-wasm.js'

const PIECE = 4 * 1024 * 1024

addEventListener('message', async ({ data }) => {
  const file = /** @type {File} */ (data)
  try {
    const hash = await createSHA256()
    for (let at = 0; at < file.size; at += PIECE) {
      hash.update(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()))
      postMessage({ done: Math.min(1, (at + PIECE) / file.size) })
    }
    postMessage({ sha256: hash.digest() })
  } catch {
    postMessage({ error: 'The file cannot be read.' })
  }
})
