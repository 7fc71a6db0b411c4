import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startLocalRedis } from '../../src/local/redis.ts'
import { sql } from '../../src/sql/orm.ts'
import { STEPS } from '../../src/workers/fault-point.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { openStores } from '../support/stores.ts'
import { until } from '../support/until.ts'
import {
  addVideo,
  expectWhole,
  type Library,
  launchWorker,
  makeClips,
  type Outcome,
  outcomeOf,
  settled,
  type WorkerProcess,
} from './support.ts'

const VIDEOS = 10
const KILLS = 12
let clips: ReturnType<typeof makeClips>
/** The same clips in a library whose worker was not killed. */
let undisturbed: Outcome

beforeAll(async () => {
  clips = makeClips(VIDEOS)
  await withLibrary(async (library) => {
    const worker = launchWorker(library)
    for (const path of clips.paths) await addVideo(library, path)
    await settled(library)
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toBe(0)
    undisturbed = await outcomeOf(library)
  })
  expectWhole(undisturbed, VIDEOS)
}, 600_000)

afterAll(() => clips.remove())

test('a worker killed at each named step leaves nothing undone and does nothing twice', {
  timeout: 600_000,
}, async () => {
  await withLibrary(async (library) => {
    for (const [n, step] of STEPS.entries()) {
      await addVideo(library, clips.paths[n % VIDEOS]!)
      // An earlier victim left some work for this one, so either video may bring it to its step.
      const worker = launchWorker(library, `${step}:1`)
      expect([step, await worker.ended]).toEqual([step, 'SIGKILL'])
    }
    for (const path of clips.paths) await addVideo(library, path)
    const last = launchWorker(library)
    // Nothing may be left to do: then the library is settled before this one handles signals.
    await last.working
    await settled(library)
    last.child.kill('SIGTERM')
    expect(await last.ended).toBe(0)
    const outcome = await outcomeOf(library)
    expectWhole(outcome, VIDEOS)
    expect(outcome).toEqual(undisturbed)
  })
})

test('two workers killed twelve times at random while ten videos arrive', { timeout: 600_000 }, async () => {
  const random = seededRandom(20_261_120)
  await withLibrary(async (library) => {
    const workers: WorkerProcess[] = [launchWorker(library), launchWorker(library)]
    for (let kill = 0; kill < KILLS; kill++) {
      if (kill < VIDEOS) await addVideo(library, clips.paths[kill]!)
      const victim = kill % workers.length
      await workers[victim]!.working
      await aMoment(random() * 500)
      workers[victim]!.child.kill('SIGKILL')
      expect(await workers[victim]!.ended).toBe('SIGKILL')
      workers[victim] = launchWorker(library)
    }
    await settled(library)
    // The last one may not handle signals yet.
    for (const worker of workers) await worker.working
    for (const worker of workers) worker.child.kill('SIGTERM')
    for (const worker of workers) expect(await worker.ended).toBe(0)
    const outcome = await outcomeOf(library)
    expectWhole(outcome, VIDEOS)
    expect(outcome).toEqual(undisturbed)
  })
})

test('Redis wiped while videos are in work: all finish, nothing is done twice', { timeout: 600_000 }, async () => {
  await using ends = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'frames-redis-'))
  ends.defer(() => rmSync(dir, { recursive: true, force: true }))
  const redis = await startLocalRedis({ dir, persistent: false })
  ends.defer(() => redis.stop())
  const wipe = new Redis(redis.url)
  ends.defer(() => wipe.disconnect())
  await withLibrary(async (stores) => {
    const library = { ...stores, redisUrl: redis.url }
    const worker = launchWorker(library)
    for (const path of clips.paths) await addVideo(library, path)
    // First while jobs wait and run, then while frames are described or recorded.
    for (const state of ['extracting', 'annotating']) {
      await until(async () => {
        const { rows } = await library.db.execute(sql`select 1 from videos where status in (${state}, 'ready')`)
        return rows.length > 0
      })
      await wipe.flushall()
    }
    await settled(library)
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toBe(0)
    expect(await outcomeOf(library)).toEqual(undisturbed)
  })
})

async function withLibrary(act: (library: Library) => Promise<void>): Promise<void> {
  const stores = await openStores()
  const dataDir = mkdtempSync(join(tmpdir(), 'frames-faults-'))
  try {
    await act({ ...stores, dataDir })
  } finally {
    await stores[Symbol.asyncDispose]()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** When to kill: spread over the work by design. No time is asserted. */
function aMoment(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
