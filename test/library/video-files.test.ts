import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { frameIdOf } from '../../src/library/ids.ts'
import { deleteVideo, retryVideo } from '../../src/library/videos/lifecycle.ts'
import { checkFiles, checkStorage } from '../../src/library/videos/storage.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { sql } from '../../src/sql/orm.ts'
import { removeMedia } from '../../src/workers/handlers.ts'
import type { Service } from '../support/service.ts'
import { jobFixture } from './job-fixture.ts'
import { addVideo, extractFromNumber, frameRows, values, videoRow } from './support.ts'

const { annotator, open, storedFiles } = jobFixture()
let service: Service

test('a deleted video’s images go; the same file again gives the same ids and its images', async () => {
  service = await open(annotator)
  const bytes = Buffer.from('4\nalways the same')
  const first = await service.upload(bytes)
  await service.drain()
  const ids = (await frameRows(service, first.id)).map((row) => row.id)
  expect(ids).toEqual([0, 1, 2, 3].map((second) => frameIdOf(first.id, second * 1000)))
  expect((await storedFiles()).length).toBe(10)

  // Deletes and adds the video again, many times: removing the old files must never remove the new ones.
  for (let round = 0; round < 5; round++) {
    await deleteVideo(service.stores.db, first.id)
    const again = await service.upload(bytes)
    expect(again).toMatchObject({ id: first.id, created: true })
    if (round % 2 === 0) await service.drain()
  }
  await service.drain()
  expect((await frameRows(service, first.id)).map((row) => row.id)).toEqual(ids)
  expect(await checkStorage(service.stores.db, openMediaStore(service.config), { remove: false })).toMatchObject({
    missing_count: 0,
    files: 10,
  })

  await deleteVideo(service.stores.db, first.id)
  await service.drain()
  expect(await storedFiles()).toEqual([])
  expect((await service.get('/api/frames')).json.frames).toEqual([])
})

test('a loop is served with its frame, and goes with a re-extraction that makes none', async () => {
  let loops = true
  const extract: typeof extractFromNumber = (options) => extractFromNumber({ ...options, loops })
  service = await open(annotator, { workerOptions: { extract } })
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const video = await addVideo(service, 2)
  await service.drain()
  const loopsOf = async () => {
    const { frames } = (await service.get(`/api/videos/${video}/frames`)).json
    return frames.map(({ loop_url }: { loop_url: string | null }) => loop_url)
  }
  const [none, url] = await loopsOf()
  expect([none, url]).toEqual([null, expect.stringMatching(/^http:\/\/frames\.test\/media\/[\w-]+-loop\.webp$/)])
  const { image_url } = (await service.get(`/api/videos/${video}/frames`)).json.frames[1]
  const [address, image] = [url, image_url].map((one: string) => one.replace('http://frames.test', service.url))
  for (const one of [address!, image!])
    expect(Object.fromEntries((await fetch(one)).headers)).toMatchObject({
      'content-type': 'image/webp',
      'cache-control': 'public, max-age=31536000, immutable',
    })

  loops = false
  await retryVideo(db, video, { again: true })
  await service.drain()
  expect(await loopsOf()).toEqual([null, null])
  const ancient = new Date(Date.now() - 3 * 3_600_000)
  for (const path of await storedFiles()) await utimes(path, ancient, ancient)
  expect(await checkStorage(db, store, { remove: true })).toMatchObject({ orphans: 1, removed: 1, missing_count: 0 })
  expect((await fetch(address!)).status).toBe(404)
})

test('the same file again mends a copy that was lost, and leaves no second one', async () => {
  service = await open(annotator)
  const bytes = Buffer.from('2\nlost and found')
  const { id } = await service.upload(bytes, '?title=My%20launch&author=Acme')
  await service.drain()
  const { upload_key } = (await videoRow(service, id)) as { upload_key: string }
  const etag = (await service.get('/api/frames')).headers.get('etag')!
  await service.upload(bytes, '?title=Another')
  await service.drain()
  expect((await service.get('/api/frames', { 'if-none-match': etag })).status).toBe(304)
  expect(await videoRow(service, id)).toMatchObject({ upload_key, title: 'My launch', author: 'Acme' })
  expect((await storedFiles()).filter((path) => path.includes('uploads')).length).toBe(1)

  const store = openMediaStore(service.config)
  await store.delete(upload_key)
  await retryVideo(service.stores.db, id, { again: true })
  await service.drain()
  expect(await videoRow(service, id)).toMatchObject({ status: 'failed', failure_code: 'upload_missing' })
  await service.upload(bytes)
  await retryVideo(service.stores.db, id)
  await service.drain()
  expect(await videoRow(service, id)).toMatchObject({ status: 'ready' })
})

test('a newer detector never removes a frame that somebody saved, pinned or corrected', async () => {
  const extract: typeof extractFromNumber = (options) =>
    extractFromNumber({ ...options, file: detector ?? options.file })
  let detector: string | undefined
  service = await open(annotator, { workerOptions: { extract } })
  const video = await addVideo(service, 6)
  await service.drain()
  const ids = (await frameRows(service, video)).map((row) => row.id)
  const board = (await service.call('POST', '/api/boards', { name: 'Kept' })).json.board
  await service.call('POST', '/api/favourites', { frameId: ids[1] })
  await service.call('PUT', `/api/boards/${board.id}/frames/${ids[2]}`, {})
  await service.call('PATCH', `/api/frames/${ids[3]}/annotation`, { caption: 'by hand' })

  // The newer detector picks only the frames 0 and 5.
  const { writeFile } = await import('node:fs/promises')
  detector = join(service.config.dataDir, 'newer.txt')
  await writeFile(detector, '6 counting-2 1 2 3 4\n')
  annotator.asked = []
  await retryVideo(service.stores.db, video, { again: true })
  await service.drain()
  expect((await frameRows(service, video)).map((row) => row.id)).toEqual([ids[0], ids[1], ids[2], ids[3], ids[5]])
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready', detector: { version: 'counting-2' } })
  expect((await service.get(`/api/videos/${video}/frames`)).json.frames.length).toBe(5)
  // Unchanged images are not described again.
  expect(annotator.asked).toEqual([])
})

test('another picture at the same instant is described anew, and its old words stay until then', async () => {
  let shift = 0
  const extract: typeof extractFromNumber = async (options) => {
    const extraction = await extractFromNumber(options)
    if (shift === 0) return extraction
    const [one, two] = extraction.frames
    const { imagePath, thumbPath, imageSha256, imageBytes } = two!
    return {
      ...extraction,
      detector: { version: 'counting-2', parameters: {} },
      frames: [{ ...one!, imagePath, thumbPath, imageSha256, imageBytes }, two!],
    }
  }
  service = await open(annotator, { workerOptions: { extract } })
  const video = await addVideo(service, 2)
  await service.drain()
  shift = 1
  annotator.asked = []
  annotator.answer = async (frame) => {
    expect((await service.get(`/api/frames/${frame.id}`)).json.frame.caption).toBe('a dashboard')
    return { values: values({ caption: 'something new' }) }
  }
  await retryVideo(service.stores.db, video, { again: true })
  await service.drain()
  const rows = await frameRows(service, video)
  expect(annotator.asked).toEqual([rows[0]!.id])
  expect(rows.map((row) => row.caption)).toEqual(['something new', 'a dashboard'])
  expect(
    (
      await fetch(
        (
          await service.get(`/api/frames/${rows[0]!.id}`)
        ).json.frame.image_url.replace('http://frames.test', service.url),
      )
    ).status,
  ).toBe(200)
})

test('garbage collection takes what no row names, and spares young files and videos in work', async () => {
  service = await open(annotator)
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const kept = await addVideo(service, 2)
  await service.drain()
  for (const key of ['frames/gone00000000/0-aaaaaaaa.webp', 'uploads/orphan', 'frames/young0000000/0-bbbbbbbb.webp'])
    await store.put(key, Buffer.from('x'), 'image/webp')
  const ancient = new Date(Date.now() - 3 * 3_600_000)
  const inStore = (key: string) => join(service.config.dataDir, 'store', key)
  for (const path of await storedFiles()) if (!path.includes('young')) await utimes(path, ancient, ancient)
  expect(await checkStorage(db, store, { remove: false })).toMatchObject({ orphans: 2, removed: 0, missing_count: 0 })
  const stopped = checkFiles(db, store, { remove: true, signal: AbortSignal.abort(new Error('stopped')) })
  await expect(stopped).rejects.toThrow('stopped')
  expect(await checkStorage(db, store, { remove: true })).toMatchObject({ orphans: 2, removed: 2 })
  expect(await store.stat('frames/young0000000/0-bbbbbbbb.webp')).toBeDefined()
  expect((await frameRows(service, kept)).length).toBe(2)

  // A video that is extracted again stores its images before its rows name them.
  await db.execute(sql`update videos set status = 'extracting' where id = ${kept}`)
  await store.put(`frames/${kept}/new-cccccccc.webp`, Buffer.from('x'), 'image/webp')
  await utimes(inStore(`frames/${kept}/new-cccccccc.webp`), ancient, ancient)
  expect(await checkStorage(db, store, { remove: true })).toMatchObject({ removed: 0 })

  const [frame] = await frameRows(service, kept)
  await store.delete(String(frame!.image_key))
  expect(await checkStorage(db, store, { remove: false })).toMatchObject({
    missing_count: 1,
    missing: [frame!.image_key],
  })
})

test('removing media waits for a submission of the same source, and then leaves its files', async () => {
  service = await open(annotator, { worker: false })
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const bytes = Buffer.from('1\nraced')
  const { id } = await service.upload(bytes)
  const { upload_key } = (await videoRow(service, id)) as { upload_key: string }
  await deleteVideo(db, id)
  const again = await service.upload(bytes)
  await store.put(`frames/${id}/0-aaaaaaaa.webp`, Buffer.from('new'), 'image/webp')
  await removeMedia({ db, store })(
    { videoId: id, uploadKey: upload_key },
    { signal: new AbortController().signal, lastAttempt: false },
  )
  expect(again.created).toBe(true)
  const { upload_key: fresh } = (await videoRow(service, id)) as { upload_key: string }
  expect(await store.stat(fresh)).toBeDefined()
  expect(await store.stat(upload_key)).toBeUndefined()
  expect(await store.stat(`frames/${id}/0-aaaaaaaa.webp`)).toBeDefined()
})
