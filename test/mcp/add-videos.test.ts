import { afterAll, beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { postModern } from './support.ts'

/** What operators add by the tools, and how far it is. */

let service: Service
beforeAll(async () => {
  service = await openService({ worker: false })
})
afterAll(() => service[Symbol.asyncDispose]())

async function call(name: string, args: object) {
  const request = { method: 'tools/call', params: { name, arguments: args } }
  const headers = { authorization: `Bearer ${service.operatorKey}` }
  return (await postModern(`${service.url}/api/mcp`, request, headers)).json.result
}

test('videos are queued at once, with their progress by another call', async () => {
  const url = ['https://films.example.com/one.mp4', 'https://films.example.com/two.mp4', 'http://10.0.0.1/x.mp4']
  const said = { author: 'Northwind', platform: 'x', published_at: '2026-11-20' }
  const added = await call('add_video', { url, ...said })
  expect(added.structuredContent).toMatchObject({
    videos: [
      { title: 'one', status: 'queued', created: true },
      { title: 'two', status: 'queued', created: true },
    ],
    refused: [{ url: 'http://10.0.0.1/x.mp4', why: expect.any(String) }],
  })
  const ids = added.structuredContent.videos.map(({ video_id }: { video_id: string }) => video_id)
  const told = await call('video_status', { video_id: [...ids, 'nothing'] })
  expect(told.structuredContent.videos.map(({ status }: { status: string }) => status)).toEqual(['queued', 'queued'])
  expect(told.structuredContent.unknown).toEqual(['nothing'])
  const byAddress = await call('video_status', { url: url[0] })
  expect(byAddress.structuredContent).toMatchObject({ videos: [{ video_id: ids[0] }], unknown: [] })
  const again = await call('add_video', { url: url[0], ...said, author: 'Other', title: 'Other' })
  expect(again.structuredContent.videos).toMatchObject([{ created: false, unchanged: ['title', 'author'] }])
  expect(again.content[0].text).toContain('as before, until an operator edits it: title, author')
  const many = Array.from({ length: 6 }, (_, at) => `https://films.example.com/more-${at}.mp4`)
  expect((await call('add_video', { url: many })).structuredContent.videos).toHaveLength(6)
})
