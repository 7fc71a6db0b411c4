import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { freePort, untilGone } from '../../src/local/processes.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { DEFAULT_PREFIX } from '../../src/queue/queues.ts'
import { seedAccount, seedFrames } from '../accounts/seed-frames.ts'
import { useFolder } from '../support/folder.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { until } from '../support/until.ts'
import { launchWorker } from './support.ts'

const dir = useFolder()

const PEOPLE = 4
const FRAMES = 100
/** Worker 3, the others 2. */
const KILLS = 'worker postgres api redis worker postgres api redis worker'

test('of 800 saves and pins under nine kills none is lost, and each has one event', { timeout: 600_000 }, async () => {
  await using ends = new AsyncDisposableStack()
  const postgresOptions = { dir: join(dir, 'postgres'), settings: { max_connections: '80' } }
  let postgres = await startLocalPostgres(postgresOptions)
  ends.defer(() => postgres.stop())
  const databaseUrl = postgres.url
  let redis = await startLocalRedis({ dir: join(dir, 'redis') })
  ends.defer(() => redis.stop())
  const redisUrl = redis.url
  const db = openDb({ url: databaseUrl })
  ends.defer(() => db.$client.end())
  await migrateDatabase(db)
  const { frameIds } = await seedFrames(db, { count: FRAMES })
  const people = await Promise.all(
    Array.from({ length: PEOPLE }, async () => {
      const { account, key } = await seedAccount(db)
      const { id: boardId } = await createBoard(db, { accountId: account.id, name: 'mine' })
      return { accountId: account.id, key, boardId }
    }),
  )

  const port = await freePort()
  let api = launchApi({ port, databaseUrl, redisUrl })
  ends.defer(() => api.kill())
  const library = { db, databaseUrl, redisUrl, prefix: DEFAULT_PREFIX, dataDir: dir }
  let worker = launchWorker(library)
  ends.defer(async () => {
    worker.child.kill('SIGKILL')
    await worker.ended
  })

  let acknowledged = 0
  /** As a client does: again, until it is told that it is done. */
  async function insist(method: string, path: string, key: string, body: unknown): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    await until(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      }).catch(() => undefined)
      if (answer && answer.status !== 200)
        expect([answer.status, await answer.json()]).toMatchObject([503, { code: 'unavailable' }])
      return answer?.status === 200
    })
    acknowledged++
  }
  const writing = Promise.all(
    people.map(async ({ key, boardId }) => {
      for (const frameId of frameIds) {
        await insist('POST', '/api/favourites', key, { frameId })
        await insist('PUT', `/api/boards/${boardId}/frames/${frameId}`, key, {})
      }
    }),
  )
  const kill = {
    async worker() {
      worker.child.kill('SIGKILL')
      await worker.ended
      worker = launchWorker(library)
    },
    async postgres() {
      process.kill(postgres.pid, 'SIGQUIT')
      await untilGone(postgres.pid, 120_000)
      postgres = await startLocalPostgres({ ...postgresOptions, port: Number(new URL(databaseUrl).port) })
    },
    async redis() {
      process.kill(redis.pid, 'SIGKILL')
      await redis.exited
      redis = await startLocalRedis({ dir: join(dir, 'redis'), url: redisUrl })
    },
    async api() {
      await api.kill()
      api = launchApi({ port, databaseUrl, redisUrl })
    },
  }
  const order = KILLS.split(' ') as (keyof typeof kill)[]
  const all = PEOPLE * FRAMES * 2
  for (const [n, victim] of order.entries()) {
    await until(() => acknowledged >= (n * all) / (order.length + 1))
    await kill[victim]()
  }
  await writing
  expect(acknowledged).toBe(800)

  const rows = async (text: string) => (await db.$client.query(text)).rows
  for (const { accountId } of people) {
    const held = `(select count(*)::int from saves where account_id = '${accountId}') as saves, b.item_count,
      (select count(*)::int from board_items i where i.board_id = b.id) as pins`
    expect(await rows(`select ${held} from boards b where account_id = '${accountId}'`)).toEqual([
      { saves: FRAMES, item_count: FRAMES, pins: FRAMES },
    ])
  }
  const events = `select type, account_id, data->>'frame_id' as frame, count(*)::int as n from events
    where type in ('frame.saved', 'board.frame_pinned') group by 1, 2, 3`
  expect(await rows(`select n as times, count(*)::int as writes from (${events}) e group by 1`)).toEqual([
    { times: 1, writes: 800 },
  ])
  expect(await rows('select distinct save_count from frames')).toEqual([{ save_count: PEOPLE }])
  // The worker that lived to the end has read the whole log.
  await until(async () => {
    const [unread] = await rows(`select count(*)::int as n from events e, checkpoints c
      where c.consumer = 'dispatch' and (e.xid, e.seq) > (c.xid, c.seq)`)
    return unread!.n === 0
  })
})

function launchApi({ port, databaseUrl, redisUrl }: { port: number; databaseUrl: string; redisUrl: string }) {
  const child = spawn(process.execPath, [new URL('../../src/cli/main.ts', import.meta.url).pathname, 'api'], {
    env: {
      PATH: process.env.PATH,
      ...NODE_SETTINGS,
      PORT: String(port),
      METRICS_PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      DATA_DIR: dir,
      RATE_LIMIT_SCALE: '100000',
      LOG_LEVEL: 'error',
    },
    stdio: 'ignore',
  })
  const ended = once(child, 'close')
  return {
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
