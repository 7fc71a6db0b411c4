import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { extractInChild } from '../../src/video/extract/run-extraction.ts'
import { EXTRACTION_VERSION } from '../../src/video/shots/detector.ts'
import { QUICK, useClips } from '../video/ffmpeg.ts'
import { addVideo, extractFromNumber, frameRows, scriptedAnnotator, useCommands, videoRow } from './support.ts'

const { make } = useClips()
const annotator = scriptedAnnotator('measured@1', () => ({}))
const { service, run } = useCommands(10, annotator, (options) => extract(options))
/** The version that the workers have: an old one first. */
let extract: typeof extractInChild
beforeAll(async () => {
  const old = join(service.config.dataDir, 'old.txt')
  await writeFile(old, '9')
  extract = (options) => extractFromNumber({ ...options, file: old })
})

test('reextract tells first what would change, then picks again; frames of people stay', async () => {
  const film = make('film.mp4', '-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=10:d=9', ...QUICK)
  const { id } = await service.upload(await readFile(film))
  const lost = await addVideo(service, 2)
  await service.drain()
  const before = await frameRows(service, id)
  expect(before.length).toBe(9)
  const saved = before[8]!.id
  await service.call('POST', '/api/favourites', { frameId: saved })

  const preview = (await run('reextract', '--dry-run', '--json')).json
  expect(preview).toMatchObject({ version: EXTRACTION_VERSION, videos: 2, frames: 18, held: 1, unreadable: [] })
  const [told, refused] = preview.preview
  expect(refused).toMatchObject({ id: lost, failed: expect.stringContaining('not a video') })
  expect(told).toMatchObject({ id, now: 9, held: 1 })
  expect(told.same + told.removed + told.held).toBe(9)
  expect((await frameRows(service, id)).map((row) => row.reason)).toEqual(before.map((row) => row.reason))

  extract = extractInChild
  expect((await run('reextract', '--video', id, '--json')).json).toMatchObject({ videos: 1, queued: 1 })
  await service.drain()
  const after = await frameRows(service, id)
  expect(after.length).toBe(told.after)
  expect(after.map((row) => row.id)).toContain(saved)
  expect(await videoRow(service, id)).toMatchObject({
    status: 'ready',
    backfill: true,
    detector: { version: EXTRACTION_VERSION },
  })
  expect((await run('reextract', '--video', id, '--json')).json).toMatchObject({ videos: 0, queued: 0 })
})
