import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createBoard, listBoards } from '../../src/library/collections/boards.ts'
import { openService, type Service } from '../support/service.ts'
import { MODERN_META, post, postModern } from './support.ts'

/** Questions to the person behind a call, in hosts that show forms; everywhere else the arguments of the tools. */

let service: Service
let accountId: string
let key: string
let n = 0
beforeAll(async () => {
  service = await openService({ worker: false })
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  ;({ accountId, key } = await somebody())
})

async function somebody() {
  const { account } = await ensureAccount(service.stores.db, { email: `asked-${++n}@example.com` })
  await setPlan(service.stores.db, { accountId: account.id, plan: 'pro' })
  const made = await createKey(service.stores.db, { accountId: account.id, name: 'agent' })
  return { accountId: account.id, key: made.key }
}

const FORMS = { ...MODERN_META, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
async function call(name: string, args: object, more: object = {}, bearer = key) {
  const params = { name, arguments: args, _meta: FORMS, ...more }
  const { json } = await postModern(
    `${service.url}/api/mcp`,
    { method: 'tools/call', params },
    { authorization: `Bearer ${bearer}` },
  )
  return json.result ?? json.error
}
const newBoard = (name: string) => createBoard(service.stores.db, { accountId, name })
const names = async () =>
  (await listBoards(service.stores.db, accountId, { limit: 50 })).boards.map((board) => board.name)

test('deleting a board asks, and does what the person says', async () => {
  const { id } = await newBoard('Openings')
  const asked = await call('delete_board', { board_id: id })
  expect(asked).toMatchObject({
    resultType: 'input_required',
    inputRequests: {
      delete: {
        method: 'elicitation/create',
        params: { mode: 'form', message: expect.stringContaining('"Openings"'), requestedSchema: { type: 'object' } },
      },
    },
  })
  const { requestState } = asked
  const say = (reply: object, args: object = { board_id: id }, bearer = key) =>
    call('delete_board', args, { requestState, inputResponses: { delete: reply } }, bearer)
  expect((await say({ action: 'decline' })).structuredContent).toMatchObject({ deleted: false })
  expect((await say({ action: 'cancel' })).structuredContent).toMatchObject({ deleted: false })
  expect((await say({ action: 'accept', content: { delete: 'yes' } })).structuredContent.deleted).toBe(false)
  // The state is of this call and this account alone.
  const other = await newBoard('Endings')
  expect(await say({ action: 'accept', content: { delete: true } }, { board_id: other.id })).toMatchObject({
    code: -32602,
  })
  const stranger = await somebody()
  expect((await say({ action: 'accept', content: { delete: true } }, undefined, stranger.key)).code).toBe(-32602)
  const forged = await call('delete_board', { board_id: id }, { requestState: 'e30.c2ln' })
  expect(forged).toMatchObject({ code: -32602 })
  expect(await names()).toEqual(['Endings', 'Openings'])
  expect((await say({ action: 'accept', content: { delete: true } })).structuredContent).toMatchObject({
    deleted: true,
  })
  expect(await names()).toEqual(['Endings'])
})

test('a name of two boards asks which, and then whether: the state carries what was said', async () => {
  const first = await newBoard('Twins')
  const second = await newBoard('Twins')
  const which = await call('delete_board', { board_id: 'Twins' })
  const { oneOf } = which.inputRequests.board.params.requestedSchema.properties.board
  expect(oneOf.map((one: { const: string }) => one.const).sort()).toEqual([first.id, second.id].sort())
  const chosen = { action: 'accept', content: { board: second.id } }
  const whether = await call(
    'delete_board',
    { board_id: 'Twins' },
    { requestState: which.requestState, inputResponses: { board: chosen } },
  )
  expect(Object.keys(whether.inputRequests)).toEqual(['delete'])
  const done = await call(
    'delete_board',
    { board_id: 'Twins' },
    {
      requestState: whether.requestState,
      inputResponses: { delete: { action: 'accept', content: { delete: true } }, unknown: 7 },
    },
  )
  expect(done.structuredContent).toMatchObject({ board: { id: second.id }, deleted: true })
})

test('without forms nothing is asked', async () => {
  const { id } = await newBoard('Quiet')
  const silent = await call('delete_board', { board_id: id }, { _meta: MODERN_META })
  expect(silent).toMatchObject({ resultType: 'complete', structuredContent: { deleted: false } })
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'delete_board', arguments: { board_id: id } },
  }
  const legacy = await post(`${service.url}/api/mcp`, body, { authorization: `Bearer ${key}` })
  expect(legacy.json.result.structuredContent).toMatchObject({ deleted: false })
  expect((await call('delete_board', { board_id: id, confirm: true })).structuredContent.deleted).toBe(true)
})

test('videos are queued at once, with their progress by another call; many are asked about first', async () => {
  const url = ['https://films.example.com/one.mp4', 'https://films.example.com/two.mp4', 'http://10.0.0.1/x.mp4']
  const added = await call('add_video', { url, author: 'Northwind' }, {}, service.operatorKey)
  expect(added.structuredContent).toMatchObject({
    videos: [
      { title: 'one', status: 'queued', created: true },
      { title: 'two', status: 'queued', created: true },
    ],
    refused: [{ url: 'http://10.0.0.1/x.mp4', why: expect.any(String) }],
  })
  const ids = added.structuredContent.videos.map(({ video_id }: { video_id: string }) => video_id)
  const told = await call('video_status', { video_id: [...ids, 'nothing'] }, {}, service.operatorKey)
  expect(told.structuredContent.videos.map(({ status }: { status: string }) => status)).toEqual(['queued', 'queued'])
  expect(told.structuredContent.unknown).toEqual(['nothing'])
  const byAddress = await call('video_status', { url: url[0] }, {}, service.operatorKey)
  expect(byAddress.structuredContent).toMatchObject({ videos: [{ video_id: ids[0] }], unknown: [] })
  const many = Array.from({ length: 6 }, (_, at) => `https://films.example.com/more-${at}.mp4`)
  const asked = await call('add_video', { url: many }, {}, service.operatorKey)
  expect(asked.inputRequests.queue.params.message).toContain('6 videos')
  const { requestState } = asked
  const reply = (content: object) => ({ requestState, inputResponses: { queue: { action: 'accept', content } } })
  const none = await call('add_video', { url: many }, reply({ queue: false }), service.operatorKey)
  expect(none.structuredContent.videos).toEqual([])
  const all = await call('add_video', { url: many }, reply({ queue: true }), service.operatorKey)
  expect(all.structuredContent.videos).toHaveLength(6)
  expect((await call('add_video', { url: many })).isError).toBe(true)
})

test('arguments that are nested too deep to be bound to a question are refused as any wrong ones', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const params = { name: 'delete_board', arguments: { board_id: 'deep' }, _meta: FORMS }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }).replace('"deep"', deep)
  const answer = await post(`${service.url}/api/mcp`, body, {
    authorization: `Bearer ${key}`,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'delete_board',
  })
  expect(answer.json.result).toMatchObject({ isError: true, _meta: { code: 'invalid_request' } })
})

test('the client of the SDK shows the form to its person', async () => {
  const { id } = await newBoard('By the SDK')
  const transport = new StreamableHTTPClientTransport(new URL(`${service.url}/api/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  const client = new Client(
    { name: 'host', version: '1' },
    { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { form: {} } } },
  )
  const shown: string[] = []
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    shown.push(params.message)
    return { action: 'accept', content: { delete: true } }
  })
  await client.connect(transport)
  const result = await client.callTool({ name: 'delete_board', arguments: { board_id: id } })
  expect(result.structuredContent).toMatchObject({ deleted: true })
  expect(shown).toEqual([expect.stringContaining('By the SDK')])
  await client.close()
})
