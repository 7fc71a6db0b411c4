import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createWorker, PSM, type Worker } from 'tesseract.js'
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

export interface TextReader extends AsyncDisposable {
  /** The confidently read words in reading order; null after the time-out. */
  read(picture: Readable, signal: AbortSignal): Promise<Word[] | null>
}

const MIN_CONFIDENCE = 60

/**
 * One tesseract worker thread with the English data of its npm package, without any download. A reading that times out
 * ends the thread, and the next reading starts a new one.
 */
export function openTextReader({ timeoutMs }: { timeoutMs: number }): TextReader {
  const dataDir = path.join(
    path.dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json')),
    '4.0.0_best_int',
  )
  const run = oneAtATime()
  let current: Promise<Worker> | undefined

  async function start(): Promise<Worker> {
    const worker = await createWorker('eng', 1, {
      langPath: dataDir,
      gzip: true,
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

  async function readOne({ png, width, height }: Readable, signal: AbortSignal): Promise<Word[] | null> {
    signal.throwIfAborted()
    current ??= start()
    const worker = await current.catch((error: unknown) => {
      current = undefined
      throw error
    })
    const late = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => late.resolve('late'), timeoutMs)
    const onAbort = () => late.resolve('late')
    signal.addEventListener('abort', onAbort)
    try {
      const result = await Promise.race([
        worker.recognize(Buffer.from(png), {}, { text: false, blocks: true }),
        late.promise,
      ])
      if (result === 'late') {
        await stop()
        signal.throwIfAborted()
        return null
      }
      return toWords(result.data.blocks ?? [], width, height)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  return {
    read: (picture, signal) => run(() => readOne(picture, signal)),
    [Symbol.asyncDispose]: stop,
  }
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
