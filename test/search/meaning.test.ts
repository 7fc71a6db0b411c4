import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openApi } from '../../src/server/main.ts'
import { fakeEmbedder } from '../support/fake-embedder.ts'
import { type SeedFrame, seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/* A question is answered by its words, and by frames that mean the same where few have the words. */

let service: Service
let ids: Record<string, string>
const model = fakeEmbedder()
const CAPTIONS = {
  kettle: 'Steam rises above a kettle',
  dog: 'A puppy on wet grass',
  bakery: 'Loaves leave the oven',
  lock: 'A padlock snaps shut',
  pad: 'A spacecraft on its pad',
  lift: 'A spacecraft lifts off',
}
/** These show the same picture. */
const SAME = { phash: '0f0f0f0f0f0f0f0f', luma: 90 }
beforeAll(async () => {
  service = await openService({ workerOptions: { embedder: model, reconcileMs: 100 }, overrides: { embedder: model } })
  const others = Array.from({ length: 40 }, (_, n) => ({ caption: `Wall number ${n} of painted boards` }))
  const meant = Object.values(CAPTIONS).map((caption) => {
    const picture = caption.includes('spacecraft') ? SAME : caption === CAPTIONS.kettle && { phash: '0000000000000000' }
    return { caption, subject: 'b-roll' as const, ...picture }
  })
  const frames = [...meant, ...others]
  const { frameIds } = await seedVideo(service.stores.db, { frames })
  ids = Object.fromEntries(Object.keys(CAPTIONS).map((key, n) => [key, frameIds[n]!]))
  // One shows what the kettle shows but looks different, one looks about as it does but shows something else.
  const unlike: SeedFrame = {
    palette: ['#00ff00'],
    paletteShares: [1],
    phash: 'ffffffffffffffff',
    subject: 'ui',
    tone: 'bright',
  }
  const besides: SeedFrame[] = [
    { caption: 'The kettle boils', ...unlike },
    { caption: 'Wall of painted boards', phash: '00000000003fffff', subject: 'crowd', tone: 'dark' },
  ]
  const film = await seedVideo(service.stores.db, { frames: besides })
  ids = { ...ids, boils: film.frameIds[0]!, wall: film.frameIds[1]! }
  // What is measured gives many frames one caption, whatever they show.
  const looks = ['#ff0000', '#00ff00', '#0000ff', '#ffff00', '#ff00ff', '#00ffff', '#ffffff']
  for (const at of [0, 1]) {
    const frames = looks.map((colour, n): SeedFrame => {
      const phash = (at ? '0f' : 'f0').repeat(8).replaceAll('f', (n + 8).toString(16))
      return { caption: 'Bright picture, no face', palette: [colour], paletteShares: [1], phash }
    })
    ids[`stock${at}`] = (await seedVideo(service.stores.db, { frames })).frameIds[0]!
  }
  await service.drain()
  const searched = () => service.stores.db.$client.query('select from library_search.space')
  await until(async () => (await searched()).rows.length === 1)
  await service.drain()
})
afterAll(() => service[Symbol.asyncDispose]())

const get = async (path: string) => (await service.get(path)).json
const idsOf = (list: { id: string }[] | undefined) => list?.map(({ id }) => id)

async function callTool(name: string, args: object) {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const { json } = await service.call('POST', '/api/mcp', body)
  return json.result.content[0].text as string
}

describe('a question without a word of the library', () => {
  test('finds what means the same behind an empty page, marked and not counted', async () => {
    const found = await get('/api/frames?q=animal&facets=1')
    expect(found).toMatchObject({ frames: [], total: 0, read_as: { meaning: 'close' } })
    expect(idsOf(found.close)).toEqual([ids.dog])
    expect(found.close[0].matched).toEqual({ meaning: expect.stringMatching(/^0\.[5-9]\d$/) })
    expect(found.close[0].missing).toEqual(['animal'])
  })

  test('has the body of the specification without facets', async () => {
    expect(await get('/api/frames?q=animal')).toEqual({ page: 1, frames: [], hasMore: false })
  })

  test('passes the filters', async () => {
    expect((await get('/api/frames?q=animal&facets=1&subject=ui')).close).toBeUndefined()
    expect(idsOf((await get('/api/frames?q=animal&facets=1&subject=b-roll')).close)).toEqual([ids.dog])
  })

  test('shows no picture twice where variety is asked for', async () => {
    expect(idsOf((await get('/api/frames?q=astronaut&facets=1')).close)?.sort()).toEqual([ids.pad, ids.lift].sort())
    expect((await get('/api/frames?q=astronaut&facets=1&variety=on')).close).toHaveLength(1)
    const alone = await get('/api/frames?q=astronaut&sort=meaning&variety=on')
    expect(idsOf(alone.frames)!.filter((id) => [ids.pad, ids.lift].includes(id))).toHaveLength(1)
  })

  test('stands in the search of everything, on the wall and in the tools', async () => {
    expect(idsOf((await get('/api/search?q=animal')).frames)).toEqual([ids.dog])
    const page = await (await fetch(`${service.url}/?q=animal`)).text()
    expect(page).toMatch(/<h2>Close in meaning<\/h2>[\s\S]*A puppy on wet grass/)
    const text = await callTool('search_frames', { query: 'animal' })
    expect(text).toMatch(/^0 frames, then 1 close in meaning[\s\S]*close in meaning: 0\.[5-9]/)
    // It comes besides the limit, except in full.
    const both = await callTool('search_frames', { query: 'loaves animal' })
    expect(both).toMatch(/^1 frame, then \d close in meaning/)
    expect(both).not.toContain('More frames are close')
    expect(await callTool('search_frames', { query: 'loaves animal', limit: 1 })).toMatch(/^1 frame, then 1 close/)
    const one = await callTool('search_frames', { query: 'loaves animal', limit: 1, detail: 'full' })
    expect(one).toMatch(/^1 frame;[\s\S]*More frames are close in meaning: sort meaning shows them\./)
    expect(one.match(/\.webp/g)).toHaveLength(1)
    expect(await callTool('search_library', { query: 'animal' })).toContain('close in meaning: 0.')
  })

  test('is told where nothing is close', async () => {
    const found = await get('/api/frames?q=zeppelin&facets=1')
    expect(found).toMatchObject({ frames: [], read_as: { meaning: 'nothing close' } })
    expect(found.close).toBeUndefined()
    expect(await callTool('search_frames', { query: 'zeppelin' })).toContain('By meaning: nothing close.')
    expect(await (await fetch(`${service.url}/?q=zeppelin`)).text()).toContain('Nothing is close in meaning either.')
  })
})

test('frames with every word come first, and a full page asks for no meaning', async () => {
  const found = await get('/api/frames?q=puppy&facets=1')
  expect(idsOf(found.frames)).toEqual([ids.dog])
  expect(found.total).toBe(1)
  expect(idsOf(found.close) ?? []).not.toContain(ids.dog)
  const asked = model.asked.length
  await get('/api/search?q=painted%20boards&limit=5')
  expect(model.asked).toHaveLength(asked)
})

test('what is left out or in quotes is not found by meaning', async () => {
  expect(idsOf((await get('/api/frames?q=animal%20-grass&facets=1')).close) ?? []).not.toContain(ids.dog)
  const quoted = await get('/api/frames?q=%22animal%22&facets=1')
  expect(quoted.read_as).not.toHaveProperty('meaning')
})

test('sort=meaning has the nearest frames alone, on one page', async () => {
  const { frames, hasMore } = await get('/api/frames?q=pet&sort=meaning')
  expect(frames[0].id).toBe(ids.dog)
  expect(frames).toHaveLength(24)
  expect(hasMore).toBe(false)
  expect((await get('/api/frames?q=pet&sort=meaning&page=2')).frames).toEqual([])
  expect((await service.get('/api/frames?sort=meaning')).status).toBe(400)
  const quoted = await service.get('/api/frames?q=%22pet%22&sort=meaning')
  expect([quoted.status, quoted.json.message]).toEqual([400, expect.stringContaining('without quotes')])
})

test('of a long question as much is compared as of a frame', async () => {
  await get(`/api/frames?q=${'animal%20'.repeat(200)}&facets=1`)
  expect(model.asked.at(-1)).toHaveLength(600)
})

test('frames like one are alike in meaning too, and end where likeness does', async () => {
  const { frames } = await get(`/api/frames/${ids.kettle}/similar?other_videos=1`)
  expect(frames.map(({ id, matched }: { id: string; matched: object }) => [id, matched])).toEqual([
    [ids.boils, { meaning: expect.stringMatching(/^0\.[5-9]\d$/) }],
  ])
  const told = await callTool('find_similar_frames', { frame_id: ids.kettle!, other_videos: true })
  expect(told).toMatch(/shares meaning 0\.[5-9]/)
})

test('a caption that many frames share is no likeness in meaning', async () => {
  const { frames } = await get(`/api/frames/${ids.stock0}/similar?other_videos=1`)
  expect(frames.filter(({ matched }: { matched: object }) => 'meaning' in matched)).toEqual([])
})

test('a question in another language is not compared', async () => {
  expect((await get('/api/frames?q=das%20tier%20auf%20der%20wiese&facets=1')).read_as.meaning).toBe('english only')
  expect((await get('/api/frames?q=動物&facets=1')).read_as.meaning).toBe('english only')
})

test('a question that the model refuses rests it for nobody', async () => {
  model.refuse('odd')
  expect((await get('/api/frames?q=odd%20animal&facets=1')).read_as.meaning).toBe('unavailable')
  expect((await get('/api/frames?q=even%20animal&facets=1')).read_as.meaning).toBe('close')
  model.refuse(undefined)
})

test('without a vector words answer, and nobody keeps that', async () => {
  model.fail('away')
  const path = '/api/frames?q=hot%20drink%20for%20two&facets=1'
  const { json, headers } = await service.get(path)
  expect(json.read_as.meaning).toBe('unavailable')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('etag')).toBeNull()
  // Told where meaning would add frames, below those of the words.
  const page = await (await fetch(`${service.url}/?q=hot+drink+for+two`)).text()
  expect(page).toContain('<div id="close"><p class="reading">Found by words alone.')
  model.fail(undefined)
  // The model rests after its failure, then a question tries it.
  await until(async () => (await get(path)).read_as.meaning === 'close')
})

test('where it is off, sort=meaning says so, and no answer with meaning counts as current', async () => {
  const { databaseUrl, redisUrl, prefix } = service.stores
  const { config, logger } = service
  const stores = { databaseUrl, redisUrl, prefix, config, logger }
  const off = await openApi({ ...stores, port: 0, host: '127.0.0.1', overrides: { versionTtlMs: 0 } })
  onTestFinished(() => off.stop())
  const ask = (path: string, headers = {}) => fetch(`http://127.0.0.1:${off.port}${path}`, { headers })
  const refused = await ask('/api/frames?q=tea&sort=meaning')
  expect([refused.status, await refused.json()]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringContaining('EMBED') }),
  ])
  const path = '/api/frames?q=tea&facets=1'
  const kept = (await service.get(path)).headers.get('etag')
  expect(kept).toMatch(/^W\/"/)
  const plain = await ask(path, { 'if-none-match': kept })
  expect(plain.status).toBe(200)
  expect((await plain.json()).read_as).not.toHaveProperty('meaning')
  const alike = await ask(`/api/frames/${ids.kettle}/similar?other_videos=1`)
  expect(idsOf((await alike.json()).frames)).toEqual([ids.wall])
})
