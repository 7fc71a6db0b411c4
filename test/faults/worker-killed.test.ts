import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
const KILLS = 20
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

test('two workers killed twenty times at random while ten videos arrive', { timeout: 600_000 }, async () => {
  const random = seededRandom(20_261_120)
  await withLibrary(async (library) => {
    const workers: WorkerProcess[] = [launchWorker(library), launchWorker(library)]
    await workers[0]!.working
    for (let kill = 0; kill < KILLS; kill++) {
      if (kill % 2 === 0) await addVideo(library, clips.paths[kill / 2]!)
      await aMoment(200 + random() * 500)
      const victim = kill % workers.length
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

test('SIGTERM hands work back: the worker goes in time and no attempt is counted', { timeout: 600_000 }, async () => {
  await withLibrary(async (library) => {
    const worker = launchWorker(library)
    await worker.working
    const some = clips.paths.slice(0, 3)
    for (const path of some) await addVideo(library, path)
    await until(async () => {
      const { rows } = await library.db.execute(sql`select 1 from videos where status = 'extracting'`)
      return rows.length > 0
    })
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toBe(0)
    expect(worker.log()).toContain('job handed back')
    expect(worker.log()).not.toContain('jobs left behind')
    const successor = launchWorker(library)
    await settled(library)
    successor.child.kill('SIGTERM')
    await successor.ended
    expectWhole(await outcomeOf(library), some.length)
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
