/** Vectors as bytes and as bits. Pure. */

/** A byte a dimension: only directions are compared, so the scale is left out. */
export function toBytes(vector: Float32Array): Buffer {
  const most = vector.reduce((max, one) => Math.max(max, Math.abs(one)), 0)
  return Buffer.from(Int8Array.from(vector, (one) => Math.round((one * 127) / most)).buffer)
}

/** The signs of a vector, as hexadecimal text. */
export function toBits(vector: Float32Array | Int8Array): string {
  let bits = ''
  for (let at = 0; at < vector.length; at += 4) {
    let four = 0
    for (let n = 0; n < 4; n++) four = four * 2 + Number((vector[at + n] ?? 0) > 0)
    bits += four.toString(16)
  }
  return bits
}

export const toSigned = (bytes: Buffer): Int8Array => new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)

/** The cosine of the angle between two vectors: 1 where they point the same way. */
export function nearness(one: Float32Array | Int8Array, other: Float32Array | Int8Array): number {
  let [dot, a, b] = [0, 0, 0]
  for (let n = 0; n < one.length; n++) {
    const [x, y] = [one[n]!, other[n]!]
    dot += x * y
    a += x * x
    b += y * y
  }
  return a > 0 && b > 0 ? dot / Math.sqrt(a * b) : 0
}
