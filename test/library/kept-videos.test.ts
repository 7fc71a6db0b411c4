import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { videos } from '../../src/db/schema/videos.ts'
import { submitAddresses } from '../../src/library/videos/addresses.ts'
import { deleteVideo, retryVideo } from '../../src/library/videos/lifecycle.ts'
import { checkStorage } from '../../src/library/videos/storage.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { fetchVideo } from '../../src/workers/attempt.ts'
import { ingestVideo } from '../../src/workers/ingest-video.ts'
import { openBucket } from '../support/bucket.ts'
import { useClosing } from '../support/closing.ts'
import type { Service } from '../support/service.ts'
import { jobFixture } from './job-fixture.ts'
import { FILM_HEAD, videoRow } from './support.ts'

const { annotator, open, ingestDeps } = jobFixture()
const close = useClosing()

async function askFor(service: Service, id: string, headers: Record<string, string> = {}, method = 'GET') {
  const answer = await fetch(`${service.url}/media/videos/${id}`, { method, headers })
  const { status, headers: got } = answer
  const part = got.get('content-range')
  return { status, part, length: got.get('content-length'), etag: got.get('etag'), text: await answer.text(), got }
}

test.each(['disk', 'bucket'])('a kept video is served in parts from a %s, and goes with its video', async (place) => {
  const bucket = place === 'bucket' ? close(await openBucket()) : undefined
  const service = await open(annotator, { env: { KEEP_VIDEOS: 'on', ...bucket?.env } })
  const { id } = await service.upload(Buffer.from(`${FILM_HEAD}2\nplayed in parts`))
  expect((await askFor(service, id)).status).toBe(404)
  await service.drain()
  const whole = await askFor(service, id)
  const size = whole.text.length
  expect(whole).toMatchObject({ status: 200, length: String(size), part: null })
  expect(whole.text).toContain('2\nplayed in parts')
  expect(whole.got.get('content-type')).toBe('video/mp4')
  expect(whole.got.get('accept-ranges')).toBe('bytes')
  const etag = String(whole.etag)
  const part = (from: number, to: number) => [206, whole.text.slice(from, to + 1), `bytes ${from}-${to}/${size}`]
  for (const [headers, told] of [
    [{ range: 'bytes=0-0' }, part(0, 0)],
    [{ range: 'bytes=3-' }, part(3, size - 1)],
    [{ range: 'bytes=-4' }, part(size - 4, size - 1)],
    [{ range: 'bytes=-9999' }, part(0, size - 1)],
    [{ range: `bytes=2-${10 ** 12}` }, part(2, size - 1)],
    [{ range: 'bytes=0-1,2-3' }, part(0, 3)],
    [{ range: 'bytes=0-3', 'if-range': etag }, part(0, 3)],
    [{ range: 'bytes=0-3', 'if-range': `W/${etag}` }, [200, whole.text, null]],
    [{ range: 'bytes=0-3', 'if-range': 'Wed, 21 Oct 2015 07:28:00 GMT' }, [200, whole.text, null]],
    [{ range: 'bytes=0-1,5-6' }, [200, whole.text, null]],
    [{ range: 'bytes=a-b' }, [200, whole.text, null]],
    [{ range: 'lines=0-1' }, [200, whole.text, null]],
    [{ range: 'bytes=0-3', 'if-none-match': etag }, [304, '', null]],
  ] as const) {
    const answer = await askFor(service, id, headers)
    expect([headers, answer.status, answer.text, answer.part]).toEqual([headers, ...told])
  }
  for (const range of ['bytes=5-2', `bytes=${size}-`, 'bytes=-0', `bytes=${'9'.repeat(30)}-`]) {
    const refused = await askFor(service, id, { range })
    expect([range, refused.status, refused.part]).toEqual([range, 416, `bytes */${size}`])
  }
  const head = await askFor(service, id, { range: 'bytes=0-3' }, 'HEAD')
  expect(head).toMatchObject({ status: 200, text: '', length: String(size), etag })
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const report = await checkStorage(db, store, { remove: false })
  expect(report).toMatchObject({ files: 6, orphans: 0, missing_count: 0 })

  const page = await fetch(`${service.url}/videos/${id}`)
  expect(page.headers.get('content-security-policy')).toContain("media-src 'self'")
  expect(await page.text()).toContain(`data-file="/media/videos/${id}"`)
  const [kept] = await db.select({ key: videos.uploadKey }).from(videos)
  await store.delete(kept!.key!)
  expect(await checkStorage(db, store, { remove: false })).toMatchObject({ missing: [kept!.key] })
  await deleteVideo(db, id)
  await service.drain()
  expect((await askFor(service, id)).status).toBe(404)
  expect((await checkStorage(db, store, { remove: false })).files).toBe(0)
})

test('without KEEP_VIDEOS an upload is no file to load, and its film has no player', async () => {
  const service = await open(annotator)
  const { id } = await service.upload(Buffer.from('1\nnot for readers'))
  await service.drain()
  expect((await askFor(service, id)).status).toBe(404)
  const page = await fetch(`${service.url}/videos/${id}`)
  expect(page.headers.get('content-security-policy')).not.toContain('media-src')
  expect(await page.text()).not.toContain('data-play')
})

test('a file from a link is kept once, read again from there, and fetched anew where it was lost', async () => {
  const service = await open(annotator, { worker: false, env: { KEEP_VIDEOS: 'on' } })
  const { db } = service.stores
  const store = openMediaStore(service.config)
  await submitAddresses(db, ['https://example.org/launch.mp4'], { ytdlp: false })
  const { rows } = await db.$client.query('select id, revision from videos')
  const { id } = rows[0]
  let fetched = 0
  const fromStore = fetchVideo({ store, ytdlpPath: undefined, maxBytes: 1e6, maxDurationSec: 900 })
  const deps = ingestDeps()
  const run = async () => {
    const handler = ingestVideo({
      ...deps,
      keepVideos: true,
      fetchSource: async (video, options) => {
        if (video.uploadKey && (await store.stat(video.uploadKey))) return fromStore(video, options)
        fetched++
        const file = join(options.scratchDir, 'source')
        await writeFile(file, '2\nfrom afar')
        return { file, title: 'As its source calls it', author: 'Acme' }
      },
    })
    const { revision } = (await videoRow(service, id)) as { revision: number }
    await handler({ videoId: id, revision }, { signal: new AbortController().signal, lastAttempt: false })
    await db.$client.query(`update videos set status = 'ready', first_ready_at = now() where id = $1`, [id])
    return (await videoRow(service, id)) as { upload_key: string; title: string }
  }
  const first = await run()
  expect((await store.get(first.upload_key))?.toString()).toContain('from afar')
  await retryVideo(db, id, { again: true })
  expect(await run()).toMatchObject({ upload_key: first.upload_key, title: 'As its source calls it' })
  expect(fetched).toBe(1)
  await store.delete(first.upload_key)
  await retryVideo(db, id, { again: true })
  const again = await run()
  expect([fetched, again.upload_key === first.upload_key]).toEqual([2, false])
  expect((await askFor(service, id)).text).toContain('from afar')
})
