import { createHash } from 'node:crypto'
import { PassThrough, type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { MediaStore } from '../media/media-store.ts'

/** The progress of a backup or restore. */
export interface Progress {
  step: 'tables' | 'images'
  done: number
  total: number
}

/** Passes bytes on, and knows their number and SHA-256 at the end. */
export class Measure extends Transform {
  bytes = 0
  readonly #hash = createHash('sha256')

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length
    this.#hash.update(chunk)
    done(null, chunk)
  }

  sha256(): string {
    return this.#hash.digest('hex')
  }
}

/** Stores a stream compressed. Resolves with the size and checksum of what is stored. */
export async function putCompressed(
  place: MediaStore,
  file: string,
  body: Readable,
): Promise<{ file: string; bytes: number; sha256: string }> {
  const measure = new Measure()
  const out = new PassThrough()
  const stored = place.put(file, out, 'application/zstd').catch((error: unknown) => {
    out.destroy(error as Error)
    throw error
  })
  const results = await Promise.allSettled([stored, pipeline(body, createZstdCompress(), measure, out)])
  // The store's own error says more than the error of the stream that it ended.
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  return { file, bytes: measure.bytes, sha256: measure.sha256() }
}

/** The content of a compressed file, and the size and checksum of what was read once it ended. */
export function decompress(body: Readable): { content: Readable; measure: Measure; done: Promise<void> } {
  const measure = new Measure()
  const content = new PassThrough()
  const done = pipeline(body, measure, createZstdDecompress(), content)
  done.catch(() => undefined)
  return { content, measure, done }
}

/** The lines of a text, without their ends. */
export async function* linesOf(content: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of content.setEncoding('utf8')) {
    const lines = (rest + (chunk as string)).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}
