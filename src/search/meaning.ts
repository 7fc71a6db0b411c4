import { LRUCache } from 'lru-cache'
import { invalid } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { openBreaker } from './breaker.ts'
import {
  type FrameFilters,
  type FrameHit,
  type FramePage,
  type FrameQuery,
  type MeaningSaid,
  MOST_CLOSE,
  type ReadAs,
  type SearchGroups,
} from './library-search.ts'
import { isSamePicture } from './likeness.ts'
import { STANDS_OUT } from './postgres/close.ts'
import type { ReadModelSearch } from './postgres/search.ts'
import type { Read } from './query.ts'
import { type Question, readQuestion } from './text/question.ts'
import { tokenize } from './text/tokens.ts'
import { ENGLISH, OTHER_LANGUAGES } from './words/words.ts'

/** Frames that mean what a question means, beside those that have its words. */

/** Makes the vector of a question. */
export interface TextModel {
  readonly space: string
  readonly isEnglishOnly: boolean
  embed(texts: readonly string[], signal: AbortSignal): Promise<{ vectors: Float32Array[] }>
}

/** Longest wait for a vector. */
const PATIENCE_MS = 300
/** A vector that is late serves the next question. After this nobody waits for it. */
const LATE_MS = 30_000
/** More questions than this do not wait for their turn. */
const MOST_WAITING = 4

/** From this score on frames follow one that stands out. */
const FOLLOWS = 0.45

export type Meaning = ReturnType<typeof openMeaning>

export function openMeaning({
  model,
  reads: { close, comparesIn },
  logger,
  patienceMs = PATIENCE_MS,
}: {
  model: TextModel
  reads: Pick<ReadModelSearch, 'close' | 'comparesIn'>
  logger: Logger
  patienceMs?: number
}) {
  const kept = new LRUCache<string, Float32Array>({ max: 1_000 })
  const coming = new Map<string, Promise<Float32Array>>()
  const ask = openBreaker({
    patienceMs,
    onLeft: (error) => logger.warn({ err: error }, 'the text model failed; words alone answer'),
    onBack: () => logger.info('the text model is back'),
  })

  /** Undefined: it did not come in time. A late one serves the next time. */
  async function vectorOf(text: string): Promise<Float32Array | undefined> {
    const known = kept.get(text)
    if (known || (!coming.has(text) && coming.size >= MOST_WAITING)) return known
    return ask(() => {
      const vector = coming.get(text) ?? make(text)
      coming.set(text, vector)
      return vector
    })
  }

  async function make(text: string): Promise<Float32Array> {
    try {
      const { vectors } = await model.embed([text], AbortSignal.timeout(LATE_MS))
      kept.set(text, vectors[0]!)
      return vectors[0]!
    } finally {
      coming.delete(text)
    }
  }

  /** The nearest frames, the best first, and whether any stands out. */
  async function find(question: Question, filters: FrameFilters): Promise<{ said: MeaningSaid; hits: FrameHit[] }> {
    const text = textOf(question)
    if (!readerOf(model)(text)) return { said: 'english only', hits: [] }
    try {
      if (!(await comparesIn(model.space))) return { said: 'not ready', hits: [] }
      const vector = await vectorOf(text)
      if (!vector) return { said: 'unavailable', hits: [] }
      const hits = await close({ space: model.space, vector }, { question, filters, limit: MOST_CLOSE })
      if (!hits) return { said: 'not ready', hits: [] }
      return { said: hits[0] && hits[0].score >= STANDS_OUT ? 'close' : 'nothing close', hits }
    } catch (error) {
      // The words have answered already.
      logger.warn({ err: error }, 'search by meaning failed; words alone answer')
      return { said: 'unavailable', hits: [] }
    }
  }

  return {
    texts: { space: model.space, canRead: readerOf(model) },
    /**
     * A short list of a search: frames with every word, then by turns those with some of the words and those that are
     * close in meaning.
     */
    async fill(question: Question, limit: number, found: SearchGroups): Promise<SearchGroups> {
      const full = found.frames.filter(({ missing }) => !missing)
      if (full.length >= limit || !isPlain(question)) return found
      const { said, hits } = await find(question, {})
      const readAs = { ...(found.readAs ?? NOT_READ), meaning: said }
      if (said !== 'close') return { ...found, readAs }
      const some = found.frames.filter(({ missing }) => missing)
      const close = hits.filter(({ score }) => score >= FOLLOWS)
      const byTurns = Array.from({ length: limit }, (_, n) => [some[n], close[n]])
      const frames = new Map<string, SearchGroups['frames'][number]>()
      for (const hit of [...full, ...byTurns.flat()])
        if (hit && !frames.has(hit.document.id)) frames.set(hit.document.id, hit)
      return { ...found, frames: [...frames.values()].slice(0, limit), readAs }
    },

    /**
     * The frames of a first page, followed by those that are close in meaning where few meet every word. By
     * `sort: meaning` the nearest alone, whether or not any stands out; words alone where there is no vector.
     */
    async add(query: Read<FrameQuery>, found: FramePage): Promise<FramePage> {
      const { question, page, pageSize, close: most = 0, filters, sort } = query
      const isAlone = sort === 'meaning'
      const vary = query.variety ? withoutSame : (list: FrameHit[]) => list
      const isFull = found.readAs?.let_go.length === 0 && found.frames.length >= pageSize
      const isAsked = isAlone || (page === 1 && most > 0 && !isFull)
      if (!question || !isAsked || !isPlain(question)) return found
      const { said, hits } = await find(question, filters)
      const told = { ...found, readAs: { ...(found.readAs ?? NOT_READ), meaning: said } }
      if (isAlone && hits.length > 0) {
        const { partialMatches, loosened, full, ...counted } = told
        return { ...counted, frames: page > 1 ? [] : vary(hits, []).slice(0, pageSize) }
      }
      if (isAlone || said !== 'close') return told
      const held = new Set(found.frames.map(({ document }) => document.id))
      const { words, met } = told.readAs
      // Of the set are those that meet as many words as the frames of the page; they stand on a later one.
      const isOfSet = ({ missing = [] }: FrameHit) => met > 0 && words.length - missing.length >= met
      const isOther = (hit: FrameHit) => hit.score >= FOLLOWS && !held.has(hit.document.id) && !isOfSet(hit)
      const others = vary(hits.filter(isOther), found.frames)
      const added = new Set(others.slice(0, most).map(({ document }) => document.id))
      return {
        ...told,
        close: others.slice(0, most),
        partialMatches: found.partialMatches?.filter(({ document }) => !added.has(document.id)),
      }
    },
  }
}

const isPlain = ({ wanted }: Question) => wanted.length > 0 && !wanted.some(({ quoted }) => quoted)

/** Whether meaning has words to compare: none that stand in quotes. */
export const hasMeaning = (q = '') => isPlain(readQuestion(q))

/** @throws AppError where `sort: meaning` has no model, or nothing that can be compared */
export function requireMeaning(meaning: Meaning | undefined, question: Question | undefined): void {
  if (!meaning) throw invalid('sort', 'sort: search by meaning is off here. Operators set EMBED to switch it on.')
  if (question && !isPlain(question))
    throw invalid('sort', 'sort: meaning needs words to look for, without quotes. Send such words, or another sort.')
}

/** Of a question none of whose words the library may have. */
const NOT_READ: ReadAs = { words: [], without: [], ignored: [], let_go: [], met: 0 }

/** Without frames that show the picture of one before them. */
function withoutSame(hits: readonly FrameHit[], before: readonly FrameHit[]): FrameHit[] {
  const kept = [...before]
  return hits.filter((hit) => {
    const isNew = !kept.some(({ document }) => isSamePicture(document, hit.document))
    if (isNew) kept.push(hit)
    return isNew
  })
}

/** As of frames: some models refuse longer texts, and a refusal would rest the model for other questions too. */
const MOST_LETTERS = 600

/** Without what is left out. */
const textOf = ({ text, wanted, excluded }: Question): string =>
  (excluded.length > 0 ? wanted.map((one) => one.text).join(' ') : text.trim()).slice(0, MOST_LETTERS)

/** Whether a model reads the language of a text. */
const readerOf = (model: TextModel) => (text: string) => !model.isEnglishOnly || isEnglish(text)

/**
 * Whether a text may be English: in Latin letters, and with fewer function words of another language. One such word
 * among several may be English too, as in *price per seat*.
 */
function isEnglish(text: string): boolean {
  const words = tokenize(text).map(({ word }) => word)
  if (/(?!\p{Script=Latin})\p{L}/u.test(text)) return false
  const knownTo = ({ ignored }: typeof ENGLISH) => words.filter((word) => ignored.includes(word)).length
  return OTHER_LANGUAGES.every((language) => {
    const foreign = knownTo(language)
    return foreign <= knownTo(ENGLISH) || (foreign === 1 && words.length > 2)
  })
}
