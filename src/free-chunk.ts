/**
 * Gives the memory of a chunk back at once. Nobody may read it afterwards. Left to V8, chunks of bodies count as memory
 * outside its heap, and each 32 MB of them start a full collection: 10 to 30 ms in which nothing else runs.
 */
export function freeChunk(chunk: Buffer): void {
  // A part of a larger buffer is not freed alone. Node 20 has no `transfer`.
  if (chunk.byteLength === chunk.buffer.byteLength) (chunk.buffer as Partial<Transferable>).transfer?.(0)
}

interface Transferable {
  transfer(bytes: number): ArrayBuffer
}
