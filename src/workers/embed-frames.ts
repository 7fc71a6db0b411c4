import type { Db } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import { openLedger, type SpendingRules } from '../library/annotator/vision-spending.ts'
import { findTextsToEmbed, recordVectors } from '../library/frames/vectors.ts'
import { type Embedder, EmbedderUnavailable, TextRefused } from '../meaning/embedder.ts'
import { affectedBy, SEARCH_EVENTS } from '../projections/search/affected.ts'
import { toBytes } from '../search/vectors.ts'
import { AnnotatorUnavailable } from '../vision/annotator.ts'

const TEXTS_AT_ONCE = 16
/** An endpoint that refuses this too refuses more than a text. */
const PLAIN_TEXT = 'A frame of a video'

/** The consumer that makes the vectors of a space. That of a new space reads the log from its beginning. */
export const consumerOf = (space: string) => `meaning ${space}`

export interface EmbeddingDeps {
  db: Db
  embedder: Embedder
  /** US dollars that all calls of models may cost in 24 hours. */
  budgetPerDay?: number | undefined
}

/** Gives every described frame a vector, and a new one where its texts have changed. */
export function embeddingConsumer({ db, embedder, budgetPerDay }: EmbeddingDeps): Consumer {
  const { space, price } = embedder
  const model = space.replace(/@\d+$/, '')
  const rules: SpendingRules = { model, priceIn: price, priceOut: 0, budgetPerDay, budgetPerVideo: undefined }

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const started = performance.now()
    const reserved = price === undefined ? undefined : await openLedger(db, rules, 'texts').reserve(texts.length)
    try {
      const { vectors, tokens } = await embedder.embed(texts, signal)
      await reserved?.settle({
        ...{ model, frameIds: [], inputTokens: tokens, cachedTokens: null, outputTokens: 0, outcome: 'ok' },
        costUsd: tokens === null && price !== 0 ? null : ((tokens ?? 0) * price!) / 1e6,
        durationMs: performance.now() - started,
      })
      return vectors
    } catch (error) {
      // What came late or was no vector may be charged: only a refusal, or no connection, surely is not.
      const { cause } = error as Error
      const isOwn = error instanceof EmbedderUnavailable || error instanceof TextRefused
      const isFree = isOwn && cause instanceof Error && cause.name !== 'TimeoutError'
      if (isFree) await reserved?.release()
      throw error
    }
  }

  /** The vector of each text, or why it is refused. */
  async function embedEach(texts: readonly string[], signal: AbortSignal): Promise<(Float32Array | string)[]> {
    try {
      return await embed(texts, signal)
    } catch (error) {
      if (!(error instanceof TextRefused)) throw error
      const half = Math.ceil(texts.length / 2)
      if (texts.length > 1)
        return [...(await embedEach(texts.slice(0, half), signal)), ...(await embedEach(texts.slice(half), signal))]
      await embed([PLAIN_TEXT], signal)
      // One that only stumbled answers the second time.
      return embed(texts, signal).catch((again: unknown) => {
        if (!(again instanceof TextRefused)) throw again
        return [again.message]
      })
    }
  }

  return {
    name: consumerOf(space),
    types: SEARCH_EVENTS.filter((type) => type !== 'frames.embedded'),
    // The vectors of a whole film are made before the next events are read.
    batchSize: 20,
    async handle(events, signal) {
      const found = await findTextsToEmbed(db, space, await affectedBy(db, events))
      for (let from = 0; from < found.length; from += TEXTS_AT_ONCE) {
        signal.throwIfAborted()
        const some = found.slice(from, from + TEXTS_AT_ONCE)
        const texts = some.map(({ text }) => text).filter((text) => text !== '')
        const vectors = texts.length > 0 ? await embedEach(texts, signal) : []
        const made = some.map(({ id, hash, text }) => {
          const vector = text === '' ? undefined : vectors.shift()
          return typeof vector === 'string'
            ? { id, hash, refused: vector }
            : { id, hash, q8: vector && toBytes(vector) }
        })
        await recordVectors(db, space, made)
      }
      return undefined
    },
    outageOf: (error) =>
      [EmbedderUnavailable, TextRefused, AnnotatorUnavailable].some((kind) => error instanceof kind)
        ? 'the text model'
        : undefined,
  }
}
