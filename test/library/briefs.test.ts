import { beforeAll, expect, test } from 'vitest'
import { cutShots, seedFilm } from '../support/film.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

/** What an agent or a person builds from: a film, or a board as a storyboard. */

const service = useService()
let film: string
let bare: string
let empty: string
beforeAll(async () => {
  const { db } = service.stores
  const cut = cutShots([2, 2, 3, 3])
  // Two cuts at 2 and 4 s, and a dissolve through black from 7.0 to 7.6 s.
  const dissolve = {
    ...cut[3]!,
    startMs: 7_600,
    transition: 'dissolve' as const,
    through: 'black' as const,
    held: null,
  }
  film = await seedFilm(db, {
    title: 'Launch "Atlas"',
    author: 'Atlas',
    sourceUrl: 'https://example.com/atlas',
    shots: [...cut.slice(0, 3), dissolve],
    frames: [
      { tSec: 1, caption: 'A <b>red</b> card\n# ![x](y)', technique: 'kinetic-type', steal: 'Hold the last word.' },
      { tSec: 5, caption: 'A phone', onScreenText: 'Ship faster', subject: 'product' },
      { tSec: 8, caption: null },
    ],
  })
  bare = (await seedVideo(db, { title: 'Bare', durationSec: 4, frames: [{ tSec: 0 }, { tSec: 3 }] })).id
  empty = (await seedVideo(db, { title: 'Empty', frames: [] })).id
  await service.drain()
})

const key = () => ({ authorization: `Bearer ${service.operatorKey}` })

async function page(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(service.url + path, { headers })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
async function call(name: string, args: object): Promise<any> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
  const headers = { 'content-type': 'application/json', ...key() }
  const answer = await fetch(`${service.url}/api/mcp`, { method: 'POST', headers, body })
  return ((await answer.json()) as { result: object }).result
}

const beatsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('## '))

test('a film is told in beats with seconds, ways in and out, words, colours and what to take', async () => {
  const { status, type, text } = await page(`/api/videos/${film}/brief.md`)
  expect([status, type]).toEqual([200, 'text/markdown; charset=utf-8'])
  expect(text).toMatch(/^# "Launch 'Atlas'" by "Atlas"\n\n4 beats, 10 s, <https:\/\/example\.com\/atlas>\n/)
  expect(beatsOf(text)).toEqual([
    expect.stringMatching(/^## 1\. 0–2 s: .*kinetic-type/),
    '## 2. 2–4 s',
    expect.stringMatching(/^## 3\. 4–7 s: product/),
    expect.stringMatching(/^## 4\. 7–10 s/),
  ])
  expect(text).toContain('- Seen: "A \\<b\\>red\\</b\\> card # \\!\\[x\\](y)"\n')
  expect(text).toContain('- In: start. Out: cut.\n- Still picture: 20 %. Movement: 40.\n')
  expect(text).toContain('. Movement: 40.\n- Take: "Hold the last word."\n')
  expect(text).toContain('- Words: "Ship faster"\n- In: cut. Out: dissolve of 0.6 s through black.\n')
  expect(text).toContain('- Still picture: unknown.')
  expect(text).toMatch(/- Palette: (#[0-9a-f]{6} ?)+\.\n- Techniques: kinetic-type/)
  expect(text).toMatch(new RegExp(`- !\\[0:00\\]\\(http://\\S+/media/${film}-\\w+-\\w+\\.webp\\)`))
  const told = await call('film_brief', { video_id: film })
  expect(told.content[0].text).toBe(text)
  const { beats } = told.structuredContent
  expect(beats[1]).toMatchObject({ from_sec: 2, to_sec: 4, seen: null, image_url: null, way_in: { kind: 'cut' } })
  expect(beats[3]).toMatchObject({ seen: null, held_share: null, way_in: { length_sec: 0.6, through: 'black' } })
})

test('where no shots are known the frames are the beats, and the rest is said to be unknown', async () => {
  const { text } = await page(`/api/videos/${bare}/brief.md`)
  expect(beatsOf(text).map((line) => line.split(':')[0])).toEqual(['## 1. 0–3 s', '## 2. 3–4 s'])
  expect(text).toContain('- In: unknown. Out: unknown.\n- Still picture: unknown. Movement: unknown.')
  expect(text).toContain('? is unknown: The shots of this film are not known.')
})

test('a film of more shots than a page holds is told in neighbours', async () => {
  const shots = Array.from({ length: 60 }, () => 1)
  const frames = shots.map((_, n) => ({ tSec: n + 0.5, caption: `Shot ${n}` }))
  const id = await seedFilm(service.stores.db, { title: 'Long', shots, frames })
  await service.drain()
  const { text } = await page(`/api/videos/${id}/brief.md`)
  expect(beatsOf(text)).toHaveLength(20)
  expect(beatsOf(text)[0]).toMatch(/^## 1\. 0–3 s.*3 shots$/)
  expect(text.length).toBeLessThan(9_000)
})

test('a board is a storyboard in its owner’s order, with the notes', async () => {
  const { board } = (await call('edit_board', { name: 'Story' })).structuredContent
  const { frames } = (await service.get(`/api/videos/${film}/frames`)).json
  const none = await page(`/api/boards/${board.id}/brief.md`, key())
  expect([none.status, none.text]).toEqual([200, expect.stringContaining('\n0 beats, 0 s\n')])
  const ids = [frames[1].id, frames[0].id]
  await call('pin_frame', { board_id: board.id, frame_ids: ids, note: 'the light' })
  const { text } = await page(`/api/boards/${board.id}/brief.md`, key())
  expect(text).toMatch(/^# "Story"\n\n2 beats, 5 s\n/)
  expect(beatsOf(text).map((line) => line.split(':')[0])).toEqual(['## 1. 4–7 s', '## 2. 0–2 s'])
  expect(text.match(/- Note: "the light"/g)).toHaveLength(2)
  expect((await call('export_board', { board_id: 'Story', type: 'storyboard' })).content[0].text).toBe(text)
  expect((await page(`/api/boards/${board.id}/brief.md`)).status).toBe(401)
  // Of a frame without a known shot its own time is known alone.
  const { frameIds } = await seedVideo(service.stores.db, { durationSec: 200, frames: [{ tSec: 0 }, { tSec: 120 }] })
  await service.drain()
  await call('pin_frame', { board_id: board.id, frame_ids: frameIds[1] })
  const [more] = beatsOf((await page(`/api/boards/${board.id}/brief.md`, key())).text).slice(2)
  expect(more).toMatch(/^## 3\. 120–120 s/)
})

test('what has no frames, or is not there, is refused in a sentence', async () => {
  const refused = await page(`/api/videos/${empty}/brief.md`)
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([409, { code: 'conflict' }])
  const { isError, content } = await call('film_brief', { video_id: empty })
  expect([isError, content]).toEqual([
    true,
    [{ type: 'text', text: 'This film has no frames, so there is nothing to brief.' }],
  ])
  expect((await page('/api/videos/nothing/brief.md')).status).toBe(404)
  expect((await page(`/api/videos/${film}/brief.md?x=1`)).status).toBe(400)
})
