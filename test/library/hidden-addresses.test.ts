import { expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { seedVideo } from '../support/seed.ts'
import { frames, openScripted, scriptedAnnotator } from './support.ts'

/** What lets its holder in: a signature with what it signs, and the hash of an unlisted video. */
const SIGNATURE = '0badc0de5ecret'
const HASH = 'f00dcafe99'
const SIGNED =
  'https://cdn.acme.com/films/launch.mp4?version=2&Expires=1790000000&Key-Pair-Id=K0PLANTED' +
  `&X-Amz-Signature=${SIGNATURE}`
const UNLISTED = `https://vimeo.com/76979871/${HASH}`
const SECRETS = [SIGNATURE, HASH, 'K0PLANTED', '1790000000']

const open = (worker: boolean) =>
  openScripted(
    scriptedAnnotator('scripted@1', () => ({})),
    { worker, env: { LOG_LEVEL: 'debug', YTDLP_PATH: '/bin/false' } },
  )
const service = useOpened(() => open(true))

const showsNothing = (place: string, text: string) =>
  expect([place, SECRETS.filter((secret) => text.includes(secret))]).toEqual([place, []])

test('a signed address and an unlisted hash are in no answer, page, tool result, export, event or log', async () => {
  const { db } = service.stores
  const signed = await seedVideo(db, {
    sourceKey: `url:${SIGNED}`,
    sourceUrl: SIGNED,
    title: 'Signed film',
    frames: [{ caption: 'A red kite' }],
  })
  const unlisted = await seedVideo(db, {
    sourceKey: 'vimeo:76979871',
    sourceUrl: UNLISTED,
    platform: 'vimeo',
    title: 'Unlisted film',
    frames: [{ caption: 'A red kite again', tSec: 12 }],
  })
  await service.drain()

  const [frame] = (await service.get(`/api/videos/${signed.id}/frames`)).json.frames
  expect(frame.source_url).toBe('https://cdn.acme.com/films/launch.mp4#t=0')
  expect(frame.video.source_url).toBe('https://cdn.acme.com/films/launch.mp4')
  const [second] = (await service.get(`/api/videos/${unlisted.id}/frames`)).json.frames
  expect(second.source_url).toBe('https://vimeo.com/76979871#t=12s')
  expect(second.video.source_url).toBe('https://vimeo.com/76979871')

  // The address itself still finds its video, as it was submitted.
  for (const [address, id] of [
    [SIGNED, signed.id],
    [UNLISTED, unlisted.id],
    // And so does what is shown of it, which people copy.
    ['https://cdn.acme.com/films/launch.mp4', signed.id],
    ['https://vimeo.com/76979871', unlisted.id],
    ['https://cdn.acme.com/films/other.mp4', undefined],
  ] as const) {
    const found = await service.get(`/api/search?q=${encodeURIComponent(address)}`)
    expect(found.json.videos.map((video: { id: string }) => video.id)).toEqual(id === undefined ? [] : [id])
    showsNothing('search', JSON.stringify(found.json))
  }

  const { board } = (await service.call('POST', '/api/boards', { name: 'Shared' })).json
  const frameIds = [...signed.frameIds, ...unlisted.frameIds]
  await service.call('POST', `/api/boards/${board.id}/frames`, { frameIds })
  for (const frameId of frameIds) await service.call('POST', '/api/favourites', { frameId })
  const shared = (await service.call('POST', `/api/boards/${board.id}/share`, {})).json
  const local = (url: string) => new URL(url).pathname
  const places = [
    '/api/search',
    '/api/search?q=kite',
    '/api/frames?facets=1&provenance=1',
    '/api/videos',
    ...[signed, unlisted].flatMap(({ id, frameIds: [first] }) => [
      `/api/videos/${id}`,
      `/api/videos/${id}/frames`,
      `/api/videos/${id}/status?explain=1`,
      `/api/frames/${first}`,
      `/api/frames/${first}/similar`,
      `/frames/${first}`,
    ]),
    '/',
    '/api/favourites',
    '/api/favourites/export',
    '/api/favourites/export?format=csv',
    `/api/boards/${board.id}`,
    `/api/boards/${board.id}/export`,
    local(shared.url),
    local(shared.json_url),
    '/api/events?limit=1000',
  ]
  const headers = { authorization: `Bearer ${service.operatorKey}` }
  for (const place of places) {
    const response = await fetch(service.url + place, { headers })
    const text = await response.text()
    expect([place, response.status]).toEqual([place, 200])
    expect(text.length).toBeGreaterThan(50)
    showsNothing(place, text)
  }
  const tools = [
    ['search_frames', { query: 'kite' }],
    ['search_library', { query: 'film' }],
    ['browse_frames', {}],
    ['get_video_frames', { video: signed.id }],
    ['get_video_frames', { video: unlisted.id }],
    ['list_saves', {}],
    ['get_board', { board_id: board.id }],
  ] as const
  for (const [name, args] of tools) {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
    const { json } = await service.call('POST', '/api/mcp', body)
    expect([name, json.result?.isError ?? false]).toEqual([name, false])
    showsNothing(name, JSON.stringify(json))
  }
  for (const args of [['status'], ['status', signed.id], ['status', unlisted.id, '--json'], ['events']]) {
    const { stdout, stderr } = await frames(service, service.stores.redisUrl, args)
    expect(stdout).not.toBe('')
    showsNothing(args.join(' '), stdout + stderr)
  }
  showsNothing('the log', service.logs.join('\n'))
})

test('a submission is answered and named without them, and what is the same video stays so', async () => {
  // Without a worker nothing is fetched.
  await using idle = await open(false)
  const post = async (url: string) => (await idle.call('POST', '/api/videos', { url })).json
  const hash = 'abcdef0123'
  const first = await post(`https://player.vimeo.com/video/44455566?h=${hash}`)
  expect(first.video).toMatchObject({ title: 'vimeo.com/44455566', source_url: 'https://vimeo.com/44455566' })
  expect(await post(`https://vimeo.com/44455566/${hash}`)).toMatchObject({ created: false, video: first.video })
  expect(await post('https://vimeo.com/44455566')).toMatchObject({ created: false, video: first.video })

  const base = 'https://cdn.acme.com/films/second.mp4'
  const one = await post(`${base}?sig=one`)
  expect(one.video).toMatchObject({ title: 'second', source_url: base })
  expect((await post(`${base}?sig=two`)).created).toBe(true)
  expect((await post(`${base}?sig=one`)).created).toBe(false)
  // Kept for fetching.
  const { rows } = await idle.stores.db.$client.query('select source_url from videos where id = any($1)', [
    [first.video.id, one.video.id],
  ])
  expect(rows.map((row) => row.source_url).sort()).toEqual([`${base}?sig=one`, `https://vimeo.com/44455566/${hash}`])
})
