// SHA-256 (FIPS 180-4) of a file in pieces: Web Crypto takes whole messages only, and a video may be larger than the
// memory. About 150 MB a second, in a worker.

const K = roundConstants()

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
function roundConstants() {
  const constants = new Uint32Array(64)
  let found = 0
  for (let n = 2; found < 64; n++) {
    let prime = true
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false
    if (prime) constants[found++] = fraction(n, 1 / 3)
  }
  return constants
}

/**
 * @param {number} n
 * @param {number} power
 */
function fraction(n, power) {
  return (n ** power % 1) * 2 ** 32
}

/** Takes pieces of any size, then gives the hash as hex. */
export function sha256() {
  const state = Uint32Array.from([2, 3, 5, 7, 11, 13, 17, 19], (prime) => fraction(prime, 1 / 2))
  const words = new Uint32Array(64)
  const block = new Uint8Array(64)
  let held = 0
  let length = 0

  /**
   * @param {DataView} view
   * @param {number} at
   */
  function compress(view, at) {
    for (let n = 0; n < 16; n++) words[n] = view.getUint32(at + n * 4)
    for (let n = 16; n < 64; n++) {
      const x = words[n - 15] ?? 0
      const y = words[n - 2] ?? 0
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
      words[n] = (words[n - 16] ?? 0) + s0 + (words[n - 7] ?? 0) + s1
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
    for (let n = 0; n < 64; n++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (K[n] ?? 0) + (words[n] ?? 0)) | 0
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + t1) | 0
      d = c
      c = b
      b = a
      a = (t1 + t2) | 0
    }
    for (const [n, value] of [a, b, c, d, e, f, g, h].entries()) state[n] = (state[n] ?? 0) + value
  }

  /** @param {Uint8Array} piece */
  function update(piece) {
    length += piece.length
    let at = 0
    if (held > 0) {
      at = Math.min(64 - held, piece.length)
      block.set(piece.subarray(0, at), held)
      held += at
      if (held < 64) return
      compress(new DataView(block.buffer), 0)
    }
    const view = new DataView(piece.buffer, piece.byteOffset, piece.length)
    for (; at + 64 <= piece.length; at += 64) compress(view, at)
    block.set(piece.subarray(at))
    held = piece.length - at
  }

  return {
    update,
    /** @returns {string} */
    digest() {
      const bits = new DataView(new ArrayBuffer(8))
      bits.setBigUint64(0, BigInt(length) * 8n)
      update(Uint8Array.of(0x80))
      const zeros = (120 - held) % 64
      update(new Uint8Array(zeros))
      update(new Uint8Array(bits.buffer))
      return [...state].map((word) => word.toString(16).padStart(8, '0')).join('')
    },
  }
}
