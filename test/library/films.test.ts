import { beforeAll, expect, test } from 'vitest'
import { films, shots, videos } from '../../src/db/schema/videos.ts'
import { appendEvent } from '../../src/events/append.ts'
import { recordFilm } from '../../src/library/films/films.ts'
import { eq } from '../../src/sql/orm.ts'
import { cutShots, filmPicture, seedFilm } from '../support/film.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const service = useService({ worker: true })
/** A cut, a dissolve of half a second, a fade through black. */
let mixed: string
let brisk: string
let twin: string
let slow: string
let single: string
/** Its picture could not be measured. */
let blind: string
beforeAll(async () => {
  const { db } = service.stores
  const way = (fromMs: number, toMs: number, clean: [number, number]) => ({
    ...cutShots([1])[0]!,
    ...{ fromMs, toMs, startMs: clean[0], endMs: clean[1] },
  })
  mixed = await seedFilm(db, {
    author: 'Atlas',
    shots: [
      { ...way(0, 4000, [0, 4000]) },
      { ...way(4000, 9000, [4000, 8750]), transition: 'cut' },
      { ...way(9000, 15_000, [9250, 14_500]), transition: 'dissolve' },
      { ...way(15_000, 20_000, [15_500, 20_000]), transition: 'fade', through: 'black' },
    ],
    frames: [
      { tSec: 1, subject: 'text-card', onScreenText: 'Ship it today' },
      { tSec: 5, subject: 'text-card', onScreenText: 'x'.repeat(120) },
      { tSec: 10, subject: 'ui' },
    ],
  })
  brisk = await seedFilm(db, { author: 'Atlas', shots: [1, 0.5, 1.5, 1, 2, 0.5, 1, 1.5, 1, 2], picture: BRISK })
  twin = await seedFilm(db, { shots: [1, 0.5, 1.5, 1, 2, 0.5, 1, 1.5, 1, 2, 1], picture: { ...BRISK, luma: 200 } })
  slow = await seedFilm(db, {
    shots: [20, 31, 25, 18],
    picture: { held_share: 0.9, motion: 2, loudness: -30 },
  })
  single = await seedFilm(db, { shots: [12], picture: { luma: 30 } })
  const picture = { held_share: null, motion: null }
  blind = await seedFilm(db, { author: 'Blind', shots: [2, 4, 6], picture })
  await service.drain()
})

const BRISK = { held_share: 0.05, motion: 300 }

async function film(id: string, query = '') {
  const { status, json } = await service.get(`/api/videos/${id}/film${query}`)
  expect(status).toBe(200)
  return json.film
}

test('shots have bounds that meet, a clean part, and the ways in and out', async () => {
  const answer = await service.get(`/api/videos/${mixed}/shots`)
  expect(answer.headers.get('cache-control')).toContain('public')
  const found = answer.json.shots
  expect(found.map(({ from_sec, to_sec }: never) => [from_sec, to_sec])).toEqual([
    [0, 4],
    [4, 9],
    [9, 15],
    [15, 20],
  ])
  expect(found[1]).toMatchObject({
    n: 2,
    clean_from_sec: 4,
    clean_to_sec: 8.75,
    way_in: { kind: 'cut', length_sec: 0, through: null },
    way_out: { kind: 'dissolve', length_sec: 0.5 },
    held_share: 0.2,
    motion: 40,
  })
  expect(found[3]).toMatchObject({
    way_in: { kind: 'fade', length_sec: 1, through: 'black' },
    way_out: { kind: 'end' },
  })
  expect(found.map(({ frame_ids }: never) => (frame_ids as string[]).length)).toEqual([1, 1, 1, 0])
  expect(answer.json.missing).toEqual({})
})

test('the measures of a film are exact, and what cannot be is null with a reason', async () => {
  const { measures, transitions, missing, text, structure, shares, curves } = await film(mixed)
  expect(measures).toMatchObject({
    duration_sec: 20,
    shots: 4,
    shots_a_minute: 12,
    shot_median_sec: 5,
    gradual_share: 0.667,
    held_share: 0.2,
  })
  expect(transitions).toEqual([
    { kind: 'cut', count: 1, median_sec: 0 },
    { kind: 'dissolve', count: 1, median_sec: 0.5 },
    { kind: 'fade', count: 1, median_sec: 1 },
  ])
  expect(missing).toEqual({})
  expect(structure.map(({ subject }: never) => subject)).toEqual(['text-card', 'ui'])
  expect(shares.subject[0]).toEqual({ value: 'ui', share: 0.538 })
  expect(curves.pace).toHaveLength(32)
  expect(curves.colors[0]).toMatch(/^#[0-9a-f]{6}$/)
  // 120 characters stand for 4.75 seconds; grown-ups read twenty a second.
  expect(text).toMatchObject({ cards: 2, too_fast: [{ t_sec: 5, characters: 120 }] })
  expect(measures).toMatchObject({ loudness: -20, silence_share: 0 })
  const alone = await film(single)
  expect(alone.measures).toMatchObject({ shots: 1, shot_median_sec: null, gradual_share: null, luma: 30 })
  expect(alone.missing.shot_median_sec).toMatch(/needs 3 shots, and the film has 1/)
  expect((await film(blind)).missing.held_share).toMatch(/could not be measured/)
})

test('a film stands among the others, and says among how many', async () => {
  const { standing, unusual } = await film(brisk)
  // `single` has no median shot.
  expect(standing.shot_median_sec).toEqual({ n: 4, below: 0, same: 1, percentile: 0.125 })
  expect(standing.motion).toMatchObject({ n: 4, below: 3, same: 1 })
  expect(unusual.join()).toContain('more moving than 3 of 4')
  expect((await film(brisk, '?within=author')).standing.shot_median_sec).toMatchObject({ n: 1, below: 0 })
  expect((await service.get(`/api/videos/${brisk}/film?within=town`)).json.message).toMatch(/author/)
})

test('similar films are near by style or by look, with the measures that say why', async () => {
  const { similar, among } = (await service.get(`/api/videos/${brisk}/similar`)).json
  expect(among).toBe(6)
  expect(similar[0]).toMatchObject({ video: { id: twin }, why: expect.arrayContaining(['shot_median_sec']) })
  expect(similar[0].distance).toBeLessThan(similar[1].distance)
  const look = (await service.get(`/api/videos/${brisk}/similar?by=look&limit=1`)).json.similar
  expect(look).toHaveLength(1)
  expect(look[0].video.id).not.toBe(twin)
})

test('films are filtered and sorted by any measure, page by page', async () => {
  const ids = async (query: string) => {
    const { json } = await service.get(`/api/films?${query}`)
    return { ...json, ids: json.films.map(({ video }: { video: { id: string } }) => video.id) }
  }
  const still = await ids('sort=held_share')
  expect(still.ids[0]).toBe(slow)
  expect(still).toMatchObject({ total: 5, without: 1 })
  expect((await ids('sort=luma&order=asc')).ids[0]).toBe(single)
  expect((await ids('sort=loudness&max=loudness:-25')).ids).toEqual([slow])
  expect((await ids('min=shot_median_sec:4&max=motion:60&author=Atlas')).ids).toEqual([mixed])
  const first = await ids('sort=duration_sec&limit=4')
  const second = await ids(`sort=duration_sec&limit=4&after=${first.next}`)
  expect(second.next).toBeNull()
  const all = [...first.ids, ...second.ids]
  expect(new Set(all)).toEqual(new Set([mixed, brisk, twin, slow, single, blind]))
  expect(all[0]).toBe(slow)
})

test('films are compared by what differs most', async () => {
  const { json } = await service.get(`/api/compare?videos=${brisk},${slow}`)
  const shown = json.films.map(({ video }: { video: { id: string } }) => video.id)
  expect(shown).toEqual([brisk, slow].sort())
  const named = json.differences.map(({ measure }: { measure: string }) => measure)
  expect(named.slice(0, 6)).toContain('held_share')
  const { values } = json.differences.find(({ measure }: { measure: string }) => measure === 'held_share')
  expect(values[shown.indexOf(brisk)]).toBe(0.05)
})

const page = async (path: string) => {
  const response = await fetch(service.url + path)
  return { status: response.status, text: await response.text() }
}

test('the page of a video begins with its frames, and folds how it is built', async () => {
  const { text } = await page(`/videos/${brisk}`)
  expect(text).toContain('aria-label="10 shots over 0:12"')
  expect(text.indexOf('class="wall storyboard"')).toBeLessThan(text.indexOf('<summary>How it is built'))
  expect(text).toMatch(/Shot 2: 1 s to 1.5 s, 0.5 s long, after a cut/)
  expect(text).toMatch(/aria-label="Pace: at most [\d.]+, at least [\d.]+ shots begin a second"/)
  expect(text).toContain('shorter shots than 3 of 4')
  expect(text).toContain(`/compare?videos=${brisk}&amp;videos=${twin}`)
  expect(text).toContain(`/api/videos/${brisk}/timeline.otio`)
  expect(text).toMatch(/Loudness<\/a><\/th>\s*<td>-20\sLUFS/)
  const fast = await page(`/videos/${mixed}`)
  expect(fast.text).toContain('Shot 1: 0 s to 4 s, 4 s long, the first</title>')
  expect(fast.text).toMatch(/Too fast to read: <a href="\/frames\/[^"]+">0:05<\/a> \(25 characters/)
  const alone = await page(`/videos/${single}`)
  expect(alone.text).toContain('It needs 3 shots, and the film has 1.')
  expect(alone.text).toContain('· 1 shot ·')
})

test('films are posters with the figure that they are sorted by, and a page compares some', async () => {
  const films = await page('/films?sort=held_share')
  expect(films.text).toContain('5 films, 1 film without this measure left out.')
  expect(films.text).toContain('5\u00a0% still')
  expect((await page('/films')).text).toContain('1.2\u00a0s a shot')
  expect(films.text.indexOf(slow)).toBeLessThan(films.text.indexOf(brisk))
  const narrowed = await page('/films?sort=luma&min=shots:4&max=motion:60&author=Atlas')
  expect(narrowed.text).toContain('Only Atlas, shots at least 4, movement at most 60.')
  expect(narrowed.text).toContain('min=shots%3A4&amp;max=motion%3A60&amp;sort=duration_sec&amp;order=asc')
  expect(narrowed.text).toContain('aria-current="true">Most brightness</a>')
  expect(narrowed.text.match(/name="videos" value="[^"]+"/g)).toEqual([`name="videos" value="${mixed}"`])
  const compared = await page(`/compare?videos=${brisk}&videos=${slow}`)
  expect(compared.text).toMatch(/Still picture<\/th>\s*<td>(5\s%<\/td><td>90\s%|90\s%<\/td><td>5\s%)/)
  expect(compared.text).toContain('10 shots over 0:12')
  // Heights are on one scale: of two films one curve reaches the top.
  const paces = [...compared.text.matchAll(/aria-label="Pace: at most ([\d.]+).*?<path d="(M[^"]*)"/gs)]
  const topOf = (path: string) => Math.min(...[...path.matchAll(/L[\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y)))
  const [most, least] = paces.toSorted((a, b) => Number(b[1]) - Number(a[1])).map(([, , path]) => topOf(path!))
  expect([most, least! > most!]).toEqual([0, true])
  const alone = await page(`/compare?videos=${brisk}`)
  expect([alone.status, alone.text]).toEqual([400, expect.stringContaining('Choose two to six films')])
  expect((await page('/films?min=shots:900')).text).toContain('No film has these. Leave out a filter or a bound.')
  expect((await page('/compare')).status).toBe(400)
  expect((await page('/films?sort=speed')).status).toBe(400)
})

test.each([
  ['/api/videos/nothing/film', 404, /video/],
  ['/api/videos/nothing/shots', 404, /video/],
  ['/api/videos/nothing/similar', 404, /video/],
  ['/api/compare?videos=one', 400, /two to six/],
  ['/api/compare?videos=one,two', 404, /video/],
  ['/api/films?min=speed:3', 400, /no measure speed/],
  ['/api/films?min=motion', 400, /number/],
  ['/api/films?sort=speed', 400, /motion/],
  ['/api/films?after=eyJ9', 400, /next/],
])('%s is %i and says what is possible', async (path, status, said) => {
  const answer = await service.get(path)
  expect({ path, status: answer.status, text: JSON.stringify(answer.json) }).toEqual({
    path,
    status,
    text: expect.stringMatching(said),
  })
})

test('a film that is read again has its new measures at once, though its frames stay the same', async () => {
  const { db } = service.stores
  const { id } = await seedVideo(db, { durationSec: 9 })
  await service.drain()
  expect((await film(id)).measures.shots).toBeNull()
  expect((await service.get(`/api/videos/${id}/similar`)).json.similar).toEqual([])
  const again = { shots: cutShots([4, 5]), picture: filmPicture(), probe: { durationSec: 9 } }
  await db.transaction(async (tx) => {
    await recordFilm(tx, id, again)
    const [video] = await tx
      .update(videos)
      .set({ detector: { version: 'newer@2', parameters: {} } })
      .where(eq(videos.id, id))
      .returning()
    const { title, author, platform } = video!
    const facts = { video_id: id, title, author, platform: platform as 'web', frame_count: 1, stages: [] }
    await appendEvent(tx, { type: 'video.ready', subject: id, accountId: null, data: facts })
  })
  await service.drain()
  expect((await film(id)).measures.shots).toBe(2)
})

test('another extraction replaces the shots; a deleted video takes them along', async () => {
  const { db } = service.stores
  const id = await seedFilm(db, { shots: [2, 3, 4] })
  const again = { shots: cutShots([4, 5]), picture: filmPicture(), probe: { durationSec: 9 } }
  await db.transaction((tx) => recordFilm(tx, id, again))
  await service.drain()
  expect((await service.get(`/api/videos/${id}/shots`)).json.shots).toHaveLength(2)
  expect((await film(id)).measures.shots).toBe(2)
  await service.call('DELETE', `/api/videos/${id}`)
  await service.drain()
  expect(await db.select().from(shots).where(eq(shots.videoId, id))).toEqual([])
  expect(await db.select().from(films).where(eq(films.videoId, id))).toEqual([])
  expect((await service.get(`/api/videos/${id}/film`)).status).toBe(404)
})

test('a film under ten seconds says why its shots have no place among the others', async () => {
  const short = await seedFilm(service.stores.db, { shots: [2, 3, 4] })
  await service.drain()
  const { text } = await page(`/videos/${short}`)
  expect(text).toMatch(/Shots a minute<\/a><\/th>[\s\S]*?<td class="hint">Films under 10 seconds are not ranked by/)
  expect(text).not.toContain('No other film')
})
