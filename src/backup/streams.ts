import { createHash } from 'node:crypto'
import { type Duplex, type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import type { MediaStore } from '../media/media-store.ts'
import { damaged } from './failure.ts'

/** The progress of a backup or restore. */
export interface Progress {
  step: 'tables' | 'images'
  done: number
  total: number
}

/** What a file holds, as its size and SHA-256. */
export interface Content {
  bytes: number
  sha256: string
}

export interface StoredFile extends Content {
  file: string
}

/** Passes bytes on and measures them. With `expected` the stream fails before its end if it held something else. */
export class Measure extends Transform {
  readonly #hash = createHash('sha256')
  readonly #expected: StoredFile | undefined
  #bytes = 0
  #sha256 = ''

  constructor(expected?: StoredFile) {
    super()
    this.#expected = expected
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.#bytes += chunk.length
    this.#hash.update(chunk)
    done(null, chunk)
  }

  override _flush(done: (error?: Error) => void): void {
    this.#sha256 = this.#hash.digest('hex')
    const { file, bytes, sha256 } = this.#expected ?? { file: '', ...this.content }
    const isSame = bytes === this.#bytes && sha256 === this.#sha256
    done(isSame ? undefined : damaged(`${file} has another checksum`))
  }

  /** What passed, once the stream has ended. */
  get content(): Content {
    return { bytes: this.#bytes, sha256: this.#sha256 }
  }
}

/** Stores a stream; `expected` is what it must hold, or nothing is stored. Resolves with what it held. */
export async function putStream(
  store: MediaStore,
  key: string,
  body: readonly [Readable, ...Duplex[]],
  { type, expected }: { type: string; expected?: StoredFile | undefined },
): Promise<Content> {
  const measure = new Measure(expected)
  const stored = store.put(key, measure, type).catch((error: unknown) => {
    measure.destroy(error as Error)
    throw error
  })
  const results = await Promise.allSettled([stored, pipeline([...body, measure])])
  // The store's own error says more than the error of the stream that it ended.
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  return measure.content
}

/** Stores a stream compressed. Resolves with the size and checksum of what is stored. */
export async function putCompressed(place: MediaStore, file: string, body: Readable): Promise<StoredFile> {
  return { file, ...(await putStream(place, file, [body, createZstdCompress()], { type: 'application/zstd' })) }
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
