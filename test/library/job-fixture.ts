import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { openQueues } from '../../src/queue/queues.ts'
import { sql } from '../../src/sql/orm.ts'
import { reconcileJobs } from '../../src/workers/dispatch.ts'
import type { ingestVideo } from '../../src/workers/ingest-video.ts'
import { useClosing } from '../support/closing.ts'
import type { Service } from '../support/service.ts'
import { countOf, extractFromNumber, openScripted, scriptedAnnotator, values, videoRow } from './support.ts'

/** One service per test, with a scripted annotator, and what the tests of jobs ask about it. */
export function jobFixture() {
  const annotator = scriptedAnnotator('scripted@1', () => ({}))
  let service: Service
  const close = useClosing()
  beforeEach(() => {
    annotator.asked = []
    annotator.answer = () => ({ values: values({ subject: 'ui', caption: 'a dashboard' }) })
  })

  async function open(...args: Parameters<typeof openScripted>): Promise<Service> {
    service = close(await openScripted(...args))
    return service
  }

  function openTestQueues() {
    return close(openQueues({ url: service.stores.redisUrl, prefix: service.stores.prefix, logger: service.logger }))
  }

  return {
    annotator,
    open,
    openTestQueues,
    close,
    reconcile: () =>
      reconcileJobs({
        db: service.stores.db,
        queues: openTestQueues(),
        logger: service.logger,
        activeAnnotator: async () => annotator,
      }),
    revisionOf: async (video: string) => (await videoRow(service, video))!.revision as number,
    countEvents: (type: string, subject: string) =>
      countOf(service, sql`select count(*) as n from events where type = ${type} and subject = ${subject}`),
    /** Everything about a library that a repeat must not change. */
    async snapshot() {
      const { db } = service.stores
      const tables = await Promise.all([
        db.execute(sql`select id, status, revision, failure_code, first_ready_at from videos order by id`),
        db.execute(sql`select * from frames order by id`),
        db.execute(sql`select frame_id, annotator, status, "values" from annotations order by 1, 2`),
        db.execute(sql`select type, subject from events order by seq`),
      ])
      return tables.map(({ rows }) => rows)
    },
    async storedFiles() {
      const folder = join(service.config.dataDir, 'store')
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
      return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    },
    ingestDeps(over: { store?: MediaStore } = {}): Parameters<typeof ingestVideo>[0] {
      return {
        db: service.stores.db,
        store: over.store ?? openMediaStore(service.config),
        extract: extractFromNumber,
        fetchSource: async (video, { scratchDir }) => {
          const { writeFile } = await import('node:fs/promises')
          const file = join(scratchDir, 'source')
          await writeFile(file, (await openMediaStore(service.config).get(video.uploadKey!))!)
          return { file, title: null, author: null }
        },
        annotatorVersion: async () => annotator.version,
        keepVideos: false,
        maxDurationSec: 900,
        scratchRoot: join(service.config.dataDir, 'scratch'),
        logger: service.logger,
        faultPoint: () => undefined,
      }
    },
  }
}
