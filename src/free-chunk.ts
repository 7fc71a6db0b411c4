/**
 * Frees the memory of a chunk now. Do not read the chunk afterwards. V8 counts chunks of bodies as memory outside its
 * heap. Each 32 MB of them start a full collection: 10 to 30 ms in which nothing else runs.
 */
export function freeChunk(chunk: Buffer): void {
  // A part of a larger buffer is not freed alone. Node 20 has no `transfer`.
  if (chunk.byteLength === chunk.buffer.byteLength) (chunk.buffer as Partial<Transferable>).transfer?.(0)
}

interface Transferable {
  transfer(bytes: number): ArrayBuffer
}
