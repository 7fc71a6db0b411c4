import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TECHNIQUE_SEED } from '../../src/library/techniques/technique-seed.ts'
import type { Annotator, FrameAnnotation, FrameToAnnotate } from '../../src/vision/annotator.ts'
import { openMeasuringAnnotator } from '../../src/vision/measured/measuring-annotator.ts'

const video = { id: 'v1', title: 'A film', author: null, durationSec: 10 }
const timings: unknown[] = []
let annotator: Annotator

beforeAll(() => {
  annotator = openMeasuringAnnotator({ readTimeoutMs: 290_000, onTimed: (timing) => timings.push(timing) })
})
afterAll(() => annotator[Symbol.asyncDispose]())

function toFrame(id: string, image: Buffer, over: Partial<FrameToAnnotate> = {}): FrameToAnnotate {
  return {
    id,
    tSec: 1,
    kind: 'cut',
    image,
    imageSha256: createHash('sha256').update(image).digest('hex'),
    width: 1280,
    height: 720,
    luma: 20,
    tone: 'dark',
    motion: 0,
    reason: 'cut',
    ...over,
  }
}

const fixture = (name: string) => readFile(new URL(`./fixtures/${name}.webp`, import.meta.url))

async function annotate(...frames: FrameToAnnotate[]): Promise<FrameAnnotation[]> {
  const { annotations } = await annotator.annotate(video, frames, {
    signal: AbortSignal.timeout(300_000),
    techniques: TECHNIQUE_SEED,
  })
  return annotations
}

const page = (drawn: string) =>
  sharp(
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720">
      <rect width="1280" height="720" fill="#fff"/>${drawn}</svg>`),
  )
    .webp()
    .toBuffer()

const known = (annotation: FrameAnnotation | undefined, attribute: keyof FrameAnnotation['values']) =>
  annotation?.values[attribute]?.value

describe('without a model', () => {
  test('a text card is named, read and described', async () => {
    const [card] = await annotate(toFrame('a', await fixture('text-card')))
    expect(card?.status).toBe('annotated')
    expect(card?.values.subject).toMatchObject({ value: 'text-card', source: 'rule' })
    expect(card?.values.on_screen_text).toMatchObject({ value: 'Available today\nrelay.example', source: 'ocr' })
    expect(card?.values.caption).toMatchObject({
      value: '"Available today relay.example" centred, on black',
      source: 'measured',
    })
    expect(known(card, 'shot')).toBe('no-face')
    expect(known(card, 'zone')).toBe('none')
    expect(known(card, 'technique')).toBe('title-card')
  })

  test('a terminal, a presenter and a corner inset are told apart', async () => {
    const [terminal, presenter, inset] = await annotate(
      toFrame('t', await fixture('terminal')),
      toFrame('p', await fixture('presenter')),
      toFrame('i', await fixture('corner-inset')),
    )
    expect(known(terminal, 'subject')).toBe('terminal')
    expect(known(terminal, 'on_screen_text')).toMatch(/Stashing/)
    expect([known(presenter, 'subject'), known(presenter, 'shot'), known(presenter, 'zone')]).toEqual([
      'presenter',
      'medium-presenter',
      'top-center',
    ])
    expect([known(inset, 'subject'), known(inset, 'shot'), known(inset, 'zone')]).toEqual([
      'ui',
      'corner-inset',
      'bottom-left',
    ])
    expect(known(inset, 'technique')).toBe('picture-in-picture')
  })

  test('what measuring cannot know stays null with the reason', async () => {
    const [product] = await annotate(toFrame('p', await fixture('product')))
    for (const attribute of ['subject', 'surface', 'composition', 'steal', 'technique'] as const) {
      expect(product?.values[attribute]).toMatchObject({ value: null, reason: expect.any(String) })
    }
  })

  test('a broken, an empty and a giant picture fail alone; the next is annotated from the vocabulary', async () => {
    const giant = await sharp({ create: { width: 9000, height: 9000, channels: 3, background: '#123' } })
      .png({ compressionLevel: 9 })
      .toBuffer()
    const whole = await fixture('text-card')
    const tiny = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } })
      .png()
      .toBuffer()
    const frames = [
      toFrame('broken', Buffer.from('not a picture at all')),
      toFrame('empty', Buffer.alloc(0)),
      toFrame('cut short', whole.subarray(0, whole.length / 2)),
      toFrame('giant', giant),
      toFrame('tiny', tiny),
      toFrame('good', whole),
    ]
    const { annotations } = await annotator.annotate(video, frames, {
      signal: AbortSignal.timeout(300_000),
      techniques: [],
    })
    expect(annotations.map(({ frameId, status }) => [frameId, status])).toEqual([
      ['broken', 'failed'],
      ['empty', 'failed'],
      ['cut short', 'failed'],
      ['giant', 'failed'],
      ['tiny', 'annotated'],
      ['good', 'annotated'],
    ])
    expect(annotations[0]?.reason).toMatch(/could not be measured/)
    expect(annotations[5]?.values.technique).toMatchObject({ value: null, reason: 'not in the vocabulary' })
  })

  test('each frame is handed over as soon as it is known, and an abort stops the rest', async () => {
    const image = await fixture('product')
    const stop = new AbortController()
    const seen: string[] = []
    const running = annotator.annotate(video, [toFrame('one', image), toFrame('two', image)], {
      signal: stop.signal,
      techniques: [],
      onAnnotated: async ({ frameId }) => {
        seen.push(frameId)
        stop.abort(new Error('enough'))
      },
    })
    await expect(running).rejects.toThrow('enough')
    expect(seen).toEqual(['one'])
  })

  test('a plain picture is not read', async () => {
    timings.length = 0
    const plain = await sharp({ create: { width: 640, height: 360, channels: 3, background: '#204060' } })
      .webp()
      .toBuffer()
    const [annotation] = await annotate(toFrame('plain', plain))
    expect(timings).toMatchObject([{ frameId: 'plain', read: false, readMs: 0 }])
    expect(annotation?.values.on_screen_text).toMatchObject({ value: null, reason: 'no readable text' })
  })

  test('strokes of no script are no words, and the reason says that they were seen', async () => {
    const strokes = ['M8 35h84M50 5v30L10 95M50 35l42 60', 'M12 25h76v40H12zM50 5v90', 'M5 30h90M50 5v91M50 32 10 85']
    const glyphs = Array.from({ length: 9 }, (_, n) => {
      const place = `translate(${240 + n * 88} 300) scale(0.8) rotate(${n * 40} 50 50)`
      return `<path transform="${place}" d="${strokes[n % 3]}" fill="none" stroke="#111" stroke-width="9"/>`
    })
    const [card] = await annotate(toFrame('card', await page(glyphs.join(''))))
    const reason = 'what may be letters was seen, but no word was read with certainty'
    expect(card?.values.on_screen_text).toMatchObject({ value: null, reason })
  })

  test('a sliver, noise and right-to-left letters have no text, ten thousand letters are given up', async () => {
    const noise = Buffer.from(Uint8Array.from({ length: 640 * 360 * 3 }, (_, n) => (n * 2654435761) >>> 24))
    const sliver = sharp({ create: { width: 1, height: 4000, channels: 3, background: '#fff' } })
    const raw = { width: 640, height: 360, channels: 3 } as const
    const unread = await annotate(
      toFrame('sliver', await sliver.webp().toBuffer()),
      toFrame('noise', await sharp(noise, { raw }).webp().toBuffer()),
      toFrame('arabic', await page('<text x="400" y="300" font-size="90">\u0645\u0631\u062d\u0628\u0627</text>')),
    )
    for (const { status, values } of unread)
      expect([status, values.on_screen_text]).toMatchObject(['annotated', { value: null, reason: expect.any(String) }])
    const rows = Array.from(
      { length: 70 },
      (_, n) => `<tspan x="4" y="${n * 10 + 12}">${'letters '.repeat(18)}</tspan>`,
    )
    const letters = await page(`<text font-family="DejaVu Sans" font-size="9">${rows.join('')}</text>`)
    await using hurried = openMeasuringAnnotator({ readTimeoutMs: 10 })
    const options = { signal: AbortSignal.timeout(300_000), techniques: TECHNIQUE_SEED }
    const { annotations } = await hurried.annotate(video, [toFrame('letters', letters)], options)
    expect(annotations[0]).toMatchObject({
      status: 'annotated',
      values: { on_screen_text: { value: null, reason: 'not read: it took too long' } },
    })
  })

  test('of the next picture only what is new is read again', async () => {
    const say = (figure: string) =>
      page(`<text x="300" y="300" font-family="DejaVu Sans" font-size="60">Teams ship faster
        <tspan x="300" dy="200">${figure} reviews</tspan></text>`)
    const frames = [toFrame('before', await say('14')), toFrame('after', await say('17'))]
    const texts = (await annotate(...frames)).map((annotation) => known(annotation, 'on_screen_text'))
    expect(texts).toEqual(['Teams ship faster\n14 reviews', 'Teams ship faster\n17 reviews'])
  })
})
