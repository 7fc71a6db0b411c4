import { afterAll, beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'

let service: Service
beforeAll(async () => {
  service = await openService()
})
afterAll(() => service[Symbol.asyncDispose]())

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
  expect(await page.text()).toContain('frames -- add')
})
