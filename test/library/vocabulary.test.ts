import { expect, test } from 'vitest'
import { techniques } from '../../src/db/schema/techniques.ts'
import { recordAnnotations } from '../../src/library/frames/record-annotations.ts'
import { adoptProposals } from '../../src/library/frames/technique-suggestions.ts'
import { addTechnique, updateTechnique } from '../../src/library/techniques/techniques.ts'
import { finishMoves } from '../../src/library/techniques/vocabulary.ts'
import { sql } from '../../src/sql/orm.ts'
import { useOpened } from '../support/closing.ts'
import { seedVideo } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { addVideo, countOf, frameRows, openScripted, scriptedAnnotator, values } from './support.ts'

const annotator = scriptedAnnotator('scripted@1', () => ({}))
const service = useOpened(() => openScripted(annotator))

/** A ready video whose frames carry these techniques, or propose them. */
async function videoWith(techniques: readonly (string | { proposed: string })[]): Promise<string[]> {
  const queue = [...techniques]
  annotator.answer = (frame) => {
    const technique = queue[Math.round(frame.tSec)]!
    return typeof technique === 'string'
      ? { values: values({ technique }) }
      : { values: values({ technique: null }), suggestedTechnique: { slug: technique.proposed } }
  }
  const video = await addVideo(service, techniques.length)
  await service.drain()
  return (await frameRows(service, video)).map((row) => row.id)
}

const add = (body: Record<string, unknown>) =>
  service.call('POST', '/api/techniques', { name: 'A move', description: 'Made for the test.', ...body })
async function wall(technique: string): Promise<string[]> {
  await service.drain()
  return (await service.get(`/api/frames?technique=${technique}`)).json.frames
    .map((frame: { id: string }) => frame.id)
    .sort()
}
async function suggestion(slug: string): Promise<{ count: number; frame_ids: string[] } | undefined> {
  const { json } = await service.call('GET', '/api/technique-suggestions')
  return json.suggestions.find((entry: { slug: string }) => entry.slug === slug)
}

test(
  'a renamed technique is found by its new and by its old slug, ' + 'in filters, search and a model’s answers',
  async () => {
    await add({ slug: 'old-name', name: 'Flying letters' })
    const ids = await videoWith(['old-name', 'title-card', 'old-name'])
    const tagged = [ids[0]!, ids[2]!].sort()
    expect(await wall('old-name')).toEqual(tagged)
    expect(
      (await service.call('PATCH', '/api/techniques/old-name', { slug: 'new-name' })).json.technique,
    ).toMatchObject({
      slug: 'new-name',
    })
    expect(await wall('new-name')).toEqual(tagged)
    expect(await wall('old-name')).toEqual(tagged)
    const found = await service.get('/api/search?q=new-name')
    expect(found.json.techniques[0]).toMatchObject({ slug: 'new-name', frame_count: 2 })
    expect((await service.get(`/api/frames/${ids[0]}`)).json.frame.technique).toBe('new-name')
    const later = await videoWith(['old-name'])
    expect(await wall('new-name')).toEqual([...tagged, ...later].sort())
    expect(
      (await service.get('/api/techniques')).json.techniques.map((entry: { slug: string }) => entry.slug),
    ).not.toContain('old-name')
  },
)

test.each([
  ['merged', (slug: string) => service.call('POST', `/api/techniques/${slug}/merge`, { into: 'title-card' })],
  ['renamed', (slug: string) => service.call('PATCH', `/api/techniques/${slug}`, { slug: `${slug}-2` })],
  [
    'recorded',
    async (slug: string) => {
      const { db } = service.stores
      const rows = (
        await db.execute<{ id: string; video_id: string; revision: number }>(
          sql`select f.id, f.video_id, v.revision from frames f join videos v on v.id = f.video_id
               where f.technique = ${slug} order by f.id desc`,
        )
      ).rows
      const list = rows.map(({ id }) => ({
        frameId: id,
        status: 'annotated' as const,
        values: values({ caption: 'new' }),
        issues: [],
      }))
      const { video_id: videoId, revision } = rows[0]!
      await recordAnnotations(db, { videoId, revision, annotator: 'other@1', model: 'm', list })
    },
  ],
])('frames that somebody saves while their technique is %s: neither stops the other for ever', async (name, change) => {
  const { db } = service.stores
  const slug = `busy-${name}`
  await add({ slug })
  const [first, last] = (await videoWith([slug, slug])).sort() as [string, string]
  // The first by id comes last on disk.
  await db.execute(sql`update frames set subject = 'chart', surface = 'slide', shot = 'no-face' where id = ${first}`)
  let changing: Promise<unknown> | undefined
  await db.transaction(async (tx) => {
    await tx.execute(sql`select 1 from frames where id = ${first} for no key update`)
    changing = change(slug)
    changing.catch(() => undefined)
    const blocked = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await db.execute(blocked)).rows.length > 0)
    await tx.execute(sql`select 1 from frames where id = ${last} for no key update`)
  })
  const answer = (await changing) as { status: number } | undefined
  expect(answer?.status ?? 200).toBe(200)
})

test('a change that changes nothing is told of by no event, and a rename to itself leaves nothing behind', async () => {
  await add({ slug: 'still', name: 'Still', aliases: ['calm'] })
  const told = () => countOf(service, sql`select count(*) as n from events where type = 'technique.changed'`)
  const patch = (body: Record<string, unknown>) => service.call('PATCH', '/api/techniques/still', body)
  await patch({ retired: true })
  const before = await told()
  expect((await patch({ retired: true })).json.technique).toMatchObject({ retired: true })
  expect((await patch({ name: 'Still', aliases: ['Calm', 'calm'] })).status).toBe(200)
  expect((await patch({ slug: 'still' })).json.technique).toMatchObject({ slug: 'still' })
  expect(await told()).toBe(before)
  await patch({ retired: false, name: 'Quite still' })
  expect(await told()).toBe(before + 2)
  expect((await service.call('POST', '/api/techniques/still/merge', { into: 'title-card' })).status).toBe(200)
})

test('texts that HTTP refuses are refused from the command line, too', async () => {
  const { db } = service.stores
  const move = { slug: 'spoken', name: 'Spoken', description: 'Said.' }
  for (const wrong of [
    { name: ' ' },
    { name: 'x'.repeat(101) },
    { description: '' },
    { recognise: 'x'.repeat(1_001) },
    { aliases: Array(51).fill('a') },
  ])
    await expect(addTechnique(db, { ...move, ...wrong })).rejects.toMatchObject({ code: 'invalid_request' })
  await addTechnique(db, move)
  await expect(updateTechnique(db, 'spoken', { name: '' })).rejects.toMatchObject({ code: 'invalid_request' })
})

test('renaming there and back, and over a name in use', async () => {
  await add({ slug: 'there', aliases: ['yonder'] })
  expect((await service.call('PATCH', '/api/techniques/there', { slug: 'back' })).status).toBe(200)
  expect((await service.call('PATCH', '/api/techniques/back', { slug: 'there' })).status).toBe(200)
  expect((await service.call('PATCH', '/api/techniques/there', { slug: 'title-card' })).status).toBe(409)
  expect((await service.call('PATCH', '/api/techniques/there', { slug: 'Not A Slug' })).status).toBe(400)
  expect((await service.call('PATCH', '/api/techniques/nope', { name: 'x' })).status).toBe(404)
  expect((await add({ slug: 'yonder' })).status).toBe(409)
  expect((await add({ slug: 'fresh-one', aliases: ['There!'] })).status).toBe(409)
})

test('several changes in one request are all made or none', async () => {
  await add({ slug: 'whole' })
  const { status } = await service.call('PATCH', '/api/techniques/whole', {
    slug: 'whole-two',
    aliases: ['title-card'],
  })
  expect(status).toBe(409)
  const { rows } = await service.stores.db.execute(sql`select slug, aliases from techniques where slug like 'whole%'`)
  expect(rows).toEqual([{ slug: 'whole', aliases: [] }])
  expect(await countOf(service, sql`select count(*) as n from technique_redirects where old_slug = 'whole'`)).toBe(0)
})

test('a merge moves frames, people’s choices too, and both old words lead to the one that is left', async () => {
  await add({ slug: 'twin-a', aliases: ['twin-alias'] })
  await add({ slug: 'twin-b' })
  const [a, b, c] = await videoWith(['twin-a', 'twin-b', 'title-card'])
  await service.call('PATCH', `/api/frames/${c}/annotation`, { technique: 'twin-a' })
  expect((await service.call('POST', '/api/techniques/twin-a/merge', { into: 'twin-b' })).status).toBe(200)
  for (const slug of ['twin-b', 'twin-a', 'twin-alias']) expect(await wall(slug), slug).toEqual([a, b, c].sort())
  expect((await service.call('POST', '/api/techniques/twin-b/merge', { into: 'twin-b' })).status).toBe(400)
  const [later] = await videoWith(['twin-alias'])
  expect(await wall('twin-b')).toContain(later)
})

test('a retired technique keeps its frames and takes no new ones until it is restored', async () => {
  await add({ slug: 'fading' })
  const [kept] = await videoWith(['fading'])
  expect((await service.call('PATCH', '/api/techniques/fading', { retired: true })).json.technique.retired).toBe(true)
  const [refused] = await videoWith(['fading'])
  expect(await wall('fading')).toEqual([kept])
  expect((await service.call('PATCH', `/api/frames/${refused}/annotation`, { technique: 'fading' })).status).toBe(400)
  await service.call('PATCH', '/api/techniques/fading', { retired: false })
  // Proposals made meanwhile are adopted.
  expect(await wall('fading')).toEqual([kept, refused].sort())
})

test('proposals wait with counts and frames, are never indexed, and can be turned down', async () => {
  const ids = await videoWith([{ proposed: 'Spinning Logo' }, { proposed: 'spinning-logo' }, { proposed: 'wobble' }])
  expect(await suggestion('spinning-logo')).toEqual({ slug: 'spinning-logo', count: 2, frame_ids: [ids[0], ids[1]] })
  expect(await wall('spinning-logo')).toEqual([])
  expect((await service.call('DELETE', '/api/technique-suggestions/wobble')).status).toBe(200)
  expect((await service.call('DELETE', '/api/technique-suggestions/wobble')).status).toBe(200)
  expect(await suggestion('wobble')).toBeUndefined()
  expect((await service.call('DELETE', '/api/technique-suggestions/No%20slug')).status).toBe(400)
})

test(
  'adding the proposed technique, or one with that alias, ' +
    'gives it to the frames that proposed it, as the model’s word',
  async () => {
    const [one, two, three] = await videoWith([
      { proposed: 'orbit-shot' },
      { proposed: 'Orbiting' },
      { proposed: 'something-else' },
    ])
    await service.call('PATCH', `/api/frames/${two}/annotation`, { technique: 'title-card' })
    expect((await add({ slug: 'orbit-shot' })).status).toBe(201)
    expect(await wall('orbit-shot')).toEqual([one])
    expect(await suggestion('orbit-shot')).toBeUndefined()
    const { json } = await service.get(`/api/frames/${one}?provenance=1`)
    expect(json.frame.provenance.technique).toMatchObject({ source: 'model', by: 'scripted@1' })

    expect((await service.call('PATCH', '/api/techniques/orbit-shot', { aliases: ['orbiting'] })).status).toBe(200)
    // A person's choice stays. Unlocked, the model's proposal wins.
    expect(await wall('orbit-shot')).toEqual([one])
    await service.call('PATCH', `/api/frames/${two}/annotation`, { technique: null })
    expect(await wall('orbit-shot')).toEqual([one, two].sort())
    expect(await suggestion('something-else')).toMatchObject({ frame_ids: [three] })
  },
)

test('an adoption that was cut off is finished later, and doing it twice changes nothing', async () => {
  const [id] = await videoWith([{ proposed: 'cut-short' }])
  const added = { slug: 'cut-short', name: 'Cut short', description: 'By a process that died.', recognise: '' }
  await service.stores.db.insert(techniques).values(added)
  expect(await wall('cut-short')).toEqual([])
  expect(await adoptProposals(service.stores.db)).toBe(1)
  expect(await adoptProposals(service.stores.db)).toBe(0)
  expect(await wall('cut-short')).toEqual([id])
})

test('a common proposal is adopted in part within the request, and the rest afterwards', async () => {
  const { db } = service.stores
  const { frameIds } = await seedVideo(db, { frames: Array.from({ length: 201 }, (_, n) => ({ tSec: n })) })
  await db.execute(sql`
    insert into annotations (frame_id, annotator, model, status, proposed_technique, values)
    select id, 'scripted@1', 'scripted', 'annotated', 'common-idea', '{}'
      from unnest(${sql.param(frameIds)}::text[]) id
    on conflict (frame_id, annotator) do update set proposed_technique = excluded.proposed_technique`)
  expect((await add({ slug: 'common-idea' })).status).toBe(201)
  expect(await suggestion('common-idea')).toMatchObject({ count: 1 })
  expect(await adoptProposals(db)).toBe(1)
  expect(await suggestion('common-idea')).toBeUndefined()
})

test('renames and merges while answers come in lose no frame and leave none behind', async () => {
  await add({ slug: 'moving-0' })
  const rename = async () => {
    for (let n = 0; n < 8; n++)
      expect((await service.call('PATCH', `/api/techniques/moving-${n}`, { slug: `moving-${n + 1}` })).status).toBe(200)
    expect((await service.call('POST', '/api/techniques/moving-8/merge', { into: 'title-card' })).status).toBe(200)
  }
  annotator.answer = () => ({ values: values({ technique: 'moving-0' }) })
  const videos: string[] = []
  const ingest = async () => {
    for (let n = 0; n < 4; n++) videos.push(await addVideo(service, 6))
  }
  await Promise.all([rename(), ingest()])
  await service.drain()
  const rows = (await Promise.all(videos.map((video) => frameRows(service, video)))).flat()
  expect(rows.length).toBe(24)
  expect(new Set(rows.map((row) => row.technique))).toEqual(new Set(['title-card']))
  const onWall = new Set(await wall('title-card'))
  expect(rows.filter((row) => !onWall.has(row.id))).toEqual([])
})

test('a merge that is cut off between its pieces is finished later, once', async () => {
  const { db } = service.stores
  const given = Array.from({ length: 1_050 }, (_, tSec) => ({ tSec, technique: 'cut-off' }))
  const seeded = [await seedVideo(db, { frames: given }), await seedVideo(db, { frames: given })]
  const frameIds = seeded.flatMap((video) => video.frameIds)
  const left = () => countOf(service, sql`select count(*) as n from frames where technique = 'cut-off'`)
  // Another transaction holds a frame of the last piece, and the session of the merge ends while it waits.
  const holder = await db.$client.connect()
  await holder.query('begin')
  await holder.query('select 1 from frames where id = $1 for update', [frameIds.toSorted().at(-1)])
  const merge = service.call('POST', '/api/techniques/cut-off/merge', { into: 'quote-card' })
  await until(async () => (await left()) === 100)
  await until(async () => {
    const { rowCount } = await db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%update frames set technique%'`)
    return rowCount === 1
  })
  expect((await merge).status).toBe(503)
  await holder.query('rollback')
  holder.release()
  // It has left the vocabulary: its slug stands for the other one, which stays until all frames have come.
  expect((await service.call('PATCH', '/api/techniques/cut-off', { name: 'Again' })).status).toBe(404)
  expect((await add({ slug: 'cut-off' })).status).toBe(409)
  expect((await service.call('POST', '/api/techniques/quote-card/merge', { into: 'title-card' })).status).toBe(409)
  await Promise.all([finishMoves(db), finishMoves(db)])
  expect(await left()).toBe(0)
  expect((await wall('cut-off')).length).toBe(120)
  const told = sql`select count(*) as n from events where data->>'previous_slug' = 'cut-off'`
  expect(await countOf(service, told)).toBe(1)
})

test('two operators who add the same slug at once: one does', async () => {
  const results = await Promise.all([1, 2, 3, 4].map(() => add({ slug: 'contested' })))
  expect(results.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
})
