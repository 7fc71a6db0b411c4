import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { videos } from '../../src/db/schema/videos.ts'
import { recordFilm } from '../../src/library/films/films.ts'
import { eq } from '../../src/sql/orm.ts'
import { cutShots, filmPicture } from '../support/film.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

/**
 * Films and boards handed to editing programs. The files are also read back by the programs' own libraries, where
 * Python has them: pip install opentimelineio otio-fcp-adapter timecode
 */

const reads = spawnSync('python3', ['-c', 'import opentimelineio, timecode']).status === 0
const referee = reads ? describe : describe.skip

const service = useService({ worker: true })
let film: string
let frameIds: string[]
beforeAll(async () => {
  const seeded = await seedVideo(service.stores.db, {
    title: 'Launch: Atlas',
    durationSec: 10,
    frames: [
      { tSec: 1, caption: 'A <red> card' },
      { tSec: 6, caption: 'A phone' },
    ],
  })
  film = seeded.id
  frameIds = seeded.frameIds
  // Two cuts at 2 and 4 s, and a dissolve from 7.0 to 7.6 s.
  const cut = cutShots([2, 2, 3, 3])
  const shots = [...cut.slice(0, 3), { ...cut[3]!, startMs: 7600, transition: 'dissolve' as const }]
  const { db } = service.stores
  await db.transaction((tx) => recordFilm(tx, film, { shots, picture: filmPicture(), probe: { durationSec: 10 } }))
  await film30('30000/1001', null)
  await service.drain()
})

async function film30(frameRate: string, startTimecode: string | null): Promise<void> {
  const [num, den] = frameRate.split('/').map(Number) as [number, number]
  const set = { fps: Math.round((num / den) * 1000) / 1000, frameRate, startTimecode }
  await service.stores.db.update(videos).set(set).where(eq(videos.id, film))
}

async function file(path: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(service.url + path, { headers })
  const text = await response.text()
  expect({ path, status: response.status, text: response.ok ? '' : text }).toEqual({ path, status: 200, text: '' })
  expect(response.headers.get('content-disposition')).toContain(path.split('?')[0]!.split('.').at(-1)!)
  return text
}

const key = () => ({ authorization: `Bearer ${service.operatorKey}` })

/** A board of both frames, the later first. */
async function board(): Promise<string> {
  const made = await service.call('POST', '/api/boards', { name: 'Cards' }, key())
  const { id } = made.json.board
  for (const frameId of [...frameIds].reverse())
    await service.call('PUT', `/api/boards/${id}/frames/${frameId}`, { note: 'Keep' }, key())
  return id
}

test('a film is its shots, a gradual transition lies between its clips, frames are markers', async () => {
  const { tracks } = JSON.parse(await file(`/api/videos/${film}/timeline.otio`))
  const items = tracks.children[0].children
  const kinds = items.map((item: { OTIO_SCHEMA: string }) => item.OTIO_SCHEMA)
  expect(kinds).toEqual(['Clip.1', 'Clip.1', 'Clip.1', 'Transition.1', 'Clip.1'])
  const lengths = items.flatMap((item: { source_range?: { duration: { value: number } } }) =>
    item.source_range ? [item.source_range.duration.value] : [],
  )
  // 10 s at 30000/1001 are 300 frames, none lost at a cut.
  expect(lengths.reduce((sum: number, length: number) => sum + length, 0)).toBe(300)
  expect(items[0].markers[0]).toMatchObject({ name: 'A <red> card', marked_range: { start_time: { value: 30 } } })
})

test('no cache keeps a timeline, because its limit headers are of one reader', async () => {
  const { headers } = await fetch(`${service.url}/api/videos/${film}/timeline.csv`)
  expect([headers.get('ratelimit'), headers.get('cache-control')]).toEqual([
    expect.stringContaining('default'),
    'no-store',
  ])
})

test('the timecode of the file starts its source times, and start= the record times', async () => {
  await film30('30000/1001', '10:00:00;00')
  const text = await file(`/api/videos/${film}/timeline.csv?start=00:50:00%3B00`)
  await film30('30000/1001', null)
  expect(text.split('\r\n')[1]).toContain(',10:00:00;00,10:00:02;00,00:50:00;00,00:50:02;00,')
})

test('a board is the shots of its frames in the owner’s order', async () => {
  const id = await board()
  const csv = await file(`/api/boards/${id}/timeline.csv`, key())
  const [, first, second] = csv.split('\r\n')
  expect(first).toContain('A phone')
  expect(first).toContain('00:00:04:00')
  expect(second).toContain('A <red> card')
  expect(csv).toContain('A phone: Keep')
  expect((await service.get(`/api/boards/${id}/timeline.csv`)).status).toBe(401)
})

test('a film of unknown rate is named instead of left out of the file', async () => {
  const id = await board()
  await service.stores.db.update(videos).set({ fps: null }).where(eq(videos.id, film))
  const { status, json } = await service.get(`/api/boards/${id}/timeline.csv`, key())
  await film30('30000/1001', null)
  expect([status, json.message]).toEqual([409, expect.stringMatching('is gone: Launch: Atlas. Leave')])
})

test.each([
  ['timeline.mov', 400, /otio/],
  ['timeline.csv?start=1:00', 400, /timecode/],
  ['timeline.otio?start=00:01:00%3B00', 400, /label/],
  ['timeline.otio?rate=25&start=00:00:00%3B00', 400, /label/],
  ['timeline.otio?rate=31', 400, /29\.97/],
  ['timeline.otio?start=23:59:59:00', 409, /24 hours/],
])('%s is refused with %i, and says what is allowed', async (ending, status, said) => {
  const answer = await service.get(`/api/videos/${film}/timeline.${ending.slice('timeline.'.length)}`)
  expect(answer.status).toBe(status)
  expect(JSON.stringify(answer.json)).toMatch(said)
})

test('a video that nobody knows is 404; an empty board is refused with what to do', async () => {
  expect((await service.get('/api/videos/nothing/timeline.otio')).status).toBe(404)
  const made = await service.call('POST', '/api/boards', { name: 'Empty' }, key())
  const answer = await service.get(`/api/boards/${made.json.board.id}/timeline.otio`, key())
  expect(answer.status).toBe(409)
  expect(answer.json.message).toMatch(/Add frames/)
})

referee('read back by the programs’ own libraries', () => {
  const read = (form: string, text: string, ...more: string[]) => {
    const { stdout, stderr, status } = spawnSync('python3', ['test/support/timeline-referee.py', form, ...more], {
      input: text,
      encoding: 'utf8',
    })
    expect(status, stderr).toBe(0)
    return JSON.parse(stdout)
  }

  test.each([
    ['24000/1001', 24],
    ['25/1', 25],
    ['30000/1001', 30],
    ['30/1', 30],
    ['50/1', 50],
    ['60000/1001', 60],
  ])('at %s every form has the same cuts', async (rate, base) => {
    await film30(rate, null)
    const [num, den] = rate.split('/').map(Number) as [number, number]
    const frame = (sec: number) => Math.round((sec * num) / den)
    const middle = frame(7) + Math.floor((frame(7.6) - frame(7)) / 2)
    const cuts = [frame(0), frame(2), frame(4), middle, frame(10)]
    const expected = [0, 1, 2, 3].map((n) => [`Shot ${n + 1}`, cuts[n], cuts[n + 1]! - cuts[n]!, num / den])
    const path = `/api/videos/${film}/timeline`
    const otio = read('otio', await file(`${path}.otio`))
    expect(otio.cuts).toEqual(expected)
    expect(otio.start).toBe(3600 * base)
    expect(otio.mixes).toEqual([[cuts[3]! - frame(7), frame(7.6) - cuts[3]!]])
    expect(otio.markers).toEqual(['A <red> card', 'A phone'])
    const xml = read('xml', await file(`${path}.xml`))
    expect(xml.cuts.map((cut: unknown[]) => cut.slice(0, 3))).toEqual(expected.map((cut) => cut.slice(0, 3)))
    expect(xml.mixes).toEqual(otio.mixes)
    expect(xml.markers).toEqual(otio.markers)
  })

  test.each([
    ['30000/1001', '10:00:00;00', '01:00:00;00'],
    ['60000/1001', '10:00:00;00', '00:59:59;58'],
  ])('at %s with dropped labels the list has the same cuts and begins at its start', async (rate, own, start) => {
    await film30(rate, own)
    const path = `/api/videos/${film}/timeline`
    const query = `?start=${encodeURIComponent(start)}`
    const otio = read('otio', await file(`${path}.otio${query}`))
    const xml = read('xml', await file(`${path}.xml${query}`))
    expect(xml.cuts.map((cut: unknown[]) => cut.slice(2))).toEqual(otio.cuts.map((cut: unknown[]) => cut.slice(2)))
    const [label] = read('timecode', JSON.stringify([otio.start]), rate === '30000/1001' ? '29.97' : '59.94', 'drop')
    expect(label).toBe(start)
  })
})
