import { expect, test } from 'vitest'
import { type FrameRow, frames } from '../../src/db/schema/frames.ts'
import { videos } from '../../src/db/schema/videos.ts'
import { recordExtraction } from '../../src/library/videos/extraction.ts'
import { retryVideo } from '../../src/library/videos/lifecycle.ts'
import { eq, getTableColumns } from '../../src/sql/orm.ts'
import type { Extraction } from '../../src/video/extract/extract.ts'
import { ANNOTATED } from '../../src/vocabulary.ts'
import { cutShots, filmPicture } from '../support/film.ts'
import { openStores } from '../support/stores.ts'

/** Two extractions of one instant that differ in everything that is measured. */
function extractionOf(n: 1 | 2): Extraction {
  return {
    probe: {
      durationSec: n,
      width: n,
      height: n,
      fps: n,
      frameRate: null,
      startTimecode: null,
      rotation: 0,
      codec: 'none',
      container: 'none',
      title: null,
    },
    shots: cutShots([n]),
    picture: filmPicture(),
    passedOver: [{ tMs: n, why: `reason ${n}` }],
    detector: { version: `detector-${n}`, parameters: {} },
    frames: [
      {
        tMs: 1_000,
        kind: n === 1 ? 'beat' : 'cut',
        reason: `reason ${n}`,
        rest: n === 1 ? null : { fromMs: 900, toMs: 1_400, builtFromMs: 0, steps: n, edges: 50, isAtRest: true },
        width: 16 * n,
        height: 9 * n,
        luma: 20 * n,
        tone: n === 1 ? 'dark' : 'bright',
        darkShare: n / 10,
        palette: [`#00000${n}`],
        paletteShares: [n / 10],
        coloredShare: n / 10,
        sharpness: n,
        motion: n,
        phash: `${n}`.padStart(16, '0'),
        placeholder: `placeholder ${n}`,
        imagePath: '',
        imageBytes: n,
        imageSha256: `${n}`.repeat(64),
        thumbPath: '',
        loop: n === 1 ? { path: '', sha256: `${n}`.repeat(64) } : null,
      },
    ],
  }
}

/** What stays when a frame is extracted again. A new column belongs here, or in the extraction. */
const KEPT = [
  'id',
  'videoId',
  'tMs',
  ...ANNOTATED.flatMap((attribute) => {
    const column = attribute === 'on_screen_text' ? 'onScreenText' : attribute
    return [column, `${column}Provenance`]
  }),
  'faces',
  'emptyShare',
  'ink',
  'ground',
  'annotationModel',
  'saveCount',
  'saveStrength',
  'createdAt',
  'updatedAt',
]

test(
  'a repeated extraction overwrites every column of a frame but its identity, ' + 'its annotations and its saves',
  async () => {
    await using stores = await openStores()
    const { db } = stores
    const video = { id: 'video', sourceKey: 'sha256:0', title: 'Video', platform: 'web', revision: 1 }
    await db.insert(videos).values(video)
    await recordExtraction(db, { id: 'video', revision: 1, extraction: extractionOf(1), annotator: 'a@1' })
    const [before] = await db.select().from(frames)
    await db.update(videos).set({ status: 'ready' }).where(eq(videos.id, 'video'))
    await db.update(frames).set({ subject: 'ui', saveCount: 3 })
    const { revision } = await retryVideo(db, 'video', { again: true })
    await recordExtraction(db, { id: 'video', revision, extraction: extractionOf(2), annotator: 'a@1' })
    const [after] = await db.select().from(frames)
    expect(after).toMatchObject({ id: before!.id, subject: 'ui', saveCount: 3 })
    const columns = Object.keys(getTableColumns(frames)) as (keyof FrameRow)[]
    const unchanged = columns.filter((column) => JSON.stringify(before![column]) === JSON.stringify(after![column]))
    expect(unchanged.filter((column) => !KEPT.includes(column))).toEqual([])

    // The same picture, measured by a later version.
    await db.update(videos).set({ status: 'ready' }).where(eq(videos.id, 'video'))
    const again = await retryVideo(db, 'video', { again: true })
    const { imageSha256, kind, reason, rest, loop } = extractionOf(2).frames[0]!
    const measured = { ...extractionOf(1).frames[0]!, imageSha256, kind, reason, rest, loop }
    const extraction = { ...extractionOf(2), frames: [measured] }
    await recordExtraction(db, { id: 'video', revision: again.revision, extraction, annotator: 'a@1' })
    const { palette, luma, tone, sharpness, phash } = measured
    expect((await db.select().from(frames))[0]).toMatchObject({ palette, luma, tone, sharpness, phash, imageSha256 })
  },
)
