import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, expect, test } from 'vitest'
import { SUBJECTS } from '../../src/vocabulary.ts'
import { seedFilm } from '../support/film.ts'
import { useToolLibrary } from './tool-library.ts'

const library = useToolLibrary()
let long: string
let calm: string
let bearer: Record<string, string>
const call = (name: string, args: Record<string, unknown>) => library.call(name, args, bearer)
beforeAll(async () => {
  ;({ bearer } = await library.service.keyOf('free', ['saves:read']))
  const { db } = library.service.stores
  const frames = Array.from({ length: 60 }, (_, n) => ({
    tSec: n,
    subject: SUBJECTS[n % SUBJECTS.length]!,
    caption: `Shot ${n}: a long caption about what stands where, and how it is lit from the left.`,
    onScreenText: 'Forty words that nobody can read in the second that they are given to stand on the screen',
  }))
  const title = 'The longest launch film of the season'
  const shots = Array.from({ length: 40 }, (_, n) => 1 + (n % 3))
  long = await seedFilm(db, { title, author: 'Atlas', sourceUrl: 'https://example.com/a', shots, frames })
  calm = await seedFilm(db, { title: 'Calm', shots: [12, 20, 15], picture: { held_share: 0.9, motion: 1 } })
  for (let n = 0; n < 4; n++) await seedFilm(db, { title: `Other ${n}`, shots: [4 + n, 5, 6, 7] })
  await library.service.drain()
})

test('describe_film tells a long film in one screen, by its title too', async () => {
  const { text, structuredContent } = await call('describe_film', {
    video: 'the longest launch film of the season',
  })
  expect(encode(text).length, text).toBeLessThanOrEqual(900)
  expect(text).toMatch(/40 shots/)
  expect(text).toMatch(/median 2 s/)
  expect(text).toMatch(/39 cuts/)
  expect(text).toMatch(/Too fast to read: 0:04 /)
  expect(text).toMatch(/Unusual here: .*faster than 5 of 5/)
  expect(text).toMatch(/\n0:00–0:01 presenter "Shot 0/)
  expect(text).toMatch(/and 44 more: get_video_frames/)
  expect(structuredContent).toMatchObject({ video_id: long, measures: { shots: 40 } })
})

test('find_films sorts by a measure, with bounds, or finds those built like one', async () => {
  const still = await call('find_films', { sort: 'held_share', limit: 2 })
  expect(still.structuredContent.films[0]).toMatchObject({ id: calm })
  expect(still.text).toMatch(/still picture, desc/)
  const next = await call('find_films', {
    sort: 'held_share',
    limit: 2,
    cursor: still.structuredContent.next_cursor,
  })
  expect(next.structuredContent.films).toHaveLength(2)
  const slow = await call('find_films', { max: 'shots_a_minute:6' })
  expect(slow.structuredContent.films.map(({ id }: { id: string }) => id)).toEqual([calm])
  const like = await call('find_films', { like: 'Other 1' })
  expect(like.structuredContent.films[0]).toMatchObject({ title: expect.stringMatching(/^Other/) })
  expect(like.text).toMatch(/nearest first\n.*away; /)
})

test('describe_film sets two films side by side', async () => {
  const { text, structuredContent } = await call('describe_film', { video_id: [long, calm] })
  expect(structuredContent.films).toHaveLength(2)
  expect(text).toMatch(/still picture: 20 % \| 90 %/)
})

test('a brand is found in any spelling', async () => {
  const found = await call('find_films', { author: 'ATLAS' })
  expect(found.structuredContent.films).toMatchObject([{ id: long }])
  expect(found.text).toContain('(author read as "Atlas")')
  expect(found.structuredContent.notes).toEqual(['(author read as "Atlas")'])
  const nobody = await call('find_films', { author: 'Nobody' })
  expect(nobody.text).toMatch(/no brand is called "Nobody".*\nNo film has these/)
})

test('a step takes what filters take', async () => {
  const steps = [{ subject: 'presenter' }, { subject: ['ui'], within_sec: 1 }]
  const plain = (await call('find_sequences', { steps })).structuredContent.sequences
  expect(plain.length).toBeGreaterThan(0)
  for (const given of [
    JSON.stringify(steps),
    [{ subject: 'Presenters' }, { subject: 'UI', within_sec: '1' }],
    [
      { subject: 'Speaker', technique: null, query: null },
      { subject: 'ui,ui', within_sec: '1s' },
    ],
  ])
    expect((await call('find_sequences', { steps: given })).structuredContent.sequences).toEqual(plain)
  const ofBrand = await call('find_sequences', { steps, author: 'atlas' })
  expect(ofBrand.structuredContent.sequences.map(({ video_id }: { video_id: string }) => video_id)).toEqual([long])
})

test('find_sequences tells where one thing follows another, with both pictures', async () => {
  const steps = [{ subject: 'presenter' }, { subject: ['ui'], within_sec: 1 }]
  const { text, structuredContent } = await call('find_sequences', { steps })
  expect(structuredContent.sequences[0]).toMatchObject({ video_id: long, steps: [{ gap_sec: null }, { gap_sec: 0 }] })
  expect(text).toMatch(/^\d sequences? among \d films? with these steps/)
  expect(text.match(/https?:\S+\.webp/g)!.length).toBeGreaterThanOrEqual(2)
  const none = await call('find_sequences', { steps: [{ query: 'walrus' }, { subject: 'ui' }] })
  expect(none.text).toMatch(/No film has every step/)
  expect(none.structuredContent.notes).toEqual(['No film has every step.'])
})
