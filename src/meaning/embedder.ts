import { AppError } from '../errors.ts'

/** Turns texts into vectors: texts that mean about the same have vectors that point about the same way. */
export interface Embedder {
  /** Model and number of dimensions. Vectors of two spaces cannot be compared. */
  readonly space: string
  /** It knows no other language. */
  readonly isEnglishOnly: boolean
  /** US dollars per million tokens; undefined: it costs nothing, or that is not known. */
  readonly price?: number | undefined
  /** One vector of full length for each text, and the tokens as counted. @throws EmbedderUnavailable */
  embed(texts: readonly string[], signal: AbortSignal): Promise<{ vectors: Float32Array[]; tokens: number | null }>
  [Symbol.asyncDispose](): Promise<void>
}

/** No text gets a vector now. The message says what to do. */
export class EmbedderUnavailable extends Error {}
/** One of these texts is refused: the mistake of who asked, and no failure of the model. */
export class TextRefused extends AppError {
  constructor(message: string, cause?: unknown) {
    super('invalid_request', message, { cause })
  }
}

/** @throws EmbedderUnavailable for what is no list of vectors of this length, TextRefused for one without direction */
export function checkVectors(given: unknown, { texts, dimensions }: { texts: number; dimensions: number }) {
  if (!Array.isArray(given) || given.length !== texts)
    throw new EmbedderUnavailable(`The text model answered ${texts} texts with another number of vectors.`)
  return given.map((numbers: unknown) => {
    if (!Array.isArray(numbers))
      throw new EmbedderUnavailable('The text model sends no lists of numbers: it must honour encoding_format "float".')
    if (numbers.length !== dimensions)
      throw new EmbedderUnavailable(
        `The text model sends vectors of ${numbers.length} numbers, not ${dimensions}. Set EMBED_DIMENSIONS.`,
      )
    const vector = Float32Array.from(numbers as number[])
    const isDirection = vector.every(Number.isFinite) && vector.some((one) => one !== 0)
    if (!isDirection || !numbers.every(Number.isFinite))
      throw new TextRefused('The text model sends vectors without a direction.')
    return vector
  })
}
