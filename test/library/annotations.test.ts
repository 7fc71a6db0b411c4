import { beforeEach, expect, test } from 'vitest'
import { parseCondition, requestReannotation } from '../../src/library/frames/reannotation.ts'
import { recordAnnotations } from '../../src/library/frames/record-annotations.ts'
import { sql } from '../../src/sql/orm.ts'
import { rebuildAll } from '../../src/workers/projection.ts'
import { useOpened } from '../support/closing.ts'
import { addVideo, countOf, frameRows, openScripted, scriptedAnnotator, values, videoRow } from './support.ts'

const annotator = scriptedAnnotator('scripted@1', () => ({}))
const service = useOpened(() => openScripted(annotator))
beforeEach(() => {
  annotator.answer = () => ({ values: values({ subject: 'ui', caption: 'a dashboard', technique: 'title-card' }) })
})

const patch = (id: string, body: unknown) => service.call('PATCH', `/api/frames/${id}/annotation`, body)
const corrections = (id: string) =>
  countOf(service, sql`select count(*) as n from events where type = 'frame.corrected' and subject = ${id}`)
async function publicFrame(id: string) {
  await service.drain()
  return (await service.get(`/api/frames/${id}`)).json.frame
}

/** Another annotator's answer, as a re-annotation stores it. */
async function answer(videoId: string, by: string, given: ReturnType<typeof values>, frameIds: string[]) {
  const { revision } = (await videoRow(service, videoId)) as { revision: number }
  const list = frameIds.map((frameId) => ({ frameId, status: 'annotated' as const, values: given, issues: [] }))
  return recordAnnotations(service.stores.db, { videoId, revision, annotator: by, model: by.split('@')[0]!, list })
}

test(
  'a correction is locked: it shows at once and survives re-annotation and re-index; ' +
    'null gives back the best other value',
  async () => {
    const video = await addVideo(service, 2)
    await service.drain()
    const [first] = await frameRows(service, video)
    const id = first!.id
    expect(await publicFrame(id)).toMatchObject({ subject: 'ui', annotation: { model: 'scripted', reviewed: false } })

    expect((await patch(id, { subject: 'chart', caption: 'A chart of sales' })).status).toBe(200)
    expect(await publicFrame(id)).toMatchObject({
      subject: 'chart',
      caption: 'A chart of sales',
      annotation: { reviewed: true },
    })

    await answer(video, 'scripted@2', values({ subject: 'terminal', caption: 'a terminal', zone: 'none' }), [id])
    expect(await publicFrame(id)).toMatchObject({ subject: 'chart', caption: 'A chart of sales', zone: 'none' })
    await rebuildAll({ config: service.config, db: service.stores.db })
    expect(await publicFrame(id)).toMatchObject({
      subject: 'chart',
      caption: 'A chart of sales',
      annotation: { reviewed: true },
    })
    const [row] = await frameRows(service, video)
    expect(row).toMatchObject({
      subject_provenance: { source: 'person', confidence: 1, by: expect.stringMatching(/^person:/) },
    })

    expect((await patch(id, { subject: null, caption: null })).status).toBe(200)
    expect(await publicFrame(id)).toMatchObject({
      subject: 'terminal',
      caption: 'a terminal',
      annotation: { reviewed: false },
    })
  },
)

test('what an annotator measured beside the attributes is stored with the frame', async () => {
  const measures = { faces: 2, emptyShare: 0.75, ink: '#ffffff', ground: '#001133' }
  annotator.answer = () => ({ values: values({ subject: 'text-card' }), measures })
  const video = await addVideo(service, 1)
  await service.drain()
  const [row] = await frameRows(service, video)
  expect(row).toMatchObject({ faces: 2, empty_share: 0.75, ink: '#ffffff', ground: '#001133' })
})

test(
  'an answer said twice, also by two workers at once, is one event; ' +
    'another answer of the same annotator is a second',
  async () => {
    const video = await addVideo(service, 1)
    await service.drain()
    const [frame] = await frameRows(service, video)
    const told = () =>
      countOf(
        service,
        sql`select count(*) as n from events
           where type = 'frames.annotated' and subject = ${video} and data->>'annotator' = 'scripted@3'`,
      )
    const said = values({ subject: 'logo', caption: 'a mark' })
    await Promise.all([answer(video, 'scripted@3', said, [frame!.id]), answer(video, 'scripted@3', said, [frame!.id])])
    expect(await told()).toBe(1)
    await answer(video, 'scripted@3', values({ subject: 'logo', caption: 'another mark' }), [frame!.id])
    expect(await told()).toBe(2)
  },
)

test('every correction is told once; setting the same value or unlocking what is open tells nothing', async () => {
  const video = await addVideo(service, 1)
  await service.drain()
  const [frame] = await frameRows(service, video)
  await patch(frame!.id, { zone: 'none' })
  await patch(frame!.id, { zone: 'none' })
  await patch(frame!.id, { subject: null })
  expect(await corrections(frame!.id)).toBe(1)
  await patch(frame!.id, { zone: null })
  expect(await corrections(frame!.id)).toBe(2)
  const { rows } = await service.stores.db.execute(
    sql`select data, account_id from events where type = 'frame.corrected' and subject = ${frame!.id} order by seq`,
  )
  expect(rows).toMatchObject([
    {
      data: {
        frame_id: frame!.id,
        video_id: video,
        technique: 'title-card',
        subject: 'ui',
        changes: { zone: 'none' },
        unlocked: [],
      },
    },
    { data: { changes: {}, unlocked: ['zone'] } },
  ])
  expect(rows[0]!.account_id).not.toBeNull()
})

test('a correction outside the lists is refused with what is allowed, and changes nothing', async () => {
  const video = await addVideo(service, 1)
  await service.drain()
  const [frame] = await frameRows(service, video)
  for (const body of [
    { subject: 'cat' },
    { shot: 'Presenter' },
    { zone: 'middle' },
    { technique: 'never-heard-of' },
    { caption: '' },
    { caption: '\u0000 ' },
    { tone: 'dark' },
    { subject: 'ui', caption: 7 },
    {},
  ]) {
    const { status, json } = await patch(frame!.id, body)
    expect([status, json.code], JSON.stringify(body)).toEqual([400, 'invalid_request'])
  }
  expect(JSON.stringify((await patch(frame!.id, { subject: 'cat' })).json)).toContain('b-roll')
  expect((await patch('nosuchframe-1', { subject: 'ui' })).status).toBe(404)
  expect((await patch('%00', { subject: 'ui' })).status).toBe(404)
  expect((await frameRows(service, video))[0]).toEqual(frame)
})

test('two people who correct different attributes of one frame at once both keep their value', async () => {
  const video = await addVideo(service, 1)
  await service.drain()
  const [frame] = await frameRows(service, video)
  const bodies = [
    { subject: 'logo' },
    { zone: 'none' },
    { caption: 'by hand' },
    { shot: 'no-face' },
    { steal: 'the pace' },
  ]
  await Promise.all([
    ...bodies.map((body) => patch(frame!.id, body)),
    answer(video, 'scripted@3', values({ subject: 'crowd', zone: 'top-left', steal: 'x' }), [frame!.id]),
  ])
  expect((await frameRows(service, video))[0]).toMatchObject({
    subject: 'logo',
    zone: 'none',
    caption: 'by hand',
    shot: 'no-face',
    steal: 'the pace',
  })
})

test('a failure takes nothing back that was described before', async () => {
  const video = await addVideo(service, 1)
  await service.drain()
  const [frame] = await frameRows(service, video)
  const { revision } = (await videoRow(service, video)) as { revision: number }
  await recordAnnotations(service.stores.db, {
    videoId: video,
    revision,
    annotator: annotator.version,
    model: annotator.model,
    list: [{ frameId: frame!.id, status: 'failed', reason: 'broken', values: {}, issues: [] }],
  })
  expect((await frameRows(service, video))[0]).toMatchObject({
    subject: 'ui',
    caption: 'a dashboard',
    annotation_model: 'scripted',
  })
})

test(
  'a hostile annotator: nothing outside the lists reaches a column, ' + 'and nothing of it breaks the others',
  async () => {
    const long = `${'x'.repeat(5_000)}😀`
    annotator.answer = () =>
      ({
        status: 'annotated',
        reason: 'a\u0000b',
        values: {
          subject: { value: 'SELECT', source: 'model', confidence: 0.9 },
          surface: { value: 'slide', source: 'person', confidence: Number.NaN },
          shot: { value: 'constructor', source: 'root', confidence: 7 },
          zone: { value: 'top-left', source: 'model', confidence: -3 },
          technique: { value: '../../etc/passwd', source: 'model', confidence: 1 },
          caption: { value: `<script>alert(1)</script>\u0000\u0007\ud800 ${long}`, source: 'model', confidence: 1 },
          steal: { value: '\u0000', source: 'model', confidence: 1 },
          __proto__: { value: 'polluted', source: 'model', confidence: 1 },
          tone: { value: 'bright', source: 'model', confidence: 1 },
        },
        issues: [{ code: 'x\\u0000', message: 'NUL \u0000, backslash \\u0000, half \ud83d' }],
        suggestedTechnique: { slug: 'Zoom & enhance\u0000!' },
      }) as never
    const video = await addVideo(service, 2)
    await service.drain()
    expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
    for (const row of await frameRows(service, video)) {
      expect(row).toMatchObject({
        subject: null,
        subject_provenance: { source: 'model', reason: 'out_of_list' },
        surface: 'slide',
        surface_provenance: { source: 'model', confidence: null },
        shot: null,
        zone: 'top-left',
        zone_provenance: { confidence: 0 },
        technique: null,
        steal: null,
        tone: 'dark',
      })
      expect(String(row.caption)).toMatch(/^<script>alert\(1\)<\/script>/)
      expect(String(row.caption).length).toBeLessThanOrEqual(2_000)
      expect(String(row.caption)).not.toMatch(/[\u0000\u0007]/)
    }
    const suggestions = await service.call('GET', '/api/technique-suggestions')
    expect(suggestions.json.suggestions).toContainEqual({
      slug: 'zoom-enhance',
      count: 2,
      frame_ids: expect.any(Array),
    })
    const wall = await service.get('/api/frames?subject=ui')
    expect(wall.status).toBe(200)
  },
)

test('the database itself refuses values outside the lists and techniques that do not exist', async () => {
  const video = await addVideo(service, 1)
  await service.drain()
  for (const set of [
    "subject = 'cat'",
    "surface = 'x'",
    "shot = 'x'",
    "zone = 'middle'",
    "tone = 'grey'",
    "kind = 'x'",
    "technique = 'nope'",
    't_ms = -1',
  ])
    await expect(
      service.stores.db.execute(sql.raw(`update frames set ${set} where video_id = '${video}'`)),
      set,
    ).rejects.toThrow()
  await expect(service.stores.db.execute(sql`delete from techniques where slug = 'title-card'`)).rejects.toThrow()
})

test('answers for frames of another video, or for none, are passed over', async () => {
  const [one, two] = [await addVideo(service, 1), await addVideo(service, 1)]
  await service.drain()
  const [foreign] = await frameRows(service, two)
  expect(await answer(one, 'scripted@7', values({ caption: 'smuggled' }), [foreign!.id, 'nosuch-0'])).toBe(true)
  expect((await frameRows(service, two))[0]).toEqual(foreign)
})

test('conditions of a re-annotation say what they mean, and what they may be', async () => {
  expect(parseCondition('subject=missing')).toEqual({ kind: 'missing', attribute: 'subject' })
  expect(parseCondition('caption=measured')).toEqual({ kind: 'source', attribute: 'caption', source: 'measured' })
  expect(parseCondition('source=rule')).toEqual({ kind: 'source', attribute: 'any', source: 'rule' })
  expect(parseCondition('status=refused')).toEqual({ kind: 'status', status: 'refused' })
  expect(parseCondition('annotator=measured@1')).toEqual({ kind: 'annotator', annotator: 'measured@1' })
  for (const bad of [
    '',
    '=',
    'subject',
    'subject=',
    'tone=missing',
    'subject=person',
    'source=person',
    "subject'=missing",
    'status=annotated',
  ])
    expect(() => parseCondition(bad), bad).toThrow(`"${bad}" is not a condition. Use <attribute>=missing`)
  await expect(
    requestReannotation(service.stores.db, 'other@1', {
      conditions: [{ kind: 'annotator', annotator: "x' or true --" }],
    }),
  ).resolves.toBe(0)
})
