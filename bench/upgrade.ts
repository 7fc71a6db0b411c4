import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startLocalPostgres } from '../src/local/postgres.ts'
import { freePort } from '../src/local/processes.ts'
import { startLocalRedis } from '../src/local/redis.ts'
import type { About } from './support/bench.ts'
import { openEnding } from './support/ending.ts'
import { openLoad, openRouter } from './support/mixed-load.ts'
import { checkOut, type Installation, runPart, thisVersion, type Version } from './support/versions.ts'

const CLIPS_BEFORE = 2
/** How long each part of the upgrade is under load. */
const PHASE_MS = 12_000

export const about: About = {
  measures:
    'An upgrade without a pause. An older version serves under load: reads, searches, saves, boards, pins, uploads. ' +
    'Then the database is migrated, this version starts beside it, and the older one stops. A router sends each ' +
    'request to a process that is ready, as a load balancer does.',
  against: 'nothing: every request must succeed, and every job and acknowledged write must be there at the end.',
  figures: [
    { what: 'requests', at: ['requests'] },
    { what: 'failed requests', at: ['failed'], atMost: 0 },
    { what: 'uploads', at: ['uploads'] },
    { what: 'jobs lost (videos that are not ready at the end)', at: ['lost_jobs'], atMost: 0 },
    { what: 'saves, boards and pins acknowledged', at: ['writes'] },
    { what: 'of them lost', at: ['lost_writes'], atMost: 0 },
  ],
}

export async function run(args: string[]): Promise<object> {
  const commit = args.find((arg) => !arg.startsWith('--')) ?? 'HEAD^'
  const folder = mkdtempSync(join(tmpdir(), 'bench-upgrade-'))
  const ending = openEnding()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  try {
    const older = checkOut(commit, folder)
    ending.defer(() => older[Symbol.dispose]())
    const newer = thisVersion()
    const [postgres, redis] = await Promise.all([
      ending.use(startLocalPostgres({ dir: join(folder, 'postgres') }), (started) => started.stop()),
      ending.use(startLocalRedis({ dir: join(folder, 'redis') }), (started) => started.stop()),
    ])
    const installation = { databaseUrl: postgres.url, redisUrl: redis.url, dataDir: folder }
    const result = await upgrade(older, newer, installation)
    console.table(result.by_kind)
    return { bench: 'upgrade', from: older.name, to: newer.name, ...result }
  } finally {
    await ending.leave()
  }
}

async function upgrade(older: Version, newer: Version, installation: Installation) {
  await expectDone(runPart(older, 'migrate', installation).ended, 'the first migration')
  await using before = await openService(older, installation)
  const router = openRouter([before.url])
  const key = readFileSync(join(installation.dataDir, 'operator-key'), 'utf8').trim()
  const load = openLoad(router, key, installation.dataDir)
  for (let n = 0; n < CLIPS_BEFORE; n++) await load.upload()
  await load.untilReady()
  const stop = load.start()
  say(`${older.name} serves under load`)
  await sleep(PHASE_MS)
  await expectDone(runPart(newer, 'migrate', installation).ended, 'the migration')
  say(`migrated to ${newer.name}; ${older.name} goes on`)
  await sleep(PHASE_MS)
  await using after = await openService(newer, installation)
  router.add(after.url)
  say('both serve side by side')
  await sleep(PHASE_MS)
  // As a load balancer does once /readyz says 503: no new requests, then the process ends.
  router.remove(before.url)
  await before[Symbol.asyncDispose]()
  say(`${older.name} has stopped`)
  await sleep(PHASE_MS)
  await stop()
  await load.untilReady()
  // Awaited here: the service stops when this function ends.
  return await load.report()
}

function say(line: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${line}`)
}

async function expectDone(ended: Promise<number | null>, what: string): Promise<void> {
  const code = await ended
  if (code !== 0) throw new Error(`${what} ended with ${code}`)
}

/** An API and a worker of one version, ready. */
async function openService(version: Version, installation: Installation) {
  const port = await freePort()
  const parts = [runPart(version, 'api', { ...installation, port }), runPart(version, 'worker', installation)]
  const url = `http://127.0.0.1:${port}`
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) {
    if (parts[0]!.process.exitCode !== null) throw new Error(`the API of ${version.name} ended`)
    await sleep(200)
  }
  let stopped: Promise<unknown> | undefined
  return {
    url,
    async [Symbol.asyncDispose]() {
      stopped ??= Promise.all(parts.map((part) => part.stop()))
      await stopped
    },
  }
}
