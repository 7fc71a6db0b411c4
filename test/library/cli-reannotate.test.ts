import { expect, test, vi } from 'vitest'
import { publishAnnotator } from '../../src/library/annotator/active-annotator.ts'
import { sql } from '../../src/sql/orm.ts'
import { MEASURED } from '../../src/vision/measured/identity.ts'
import { startFakeVisionEndpoint } from '../support/fake-vision-endpoint.ts'
import { until } from '../support/until.ts'
import { addVideo, frameRows, scriptedAnnotator, useCommands, values } from './support.ts'

vi.setConfig({ testTimeout: 600_000 })

const annotator = scriptedAnnotator(MEASURED.version, () => ({
  values: values({ subject: 'ui', caption: 'old words' }),
}))
const { service, run, withEnv } = useCommands(8, annotator)

test('reannotate: a preview changes nothing, then the frames wait, and may be taken back', async () => {
  const { db } = service.stores
  annotator.answer = () => ({ values: values({ caption: 'old words' }) })
  const id = await addVideo(service, 3)
  await service.drain()
  const nothing = await run('reannotate', '--video', id)
  expect(nothing).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`is described by ${MEASURED.version} already`),
  })
  // Described by yesterday's annotator.
  await db.execute(sql`update annotations set annotator = 'yesterday@1' where frame_id like ${`${id}-%`}`)
  const before = await frameRows(service, id)
  await run('pause', 'annotate-backfill')
  const preview = await run('reannotate', '--video', id, '--sample', '2', '--json')
  expect(preview.stderr).toBe('')
  expect(preview).toMatchObject({
    code: 0,
    json: {
      annotator: MEASURED.version,
      frames: 3,
      videos: 1,
      sample: { frames: 2, calls: 0 },
      estimate: { cost_usd: 0 },
    },
  })
  // The measuring annotator knows more about these images than the script, and removes no caption.
  expect(preview.json.sample.changes.length).toBeGreaterThan(0)
  expect(await frameRows(service, id)).toEqual(before)
  expect((await run('reannotate', '--video', id, '--dry-run')).stdout).toMatch(/Nothing was stored/)
  expect(
    await withEnv({ VISION_BASE_URL: 'http://127.0.0.1:9/v1', VISION_MODEL: 'm' }, 'reannotate', '--dry-run'),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Set the same VISION_\* variables for both\.$/m),
  })

  expect(
    (await run('reannotate', '--video', id, '--where', 'subject=missing', 'technique=missing', '--json')).json,
  ).toMatchObject({
    frames: 3,
    queued: 3,
  })
  expect((await run('status', id)).stdout).toContain('3 frames wait for a new description')
  expect((await run('reannotate', '--stop', '--video', id, '--json')).json).toEqual({ stopped: 3 })
  annotator.answer = () => ({ values: values({ caption: 'new words' }) })
  expect((await run('reannotate', '--where', 'annotator=yesterday@1', '--json')).json).toMatchObject({ queued: 3 })
  await run('resume')
  await until(async () => (await run('queues', '--json')).json.annotator.waiting === 0)
  expect((await frameRows(service, id)).map((row) => row.caption)).toEqual(Array(3).fill('new words'))
  for (const sample of ['0', 'many'])
    expect(await run('reannotate', '--sample', sample), sample).toMatchObject({ code: 2, stdout: '' })
})

test(
  'reannotate: looked at twice, the second time from the cache, ' + 'the estimate of the rest stays what it was',
  async () => {
    const { db } = service.stores
    await using endpoint = await startFakeVisionEndpoint()
    const id = await addVideo(service, 6)
    await service.drain()
    await db.execute(sql`update annotations set annotator = 'yesterday@1' where frame_id like ${`${id}-%`}`)
    const vision = {
      VISION_BASE_URL: endpoint.baseUrl,
      VISION_MODEL: 'fake-vl',
      VISION_PRICE_IN: '1',
      VISION_PRICE_OUT: '10',
    }
    const look = () => withEnv(vision, 'reannotate', '--video', id, '--sample', '3', '--json')
    const said = /workers use (\S+), this command (.+)\. Set/.exec((await look()).stderr)!
    await publishAnnotator(db, { version: said[2]!, model: 'fake-vl', batchSize: 8 })
    try {
      const first = await look()
      expect(first.json.sample.calls).toBeGreaterThan(0)
      expect(first.json.estimate.cost_usd).toBeCloseTo(first.json.sample.cost_usd * 2, 9)
      const asked = endpoint.calls.length
      const second = await look()
      expect(endpoint.calls.length).toBe(asked)
      expect(second.json.sample).toMatchObject({ frames: 3, calls: 0, cost_usd: 0 })
      expect(second.json.estimate.cost_usd).toBeCloseTo(first.json.estimate.cost_usd, 9)
      expect(second.json.estimate.calls).toBe(first.json.estimate.calls)
    } finally {
      await publishAnnotator(db, { version: said[1]!, model: 'measured', batchSize: 4 })
    }
  },
)
