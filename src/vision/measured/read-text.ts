import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createWorker, PSM, type Worker } from 'tesseract.js'
import type { ReadingLanguages } from './identity.ts'
import { oneAtATime } from './one-at-a-time.ts'

/** One word with its box in shares of the picture. */
export interface Word {
  text: string
  /** 0–1. */
  confidence: number
  x: number
  y: number
  width: number
  height: number
  /** The number of the word's line, in reading order. */
  line: number
}

/** A grey PNG, dark letters on a bright ground. */
export interface Readable {
  png: Uint8Array
  width: number
  height: number
  /** How long the preparation took. */
  preparedMs: number
}

const MIN_CONFIDENCE = 60

/**
 * One tesseract worker thread, without any download. A reading that times out ends the thread, and the next reading
 * starts a new one.
 */
export function openTextReader(options: { timeoutMs: number; languages: ReadingLanguages }) {
  const { timeoutMs, languages } = options
  const run = oneAtATime()
  let current: Promise<Worker> | undefined

  async function start(): Promise<Worker> {
    const worker = await createWorker([...languages.codes], 1, {
      langPath: languages.dataDir ?? englishData(),
      gzip: languages.dataDir === undefined,
      cacheMethod: 'none',
      errorHandler: () => {},
    })
    // The package does not listen for errors of its thread, and an unhandled one would end the process.
    const thread = (worker as unknown as { worker: EventEmitter }).worker
    thread.on('error', () => {
      current = undefined
    })
    await worker.setParameters({
      tessedit_pageseg_mode: PSM.SPARSE_TEXT,
      user_defined_dpi: '96',
      debug_file: '/dev/null',
    })
    return worker
  }

  async function stop() {
    const stopping = current
    current = undefined
    await stopping?.then(
      (worker) => worker.terminate(),
      () => {},
    )
  }

  async function readOne({ png, width, height }: Readable): Promise<Word[] | null> {
    current ??= start()
    const worker = await current.catch((error: unknown) => {
      current = undefined
      throw error
    })
    const late = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => late.resolve('late'), timeoutMs)
    try {
      const result = await Promise.race([
        worker.recognize(Buffer.from(png), {}, { text: false, blocks: true }),
        late.promise,
      ])
      if (result === 'late') {
        await stop()
        return null
      }
      return toWords(result.data.blocks ?? [], width, height)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    /** The confidently read words in reading order; null after the time-out. */
    read: (picture: Readable) => run(() => readOne(picture)),
  }
}

function englishData(): string {
  const manifest = createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json')
  return path.join(path.dirname(manifest), '4.0.0_best_int')
}

type Blocks = NonNullable<Awaited<ReturnType<Worker['recognize']>>['data']['blocks']>

function toWords(blocks: Blocks, width: number, height: number): Word[] {
  const words: Word[] = []
  let line = 0
  for (const block of blocks) {
    for (const paragraph of block.paragraphs) {
      for (const row of paragraph.lines) {
        for (const word of row.words) {
          const text = word.text.trim()
          if (word.confidence < MIN_CONFIDENCE || !/[\p{L}\p{N}]/u.test(text)) continue
          const { x0, y0, x1, y1 } = word.bbox
          words.push({
            text,
            confidence: word.confidence / 100,
            x: x0 / width,
            y: y0 / height,
            width: (x1 - x0) / width,
            height: (y1 - y0) / height,
            line,
          })
        }
        line++
      }
    }
  }
  return words
}

/** Japanese and Chinese are written without spaces, but the reader gives their characters one by one. */
const UNSPACED = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\u30fc\u3000-\u303f\uff01-\uff5e]'
const GAP = new RegExp(`(?<=${UNSPACED}) (?=${UNSPACED})`, 'gu')

/** The words of a line as they are written. */
export const joinWords = (words: readonly string[]): string => words.join(' ').replace(GAP, '')
