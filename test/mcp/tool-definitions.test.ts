import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { INSTRUCTIONS } from '../../src/mcp/server.ts'
import { describeTool } from '../../src/mcp/tool.ts'
import { filterParameters } from '../../src/views/parameters.ts'
import { seedVideo } from '../support/seed.ts'
import { post, postModern } from './support.ts'
import { callOf, ids, LISTED, useToolLibrary } from './tool-library.ts'

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { date: true } })
const library = useToolLibrary()
const { service, videoIds, call, listed, get } = library

test('whatever a tool is given, it answers or refuses; nothing breaks inside', async () => {
  const { bearer } = await service.keyOf('pro')
  const { board } = (await call('edit_board', { name: 'Kept' }, bearer)).structuredContent
  const frame = ids((await get('/api/frames')).frames)[0]!
  const known = fc.constantFrom(
    '\u0000',
    '\ud800',
    "'; drop table saves; --",
    '%_\\',
    '../..',
    frame,
    board.id,
    'dark',
    '"',
  )
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), known)
  const list = fc.array(text, { maxLength: 3 })
  const value = fc.oneof(text, list, fc.constantFrom(0, 1, 6, 20, -1, 1.5, 1e308, true, false, null))
  const fitting: Record<string, fc.Arbitrary<unknown>> = { array: list, string: text }
  const probe = fc.constantFrom(...service.tools).chain((tool) => {
    const { properties, required = [] } = describeTool(tool).inputSchema as {
      properties: Record<string, { type?: string }>
      required?: string[]
    }
    const fields = Object.entries(properties).map(([name, { type = '' }]): [string, fc.Arbitrary<unknown>] => [
      name,
      fc.oneof({ weight: 4, arbitrary: fitting[type] ?? value }, { weight: 1, arbitrary: value }),
    ])
    return fc.tuple(fc.constant(tool.name), fc.record(Object.fromEntries(fields), { requiredKeys: required }))
  })
  const property = fc.asyncProperty(probe, async ([name, args]) => {
    const { status, json } = await post(service.mcp, callOf(name, args), bearer)
    expect([status, json.error]).toEqual([200, undefined])
    expect(['unavailable', 'internal']).not.toContain(json.result._meta?.code)
  })
  await fc.assert(property, { numRuns: 200 })
})

describe('thrift (o200k tokens)', () => {
  test('twenty hits of search_frames are at most 1,800', async () => {
    for (const query of ['dark', 'headline', 'frame']) {
      const { text, structuredContent } = await call('search_frames', { query })
      if (query === 'dark') expect(structuredContent.frames).toHaveLength(20)
      expect(encode(text).length, text).toBeLessThanOrEqual(1_800)
    }
  })
  test('twenty hits with long captions in another script are bounded too', async () => {
    const caption = '暗い背景に白い見出しが浮かび上がり、カメラがゆっくりと寄っていく。'.repeat(8)
    await seedVideo(service.stores.db, {
      title: '新製品発表'.repeat(20),
      author: '株式会社サンプル',
      frames: Array.from({ length: 20 }, (_, n) => ({
        tSec: n,
        caption: `walrus ${caption}`,
        technique: 'kinetic-type',
        subject: 'text-card' as const,
      })),
    })
    await service.drain()
    const { text, structuredContent } = await call('search_frames', { query: 'walrus' })
    expect(structuredContent.frames).toHaveLength(20)
    expect(encode(text).length).toBeLessThanOrEqual(2_400)
  })
  test('the largest answers are at most 140,000 characters, which clients take', async () => {
    const long = (n: number) => `heron ${n} ${'stands in the reeds and looks over the water '.repeat(14)}`.slice(0, 600)
    const frames = Array.from({ length: 120 }, (_, n) => ({
      ...{ tSec: n, caption: long(n), composition: long(n), steal: long(n), onScreenText: long(n) },
      technique: 'kinetic-type',
    }))
    const { bearer } = await service.keyOf('pro')
    const { id } = await seedVideo(service.stores.db, { title: 'Herons '.repeat(20), author: 'Reed Films', frames })
    await service.drain()
    const first = `${id}-0`
    for (const more of [{}, { detail: 'full' }])
      for (const [name, args] of [
        ['search_frames', { query: 'heron', limit: 100 }],
        ['browse_frames', { video_id: [id], limit: 100, counts: true }],
        ['get_video_frames', { video_id: id }],
        ['get_video_frames', { video_id: id, limit: 120 }],
        ['find_similar_frames', { frame_id: first, video_id: [id], limit: 100 }],
      ] as const) {
        const { content, structuredContent } = await call(name, { ...args, ...more })
        const size = JSON.stringify({ content, structuredContent }).length
        if ('detail' in more) expect(structuredContent.frames, name).toHaveLength(24)
        else expect(structuredContent.frames.length, name).toBeGreaterThanOrEqual(40)
        expect(size, `${name} ${JSON.stringify(more)}`).toBeLessThanOrEqual(140_000)
      }
    const { content, structuredContent } = await call('film_brief', { video_id: id }, bearer)
    expect(structuredContent.beats).toHaveLength(24)
    expect(JSON.stringify({ content, structuredContent }).length).toBeLessThanOrEqual(140_000)
  })
  // What it says, and what it holds as data: many clients show a model one of them.
  test.each<[name: string, args: Record<string, unknown>, text: number, data: number]>([
    ['search_frames', { query: 'dark terminal', limit: 8 }, 540, 960],
    ['search_frames', { query: 'dark', limit: 20 }, 1_170, 1_830],
    ['search_library', { query: 'Northwind' }, 400, 560],
    ['browse_frames', { tone: 'dark', counts: true, limit: 3 }, 775, 890],
    ['get_video_frames', { video_id: 'VIDEO' }, 475, 740],
    ['find_similar_frames', { frame_id: 'FRAME', limit: 6 }, 620, 950],
    ['list_techniques', {}, 225, 165],
    ['describe_film', { video_id: 'VIDEO' }, 380, 600],
    ['film_brief', { video_id: 'VIDEO' }, 1_210, 1_160],
    ['get_board', { board_id: 'Eight' }, 465, 775],
  ])('a usual answer is short: %s %j', async (name, args, most, mostData) => {
    const { bearer } = await service.keyOf('pro')
    const frames = ids((await get(`/api/videos/${videoIds[0]}/frames`)).frames)
    if (name === 'get_board') {
      await call('edit_board', { name: 'Eight' }, bearer)
      await call('pin_frame', { board_id: 'Eight', frame_ids: frames }, bearer)
    }
    const named = JSON.stringify(args).replace('VIDEO', videoIds[0]!).replace('FRAME', frames[0]!)
    const { text, structuredContent } = await call(name, JSON.parse(named), bearer)
    const sizes = [encode(text).length, encode(JSON.stringify(structuredContent)).length]
    expect(sizes[0], text).toBeLessThanOrEqual(most)
    expect(sizes[1]).toBeLessThanOrEqual(mostData)
  })
  test('the list is at most 4,300 with a key and 2,400 without', async () => {
    const { bearer } = await service.keyOf('pro')
    const [open, all] = [await listed(), await listed(bearer)]
    expect([open.length, all.length]).toEqual([6, LISTED.length])
    // Hosts with the gallery keep `_meta` from their model.
    const told = (tools: object[]) =>
      encode(JSON.stringify({ tools: tools.map((tool) => ({ ...tool, _meta: undefined })) }))
    expect(told(all).length).toBeLessThanOrEqual(4_300)
    expect(told(open).length).toBeLessThanOrEqual(2_400)
  })
})

const VALUES: unknown[] = [
  ...[0, -1, 1, 51, 1.5, 'x', 'a'.repeat(3_000), true, null, {}],
  ...[[], [1], ['x'], ['dark'], ['text-card']],
]

describe('definitions', () => {
  test('every tool has a title, a description, all four hints and closed schemas', async () => {
    for (const tool of service.tools) {
      const definition = describeTool(tool, { output: true })
      expect(definition.name).toMatch(/^[a-z_]{1,64}$/)
      expect(definition.description.length).toBeGreaterThan(20)
      expect(definition.annotations).toEqual({
        readOnlyHint: expect.any(Boolean),
        destructiveHint: expect.any(Boolean),
        idempotentHint: expect.any(Boolean),
        // It fetches what others publish.
        openWorldHint: tool.name === 'add_video',
      })
      for (const schema of [definition.inputSchema, definition.outputSchema!]) {
        expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
        expect(ajv.compile(schema)({ surplus: 1 }), tool.name).toBe(false)
      }
      if (tool.annotations.readOnlyHint) expect(tool.annotations.destructiveHint).toBe(false)
      // What may write needs a key, and what is kept for everybody does not.
      if (!tool.annotations.readOnlyHint) for (const scope of [tool.scope].flat()) expect(scope).toMatch(/:write$/)
      // Pictures are kept nowhere twice.
      expect(tool.cacheable).toBe(!tool.visibleTo && (tool.scope === null || tool.scope === 'any'))
    }
  })
  test('closed lists are the lists of the HTTP parameters, word for word, told once', () => {
    for (const name of ['search_frames', 'browse_frames']) {
      // biome-ignore lint/suspicious/noExplicitAny: a JSON Schema is looked into
      const properties = describeTool(service.tools.find((tool) => tool.name === name)!).inputSchema.properties as any
      expect(properties.not, `${name}.not`).toBeDefined()
      for (const [parameter, { schema }] of Object.entries(filterParameters)) {
        if (parameter.startsWith('not_')) continue
        const attribute = parameter === 'video' ? 'video_id' : parameter
        expect(properties[attribute], `${name}.${attribute}`).toBeDefined()
        const told = name === 'search_frames' && 'options' in schema ? schema.options : undefined
        expect(properties[attribute].items?.enum, `${name}.${attribute}`).toEqual(told)
      }
    }
  })
  test('no description names an argument, tool or number that its schema does not have', () => {
    const names = new Set(service.tools.map((tool) => tool.name))
    for (const tool of service.tools) {
      const text = JSON.stringify(describeTool(tool, { output: true }))
      for (const [word] of text.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)) {
        const properties = [...text.matchAll(/"([a-z_]+)":\{/g)].map((match) => match[1])
        expect(
          names.has(word) || properties.includes(word) || text.includes(`"${word}"`),
          `${tool.name} names ${word}`,
        ).toBe(true)
      }
      for (const [, number] of tool.description.matchAll(/up to (\d+)/g)) expect(text).toContain(`"maxItems":${number}`)
    }
  })
  test('what the input schema allows is run, what it forbids is refused', async () => {
    for (const tool of service.tools.filter((tool) => tool.scope === null)) {
      const { inputSchema } = describeTool(tool)
      const validate = ajv.compile(inputSchema)
      const required = new Set((inputSchema.required as string[] | undefined) ?? [])
      const known = Object.fromEntries(
        Object.entries({ query: 'dark', video_id: [videoIds[0]], frame_id: 'x' }).filter(([name]) =>
          required.has(name),
        ),
      )
      for (const [name, property] of Object.entries(
        inputSchema.properties as Record<string, Record<string, unknown>>,
      )) {
        const own = [undefined, property.default, ...((property.enum as unknown[]) ?? [])]
        for (const value of [...own, ...VALUES]) {
          const args = JSON.parse(JSON.stringify({ ...known, [name]: value }))
          // A text for a list is understood, although the schema asks for the list.
          if (property.type === 'array' && typeof value === 'string') continue
          // Other tools than search_frames tell filters without their values.
          if (tool.name !== 'search_frames' && property.type === 'array' && Array.isArray(value)) continue
          expect(tool.input.safeParse(args).success, `${tool.name} ${JSON.stringify(args).slice(0, 200)}`).toBe(
            validate(args),
          )
        }
      }
    }
  })
  test('every example in a description or in the instructions finds frames', async () => {
    const texts = [INSTRUCTIONS, ...service.tools.map((tool) => JSON.stringify(describeTool(tool)))]
    const examples = texts.flatMap((text) => [...text.matchAll(/\\?"([a-z]+(?: [a-z]+)+)\\?"/g)].map(([, one]) => one!))
    expect(examples).toEqual(expect.arrayContaining(['white headline on black', 'dark terminal with a command']))
    for (const query of examples)
      expect((await call('search_frames', { query })).structuredContent.frames.length, query).toBeGreaterThan(0)
  })
  test('both eras list the same tools', async () => {
    expect((await postModern(service.mcp, { method: 'tools/list' })).json.result.tools).toEqual(await listed())
  })
})
