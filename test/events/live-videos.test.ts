import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLogTail } from '../../src/events/tail.ts'
import { openLiveVideos } from '../../src/web/operator/live-videos.ts'
import { openStores, type Stores } from '../support/stores.ts'

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

test('a log that cannot be read ends the stream of the page, and is told once', async () => {
  const lines: string[] = []
  const logger = pino({}, { write: (line) => void lines.push(line) })
  const { db, databaseUrl: url } = stores
  await using tail = openLogTail({ db, url, logger })
  // The log fails while the videos are read.
  const lock = await db.$client.connect()
  await lock.query('begin; lock table videos in access exclusive mode')
  const failed = Promise.withResolvers<void>()
  const failing: typeof tail = {
    ...tail,
    async *follow() {
      yield []
      try {
        await db.execute(sql`select 1 / 0`)
      } finally {
        setImmediate(failed.resolve)
      }
    },
  }
  const unlocked = failed.promise.then(async () => {
    await lock.query('rollback')
    lock.release()
  })
  const live = openLiveVideos({ db, tail: failing, logger })
  const texts: string[] = []
  for await (const text of live.follow(new AbortController().signal)) texts.push(text)
  await unlocked
  expect(texts[0]).toContain('event: hello')
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['live videos stopped'])
})
