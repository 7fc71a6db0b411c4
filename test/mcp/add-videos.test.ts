import { describe, expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { useService } from '../support/service.ts'
import { MODERN_META, post, postModern } from './support.ts'

/** What operators add by the tools, and how far it is. */

const service = useService({ worker: false })

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
  const two = await call('add_video', { urls: url.slice(0, 2), title: 'Both' })
  expect(two.content[0].text).toContain(two.structuredContent.notes[0])
  expect(two.structuredContent.notes[0]).toMatch(/^title was left out/)
  const many = Array.from({ length: 6 }, (_, at) => `https://films.example.com/more-${at}.mp4`)
  expect((await call('add_video', { url: many })).structuredContent.videos).toHaveLength(6)
})

describe('as a task, where the host takes tasks', () => {
  const TASKS = 'io.modelcontextprotocol/tasks'
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { [TASKS]: {} } } }
  const declared = { ...MODERN_META, ...capabilities }
  const bearer = (key = service.operatorKey) => ({ authorization: `Bearer ${key}` })
  const add = (name: string, _meta: object = declared) =>
    ask('tools/call', { name: 'add_video', arguments: { url: `https://films.example.com/${name}.mp4` }, _meta })
  const about = (method: string, taskId: string, { _meta = declared as object, headers = bearer() } = {}) =>
    ask(method, { taskId, _meta }, { ...headers, 'mcp-name': taskId })

  async function ask(method: string, params: Record<string, unknown>, headers: Record<string, string> = bearer()) {
    const { status, json } = await postModern(`${service.url}/api/mcp`, { method, params }, headers)
    return { status, ...json }
  }
  const become = (taskId: string, status: string, failure: string | null = null) =>
    service.stores.db.$client.query(
      `update videos set status = $2, failure_code = $3, failure_message = $3 where id = $1`,
      [taskId.split('.')[0], status, failure],
    )

  test('it works until the video is ready, then holds the result of the call', async () => {
    const { result } = await add('task-ready')
    expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 5_000 })
    expect(result.content).toBeUndefined()
    for (const time of [result.createdAt, result.lastUpdatedAt]) expect(new Date(time).toISOString()).toBe(time)
    const { taskId } = result
    expect((await about('tasks/get', taskId)).result).toMatchObject({
      resultType: 'complete',
      taskId,
      status: 'working',
    })
    await become(taskId, 'ready')
    const done = (await about('tasks/get', taskId)).result
    expect(done).toMatchObject({
      status: 'completed',
      result: { content: [{ text: expect.stringMatching(/: ready$/) }] },
    })
    expect(done.result.structuredContent.videos).toMatchObject([{ status: 'ready', created: true }])
    expect((await about('tasks/update', taskId)).result).toMatchObject({ resultType: 'complete' })
    // What is there already needs no task.
    expect((await add('task-ready')).result).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] })
    // Of what is refused, or there already, no task would tell.
    for (const other of ['http://10.0.0.1/x.mp4', 'https://films.example.com/task-ready.mp4']) {
      const url = [`https://films.example.com/${other.length}.mp4`, other]
      const mixed = await ask('tools/call', { name: 'add_video', arguments: { url }, _meta: declared })
      expect(mixed.result.resultType).toBe('complete')
      expect(mixed.result.content[0].text).toMatch(/^queued: .*\n(refused|already there): /)
    }
    const url = [9, 1, 5, 3, 7].map((n) => `https://films.example.com/order-${n}.mp4`)
    const several = (await ask('tools/call', { name: 'add_video', arguments: { url }, _meta: declared })).result
    const told = several.statusMessage.split('\n').map((line: string) => line.split(' ')[0])
    expect(told).toEqual(several.taskId.split('.').slice(0, -1))
  })
  test('a failed video is a result that says why; a cancelled one is cancelled', async () => {
    const { taskId: failed } = (await add('task-failed')).result
    await become(failed, 'failed', 'no such film')
    expect((await about('tasks/get', failed)).result).toMatchObject({
      status: 'completed',
      result: { isError: true, content: [{ text: expect.stringContaining('no such film') }] },
    })
    const { taskId } = (await add('task-cancelled')).result
    for (const _ of [1, 2]) {
      const { result } = await about('tasks/cancel', taskId)
      expect([result.resultType, result.taskId]).toEqual(['complete', undefined])
    }
    expect((await about('tasks/get', taskId)).result).toMatchObject({ status: 'cancelled' })
  })
  test('it is its account’s alone, and hosts that declare no tasks see none', async () => {
    const { taskId } = (await add('task-own')).result
    const { db } = service.stores
    const other = await createAccount(db, { email: 'second@example.org', role: 'operator', plan: 'pro' })
    const { key } = await createKey(db, { accountId: other.id, name: 'k', scopes: ['videos:write'] })
    const { key: noScope } = await createKey(db, { accountId: other.id, name: 'n', scopes: ['saves:read'] })
    for (const headers of [bearer(key), bearer(noScope)])
      expect((await about('tasks/get', taskId, { headers })).error.code).toBe(-32602)
    for (const unknown of ['nothing', `${taskId}x`, taskId.split('.')[0]!])
      expect((await about('tasks/get', unknown)).error.code).toBe(-32602)
    const strange = await ask('tasks/get', { taskId: { toString: 1 }, _meta: declared })
    expect(strange.error.code).toBe(-32602)
    const undeclared = await about('tasks/get', taskId, { _meta: MODERN_META })
    expect([undeclared.status, undeclared.error.code]).toEqual([400, -32021])
    expect((await add('task-none', MODERN_META)).result).toMatchObject({ resultType: 'complete' })
    const named = await ask('tasks/get', { taskId, _meta: declared }, { ...bearer(), 'mcp-name': 'other' })
    expect([named.status, named.error.code]).toEqual([400, -32020])
    for (const gone of ['tasks/result', 'tasks/list'])
      expect((await ask(gone, { taskId, _meta: declared })).error.code).toBe(-32601)
    const older = await post(`${service.url}/api/mcp`, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/get',
      params: { taskId },
    })
    expect(older.json.error.code).toBe(-32601)
  })
})
