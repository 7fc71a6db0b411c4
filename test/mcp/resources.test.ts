import { createHash } from 'node:crypto'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../src/library/accounts/key-checks.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { loadSkills } from '../../src/views/skills.ts'
import * as vocabulary from '../../src/vocabulary.ts'
import { useOpened } from '../support/closing.ts'
import { openToolService, seedLaunches } from './service.ts'
import { post, postModern } from './support.ts'

/** Resources and skills, by the SDK's client of both eras and by raw requests. */

const service = useOpened(() => openToolService())
let frameId: string
let videoId: string
let own: { bearer: { authorization: string }; boardId: string }
let other: { bearer: { authorization: string } }

beforeAll(async () => {
  const { videoIds } = await seedLaunches(service)
  videoId = videoIds[0]!
  const page = await fetch(`${service.url}/api/videos/${videoId}/frames`)
  const { frames } = (await page.json()) as { frames: { id: string }[] }
  frameId = frames[0]!.id
  const key = await service.keyOf('pro')
  const { id: boardId } = await createBoard(service.stores.db, { accountId: key.accountId, name: 'Launch "films"' })
  await pinFrames(service.stores.db, { accountId: key.accountId, boardId, frameIds: [frameId], note: 'the light' })
  own = { ...key, boardId }
  other = await service.keyOf('pro')
})

const ERAS: Record<string, ClientOptions> = {
  legacy: {},
  modern: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
}

async function connect(era: string, headers: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' }, ERAS[era])
  await client.connect(new StreamableHTTPClientTransport(new URL(service.mcp), { requestInit: { headers } }))
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const SKILLS = loadSkills().map(({ uri }) => uri)

/** The error that a request ends with. */
async function faultOf(answer: Promise<unknown>): Promise<{ code: number; message: string; data?: unknown }> {
  return answer.then(
    () => expect.fail('no error'),
    (error) => error,
  )
}

describe.each(Object.keys(ERAS))('in the %s era', (era) => {
  test('anyone reads a frame with its picture, and a video', async () => {
    await using client = await connect(era)
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'frame://{id}',
      'video://{id}',
      'board://{id}',
    ])
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(SKILLS)
    const frame = await client.readResource({ uri: `frame://${frameId}` })
    expect(frame.contents.map(({ mimeType }) => mimeType)).toEqual(['text/plain', 'image/webp'])
    expect(frame.contents[0]).toMatchObject({ uri: `frame://${frameId}`, text: expect.stringContaining('.webp') })
    const video = await client.readResource({ uri: `video://${videoId}` })
    expect(video.contents[0]).toMatchObject({ text: expect.stringContaining(frameId) })
  })

  test('a board is its own account’s, by its id', async () => {
    await using client = await connect(era, own.bearer)
    const { resources } = await client.listResources()
    expect(resources[0]).toMatchObject({ uri: `board://${own.boardId}`, name: 'Launch "films"' })
    expect(resources.slice(1).map(({ uri }) => uri)).toEqual(SKILLS)
    const { contents } = await client.readResource({ uri: resources[0]!.uri })
    expect(contents).toMatchObject([{ text: expect.stringContaining('note: "the light"') }])
    await using stranger = await connect(era, other.bearer)
    expect((await stranger.listResources()).resources.map(({ uri }) => uri)).toEqual(SKILLS)
    const uri = `board://${own.boardId}`
    expect((await faultOf(stranger.readResource({ uri }))).message).toContain('get_board names yours')
    await using anonymous = await connect(era)
    expect((await faultOf(anonymous.readResource({ uri }))).message).toMatch(
      /needs an API key .* boards:read at http.*keys\.$/,
    )
  })
})

test('the cursor in the text of a board leads on with its tool', async () => {
  const { accountId, bearer } = await service.keyOf('pro')
  const { frames } = (await (await fetch(`${service.url}/api/frames`)).json()) as { frames: { id: string }[] }
  const { id: boardId } = await createBoard(service.stores.db, { accountId, name: 'Long' })
  const frameIds = frames.slice(0, 45).map(({ id }) => id)
  await pinFrames(service.stores.db, { accountId, boardId, frameIds })
  await using client = await connect('modern', bearer)
  const { contents } = await client.readResource({ uri: `board://${boardId}` })
  const cursor = /; more with cursor ([\w-]+)/.exec(JSON.stringify(contents))![1]
  const next = await client.callTool({ name: 'get_board', arguments: { board_id: boardId, cursor } })
  expect((next.structuredContent as { frames: object[] }).frames).toHaveLength(5)
})

test('a list of the protocol has one page: a cursor is unknown to each', async () => {
  for (const method of ['tools', 'resources', 'resources/templates', 'skills'].map((of) => `${of}/list`)) {
    const code = async (cursor: unknown) =>
      (await postModern(service.mcp, { method, params: { cursor } })).json.error?.code
    expect([method, await code('x'), await code(null)]).toEqual([method, -32602, undefined])
  }
})

describe('what is not there', () => {
  const uris = [
    'frame://nothing',
    'frame://',
    'video://a/b',
    'ftp://x',
    'skill://x/SKILL.md',
    '../../etc/passwd',
    'x'.repeat(9_000),
  ]
  test.each(uris)('%s is no resource', async (uri) => {
    const params = { uri }
    const modern = await postModern(service.mcp, { method: 'resources/read', params })
    expect(modern.json.error).toMatchObject({ code: -32602, data: { uri: uri.slice(0, 300) } })
    const legacy = await post(service.mcp, { jsonrpc: '2.0', id: 1, method: 'resources/read', params })
    expect(legacy.json.error).toMatchObject({ code: -32002 })
  })

  test('a wrong parameter is told', async () => {
    const asked = async (method: string, params: object) =>
      (await post(service.mcp, { jsonrpc: '2.0', id: 1, method, params })).json.error
    expect(await asked('resources/read', {})).toMatchObject({ code: -32602, message: expect.stringContaining('uri') })
    expect(await asked('skills/get', { uri: 'skill://x' })).toMatchObject({ code: -32602 })
  })

  test('Mcp-Name must repeat what is read', async () => {
    const request = { method: 'resources/read', params: { uri: `frame://${frameId}` } }
    const answer = await postModern(service.mcp, request, { 'mcp-name': 'frame://other' })
    expect([answer.status, answer.json.error.code]).toEqual([400, -32020])
    const silent = await postModern(service.mcp, request, { 'mcp-name': undefined })
    expect([silent.status, silent.json.error.code]).toEqual([400, -32020])
  })
})

test('what belongs to an account is never cached for others', async () => {
  const scopeOf = async (method: string, params: object, headers = {}) =>
    (await postModern(service.mcp, { method, params: { ...params } }, headers)).json.result
  expect(await scopeOf('resources/list', {})).toMatchObject({ cacheScope: 'public' })
  expect(await scopeOf('resources/list', {}, own.bearer)).toMatchObject({ cacheScope: 'private', ttlMs: 0 })
  const board = { uri: `board://${own.boardId}` }
  expect(await scopeOf('resources/read', board, own.bearer)).toMatchObject({ cacheScope: 'private', ttlMs: 0 })
  const frame = { uri: `frame://${frameId}` }
  expect(await scopeOf('resources/read', frame, own.bearer)).toMatchObject({ cacheScope: 'public', ttlMs: 3_600_000 })
})

test('what is no text where one is due is refused, and paid for', async () => {
  const noText = { toString: 1 }
  const told = async (method: string, params: object) => {
    const { json, headers } = await post(service.mcp, { jsonrpc: '2.0', id: 1, method, params })
    return [json.error?.code ?? json.result._meta?.code, /r=\d+/.test(String(headers.ratelimit))]
  }
  expect(await told('resources/read', { uri: noText })).toEqual([-32602, true])
  const board = { name: 'get_board', arguments: { board_id: noText } }
  expect(await told('tools/call', board)).toEqual(['unauthenticated', true])
})

describe('skills', () => {
  test('are read and verified by the SDK, in the modern era only', async () => {
    await using client = await connect('modern')
    const skills = new SkillsClient(client)
    expect(skills.supported).toBe(true)
    const { skills: entries } = await skills.list()
    expect(entries).toHaveLength(4)
    for (const entry of entries) {
      const file = await skills.read(entry)
      expect(file.verified).toBe(true)
      expect(file.frontmatter).toEqual(entry.frontmatter)
      expect((await skills.get(entry.uri)).skill).toEqual(entry)
      expect(`sha256:${createHash('sha256').update(file.bytes).digest('hex')}`).toBe(
        (entry.resources as { digest: string }[])[0]!.digest,
      )
    }
    await using older = await connect('legacy')
    expect(new SkillsClient(older).supported).toBe(false)
  })

  test('name only what there is', () => {
    const names = new Set<string>([
      ...SCOPES,
      ...service.tools.map(({ name }) => name),
      ...service.tools.flatMap(({ input }) => Object.keys((input as unknown as { shape: object }).shape)),
      ...Object.values(vocabulary).flatMap((list) => (Array.isArray(list) ? list : [])),
    ])
    for (const { text } of loadSkills())
      for (const [, word] of text.matchAll(/`([^`]+)`/g)) expect(names, word).toContain(word)
  })

  test('are short enough for every host', () => {
    for (const { text, frontmatter } of loadSkills()) {
      expect(frontmatter.name.length).toBeLessThanOrEqual(64)
      expect(frontmatter.description.length).toBeLessThanOrEqual(1_024)
      expect(text.split('\n').length).toBeLessThan(500)
      expect(text.length).toBeLessThan(20_000)
    }
  })
})
