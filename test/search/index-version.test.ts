import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { toStored } from '../../src/search/meilisearch/settings.ts'
import { frameRow } from '../../src/search/postgres/write.ts'
import { WORDS_VERSION } from '../../src/search/text/tokens.ts'
import { clip } from './contract/documents.ts'

/** A frame of every attribute, one of none, and texts in scripts that are cut in different ways. */
const { frames } = clip('video', { title: 'Relay 2, für Zoë', author: 'Acme & Söhne', durationSec: 12 }, [
  {
    tSec: 0.8,
    subject: 'text-card',
    surface: 'motion-graphics',
    shot: 'no-face',
    technique: 'kinetic-type',
    zone: 'middle-center',
    caption: 'A white-on-black title, half-built: “co-pilot’s log”',
    composition: 'Centred over deep navy',
    steal: 'Let each word land on its own beat',
    onScreenText: 'Ship faster\n全新相机 새로운 ½',
    palette: ['#0b1b3b', '#f0f0f0', '#ff8a00', '#101010', '#808080'],
    paletteShares: [0.7, 0.2, 0.05, 0.03, 0.02],
    faces: 2,
    emptyShare: 0.8,
    ink: '#ffffff',
    ground: '#0b1b3b',
  },
  { tSec: 6, width: 720, height: 1280 },
  { tSec: 8, caption: 'Dark picture; text: a phone', isMeasured: true, coloredShare: 0 },
])

test('what the indexes store has changed only together with WORDS_VERSION', () => {
  // Object ids, revisions, times of rows and vectors are no matter of words.
  const stored = frames.map((frame) => ({ ...toStored(frame), revision: null, doc: null }))
  const rows = frames.map((frame) => ({ ...frameRow(frame, new Map()), bits: undefined }))
  const fingerprint = createHash('sha256').update(JSON.stringify({ stored, rows })).digest('hex').slice(0, 16)
  const hint = 'The documents changed: raise WORDS_VERSION, so that they are rewritten, and put the new pair here.'
  expect({ version: WORDS_VERSION, fingerprint }, hint).toEqual({ version: 12, fingerprint: '0176a5bd71e80895' })
})
