import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { measuring } from '../library/vision-service.ts'
import { useService } from '../support/service.ts'

const service = useService({ workerOptions: { measuring } })

test('an empty library has its vocabulary, a wall that says how to begin, and empty answers', async () => {
  await service.drain()
  const { json } = await service.get('/api/techniques')
  expect(json.techniques.length).toBeGreaterThanOrEqual(40)
  expect(json.techniques[0]).toMatchObject({ frame_count: 0, image_url: null })
  expect((await service.get('/api/frames')).json).toEqual({ page: 1, frames: [], hasMore: false })
  const search = await service.get('/api/search')
  expect(search.json).toMatchObject({ videos: [], frames: [], brands: [] })
  const page = await fetch(service.url)
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(await page.text()).toContain('An operator <a href="/sign-in">signs in</a> and adds one')
})

const sample = await readFile(new URL('../../samples/coffee-pour.mp4', import.meta.url))

test('an uploaded video becomes a searchable wall, its images are served, and a second upload changes nothing', {
  timeout: 600_000,
}, async () => {
  const first = await service.upload(sample, '?title=My%20launch&author=Acme')
  expect(first).toMatchObject({ status: 202, created: true })
  await service.drain()

  const status = await service.call('GET', `/api/videos/${first.id}/status?explain=1`)
  expect(status.json.video).toMatchObject({ status: 'ready', title: 'My launch', author: 'Acme', failure: null })
  expect(status.json.frames.length).toBe(status.json.video.frame_count)

  const wall = await service.get('/api/frames')
  expect(wall.status).toBe(200)
  expect(Object.keys(wall.json)).toEqual(['page', 'frames', 'hasMore'])
  expect(wall.json.frames.length).toBe(status.json.video.frame_count)
  const ofVideo = await service.get(`/api/videos/${first.id}/frames`)
  const times = ofVideo.json.frames.map((frame: { t_sec: number }) => frame.t_sec)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  expect(ofVideo.json.frames[0].video).toMatchObject({ title: 'My launch', author: 'Acme', source_url: null })

  const image = await fetch(ofVideo.json.frames[0].image_url.replace('http://frames.test', service.url))
  expect(image.status).toBe(200)
  expect(image.headers.get('content-type')).toBe('image/webp')
  expect(image.headers.get('cache-control')).toContain('immutable')

  const etag = wall.headers.get('etag')!
  const again = await service.upload(sample, '?title=Another')
  expect(again).toMatchObject({ id: first.id, created: false })
  await service.drain()
  const unchanged = await service.get('/api/frames', { 'if-none-match': etag })
  expect(unchanged.status).toBe(304)
})
