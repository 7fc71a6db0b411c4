import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FrameDocument, ShownFrame } from '../search/library-search.ts'
import { toStored } from '../search/meilisearch/settings.ts'
import { textsOf } from '../search/stored-frame.ts'
import { toFrame, toHitText } from './frame.ts'
import { toHit } from './hit.ts'

// Texts of an attacker who knows where the stored text is spliced.
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    ',"image_path":"',
    '","thumb_path":"/x',
    ',"caption":',
    '\\",\\"palette\\":',
    '"palette":["#fff"]',
    '}',
    '\\',
    '\ud800',
    '</script>',
    '東京',
  ),
)
const text = fc.oneof(
  fc.constant(null),
  fc.array(hostile, { maxLength: 4 }).map((parts) => parts.join('')),
)
const name = fc.array(hostile, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))

const frame: fc.Arbitrary<FrameDocument> = fc
  .record({
    author: fc.option(name),
    caption: text,
    composition: text,
    steal: text,
    on_screen_text: text,
    title: name,
    source: text,
  })
  .map(({ title, source, ...texts }) => ({
    id: 'v-1',
    video_id: 'v',
    t_sec: 1.5,
    kind: 'cut',
    subject: null,
    surface: 'mixed',
    shot: null,
    technique: 'text-card',
    zone: null,
    tone: 'dark',
    platform: 'web',
    palette: ['#000000'],
    image_path: '/media/v-1.webp',
    thumb_path: '/media/v-1-480.webp',
    placeholder: 'abc',
    width: 1,
    height: 2,
    save_count: 3,
    source_url: source,
    annotation: { model: 'seed', confidence: { caption: 0.5 }, reviewed: false },
    video: { id: 'v', title, author: texts.author, platform: 'web', source_url: source, duration_sec: null },
    luma: 1,
    palette_shares: [1],
    phash: '0000000000000000',
    added_ms: 1,
    t_ms: 1_500,
    strength: 9,
    revision: 'r',
    ...texts,
  }))

test('a hit put together from the stored text is the hit made from the document, whatever its texts hold', () => {
  fc.assert(
    fc.property(frame, fc.constantFrom('http://frames.test', 'https://a.example/"b\\'), (document, publicUrl) => {
      // As it comes back: lone surrogates do not survive UTF-8.
      const { doc } = JSON.parse(Buffer.from(JSON.stringify(toStored('frames', document))).toString()) as {
        doc: string
      }
      const kept = JSON.parse(doc) as ShownFrame
      const hit = { document: kept, score: 0.75, matched: { caption: '<em>"x"</em>' } }
      expect(JSON.parse(toHitText({ ...hit, text: doc }, publicUrl))).toEqual(
        toHit(hit, (shown) => toFrame(shown, publicUrl)),
      )
      const { caption, composition, steal, on_screen_text, kind, technique, tone, platform } = kept
      const read = { caption, composition, steal, on_screen_text, kind, technique, tone, platform }
      expect(textsOf(doc)).toMatchObject(read)
      expect(Object.keys(JSON.parse(toHitText({ ...hit, text: doc }, publicUrl)))).toEqual(
        Object.keys(toHit(hit, (shown) => toFrame(shown, publicUrl))),
      )
    }),
    { numRuns: 500 },
  )
})

test('a stored document whose members stand in another order gives the same addresses', () => {
  const document = fc.sample(frame, 1)[0]! as ShownFrame
  const { id, image_path, thumb_path, ...rest } = document
  for (const order of [
    { image_path, id, thumb_path, ...rest },
    { id, thumb_path, ...rest, image_path },
  ]) {
    const hit = { document, score: 0.5, matched: {}, text: JSON.stringify(order) }
    const shown = JSON.parse(toHitText(hit, 'http://frames.test'))
    expect(shown.image_url).toBe('http://frames.test/media/v-1.webp')
    expect(shown.thumb_url).toBe('http://frames.test/media/v-1-480.webp')
  }
})
