import { createHash } from 'node:crypto'
import { type Embedder, EmbedderUnavailable, TextRefused } from '../../src/meaning/embedder.ts'
import { tokenize } from '../../src/search/text/tokens.ts'

const DIMENSIONS = 128

/** Words that mean about the same to the fake. */
const MEANINGS = [
  'kettle tea boils steam hot drink',
  'puppy dog tennis pet animal',
  'rocket spacecraft launch orbit astronaut',
  'bread baker loaves oven bakery',
  'padlock password secure login',
]

/** A model that no test waits for: a text is the sum of its words, each a direction by the hash of its meaning. */
export function fakeEmbedder({
  space = `fake@${DIMENSIONS}`,
  isEnglishOnly = true,
  price = undefined as number | undefined,
} = {}) {
  const asked: string[] = []
  let fault: string | undefined
  let refused: string | undefined
  let held: Promise<void> | undefined
  const embedder: Embedder = {
    space,
    isEnglishOnly,
    price,
    async embed(texts) {
      if (fault) throw new EmbedderUnavailable(fault)
      if (texts.some((text) => refused !== undefined && text.includes(refused))) throw new TextRefused('422: too odd.')
      asked.push(...texts)
      await held
      return { vectors: texts.map((text) => toVector(text, space)), tokens: texts.join(' ').split(' ').length }
    },
    async [Symbol.asyncDispose]() {},
  }
  return {
    ...embedder,
    asked,
    fail(message: string | undefined) {
      fault = message
    },
    /** Texts with this in them. */
    refuse(part: string | undefined) {
      refused = part
    },
    /** Answers nothing until the function that it returns is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
  }
}

function toVector(text: string, salt: string): Float32Array {
  const sum = new Float32Array(DIMENSIONS)
  for (const { word } of tokenize(text)) {
    const meaning = MEANINGS.find((words) => words.split(' ').includes(word))
    // A word of no meaning above weighs little.
    const weight = meaning ? 1 : 0.25
    const bytes = createHash('shake256', { outputLength: DIMENSIONS })
      .update(`${salt} ${meaning ?? word}`)
      .digest()
    for (const [n, byte] of bytes.entries()) sum[n] = sum[n]! + weight * (byte - 127.5)
  }
  return sum
}
