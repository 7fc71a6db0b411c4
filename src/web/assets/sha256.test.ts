import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'

test('the hash of pieces is the hash of the file, whatever their sizes', async () => {
  // A script of the pages, which TypeScript knows without a declaration.
  const { sha256 } = (await import(new URL('./sha256.js', import.meta.url).href)) as {
    sha256(): { update(piece: Uint8Array): void; digest(): string }
  }
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1_000, 200_000]) {
    const file = randomBytes(size)
    const hash = sha256()
    for (let at = 0; at < size; ) {
      const piece = 1 + Math.floor(Math.random() * 150)
      hash.update(file.subarray(at, at + piece))
      at += piece
    }
    expect(hash.digest(), `${size} bytes`).toBe(createHash('sha256').update(file).digest('hex'))
  }
})
