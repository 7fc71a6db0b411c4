import { beforeAll, expect, test } from 'vitest'
import { recordFilm } from '../../src/library/films/films.ts'
import { sql } from '../../src/sql/orm.ts'
import { reconcileAll } from '../../src/workers/projection.ts'
import { cutShots, filmPicture } from '../support/film.ts'
import { type SeedVideo, seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const service = useService({
  worker: true,
  overrides: {
    search: (search) => ({
      ...search,
      async sequences(query) {
        const page = await search.sequences(query)
        await afterSearch()
        return page
      },
    }),
  },
})
let afterSearch = async () => {}
let tight: string
let loose: string
beforeAll(async () => {
  const seed = async (n: number, given: SeedVideo) => {
    const addedAt = new Date(Date.UTC(2026, 0, 1, 0, n))
    const { id } = await seedVideo(service.stores.db, { durationSec: 30, addedAt, ...given })
    const film = { shots: cutShots([5, 5, 10, 10]), picture: filmPicture(), probe: { durationSec: 30 } }
    await service.stores.db.transaction((tx) => recordFilm(tx, id, film))
    return id
  }
  tight = await seed(1, {
    author: 'Atlas',
    frames: [
      { tSec: 2, subject: 'text-card', tone: 'dark', caption: 'Ship it' },
      { tSec: 4, subject: 'text-card', tone: 'dark' },
      { tSec: 7, subject: 'ui', surface: 'screen-recording', caption: 'a sign up form' },
      { tSec: 12, subject: 'logo', surface: 'slide' },
    ],
  })
  loose = await seed(2, {
    author: 'Relay',
    frames: [
      { tSec: 1, subject: 'text-card', tone: 'bright' },
      { tSec: 8, subject: 'presenter', surface: 'camera' },
      { tSec: 15, subject: null },
      { tSec: 22, subject: 'ui', surface: 'screen-recording' },
    ],
  })
  await seed(3, {
    frames: [
      { tSec: 2, subject: 'ui', surface: 'screen-recording' },
      { tSec: 7, subject: 'text-card' },
    ],
  })
  await service.drain()
  // A film may have been projected before its shots were set.
  await reconcileAll(service.stores)
})

async function found(seq: string, more = '') {
  const { status, json } = await service.get(`/api/sequences?seq=${encodeURIComponent(seq)}${more}`)
  expect({ status, json }).toMatchObject({ status: 200 })
  return json
}
const ids = (answer: { sequences: { video_id: string }[] }) => answer.sequences.map(({ video_id }) => video_id)

test('a text card that leads into a screen: both pictures, their times, and what lies between', async () => {
  const answer = await found('subject.text-card~3s~surface.screen-recording')
  expect(ids(answer)).toEqual([tight])
  expect(answer).toMatchObject({ films: 3, next: null })
  const [card, screen] = answer.sequences[0].steps
  // Two frames of the card are one stretch, to the end of their shot; the screen stands from its shot's beginning.
  expect(card).toMatchObject({ from_sec: 0, to_sec: 5, gap_sec: null, frame: { t_sec: 2, caption: 'Ship it' } })
  expect(screen).toMatchObject({ from_sec: 5, to_sec: 10, gap_sec: 0, frame: { t_sec: 7 } })
  expect(answer.sequences[0].length_sec).toBe(10)
})

test('a longer gap, other values, words, filters of the film', async () => {
  expect(ids(await found('subject.text-card~15s~surface.screen-recording'))).toEqual([loose, tight])
  expect(ids(await found('subject.text-card~600s~surface.screen-recording', '&author=Atlas'))).toEqual([tight])
  expect(ids(await found('subject.text-card~subject.ui!presenter'))).toEqual([loose, tight])
  expect(ids(await found('subject.text-card,tone.dark~q.sign up'))).toEqual([tight])
  expect(ids(await found('subject.text-card~subject.ui~subject.logo'))).toEqual([tight])
  expect(await found('subject.crowd~subject.ui')).toEqual({ sequences: [], films: 0, next: null })
  const first = await found('subject.text-card~15s~subject.ui', '&limit=1')
  expect(ids(first)).toEqual([loose])
  const second = await found('subject.text-card~15s~subject.ui', `&limit=1&after=${first.next}`)
  expect([ids(second), second.next]).toEqual([[tight], null])
})

test.each([[[1.5, 'a']], [[1, '\u0000']], ['none']])('a cursor that is none (%j) is refused', async (place) => {
  const after = Buffer.from(JSON.stringify(place)).toString('base64url')
  const { status } = await service.get(`/api/sequences?seq=subject.ui~subject.logo&after=${after}`)
  expect(status).toBe(400)
})

test('rows of an earlier version get the bounds of their shots from the hourly comparison', async () => {
  const { db } = service.stores
  await db.execute(sql`update library_search.frames set shot_ms = null`)
  await reconcileAll({ db })
  const { sequences } = await found('subject.text-card~3s~surface.screen-recording')
  expect(sequences).toMatchObject([{ steps: [{ from_sec: 0, to_sec: 5 }, { from_sec: 5 }] }])
})

test.each([
  ['', /is no step; an example/],
  ['subject.ui', /1 of two to 5/],
  [Array.from({ length: 6 }, () => 'tone.dark').join('~'), /6 of two to 5/],
  ['subject.ui~3600s~tone.dark', /longer than 600 seconds/],
  ['subject.ui~5s-2s~tone.dark', /no step/],
  ['subject.ui~3s', /ends with what lies between/],
  ['3s~subject.ui', /between two steps/],
  ['subject.card~subject.ui', /^seq: subject "card" is not allowed; it must be one of presenter, ui, .*text-card/],
  ['mood.dark~subject.ui', /no filter mood; subject, surface/],
  ['__proto__.x~subject.ui', /no filter __proto__; subject, surface/],
  ['dark~subject.ui', /no step/],
  ['subject.ui,subject.logo~tone.dark', /join its values by !/],
])('seq=%s is refused with what is possible', async (seq, said) => {
  const { status, json } = await service.get(`/api/sequences?seq=${encodeURIComponent(seq)}`)
  expect(status).toBe(400)
  expect(json.message).toMatch(said)
})

test('a sequence whose frame is removed while it is read is left out', async () => {
  const { db } = service.stores
  afterSearch = async () => {
    await db.execute(sql`delete from library_search.documents where kind = 'frames' and id in
      (select id from library_search.frames where video_id = ${loose} and t_ms = 22000)`)
  }
  expect(ids(await found('subject.text-card~15s~surface.screen-recording', '&limit=59'))).toEqual([tight])
})
