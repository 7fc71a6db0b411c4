import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { parseConfig } from '../src/config.ts'
import { openDb } from '../src/db/client.ts'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { createKey } from '../src/library/accounts/keys.ts'
import { startLocalRedis } from '../src/local/redis.ts'
import { createLogger } from '../src/logger.ts'
import { openApi } from '../src/server/main.ts'
import { openWorker } from '../src/workers/main.ts'
import { faultOf, type HostileRequest, hostileRequests } from '../test/support/hostile.ts'
import { round, seedLibrary } from './seed.ts'
import { openTemporaryDatabase } from './support/postgres.ts'

/**
 * `npm run bench -- fuzz [--requests 20000] [--seed 1]`: hostile requests to every operation, a third of them with an operator's key. Counts every answer that is a
 * 5xx or an error in another shape than decided. With MEILI_URL and MEILI_KEY the reads are Meilisearch's.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      requests: { type: 'string', default: '20000' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean' },
    },
  })
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-fuzz-'))
  const redis = await startLocalRedis({ dir, persistent: false })
  const database = await openTemporaryDatabase()
  await seedLibrary(database.db, { frames: 2_000 })
  const { MEILI_URL, MEILI_KEY } = process.env
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    PUBLIC_URL: 'http://frames.test',
    RATE_LIMIT_SCALE: '1000000',
    MEILI_URL,
    MEILI_KEY,
  })
  if (config.meili) config.meili.prefix = `fuzz${process.pid}`
  const shared = { config, databaseUrl: database.url, redisUrl: redis.url, logger: createLogger({ level: 'silent' }) }
  const worker = config.meili ? await openWorker({ ...shared, pollMs: 20 }) : undefined
  await worker?.drain()
  const api = await openApi({ ...shared, port: 0, host: '127.0.0.1' })
  const db = openDb({ url: database.url, max: 2 })
  const account = await createAccount(db, { email: 'operator@example.com', role: 'operator', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'fuzz' })
  const { rows } = await db.$client.query<{ id: string; video_id: string }>('select id, video_id from frames limit 1')
  await db.$client.end()
  const { engine } = (
    (await (await fetch(`http://127.0.0.1:${api.port}/api/frames?debug=1`)).json()) as { debug: { engine: string } }
  ).debug

  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const send = ({ method, target, headers, body }: HostileRequest) =>
    new Promise<{ status: number; type: string | null; text: string }>((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const req = httpRequest(
        {
          agent,
          hostname: '127.0.0.1',
          port: api.port,
          method,
          path: target,
          headers: { ...headers, ...length },
          timeout: 30_000,
        },
        (res) => {
          const chunks: Buffer[] = []
          res.on('data', (chunk: Buffer) => chunks.push(chunk))
          res.on('end', () =>
            resolve({
              status: res.statusCode!,
              type: res.headers['content-type'] ?? null,
              text: Buffer.concat(chunks).toString(),
            }),
          )
        },
      )
      req.on('timeout', () => req.destroy(new Error('no answer in 30 s')))
      req.on('error', reject)
      req.end(body)
    })

  const tokens = [rows[0]!.id, rows[0]!.video_id]
  const total = Number(values.requests)
  const statuses: Record<string, number> = {}
  const faults: string[] = []
  const started = performance.now()
  const waiting = new Set<Promise<void>>()
  let n = 0
  for (const request of fc.sample(hostileRequests(tokens), { numRuns: total, seed: Number(values.seed) })) {
    // What takes the library apart or fills the disk is not asked for with a key that may.
    const mayHaveKey = !request.target.startsWith('/api/videos') && n++ % 3 === 0
    const asked = mayHaveKey ? { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } } : request
    const one: Promise<void> = send(asked)
      .then(({ status, type, text }) => {
        statuses[status] = (statuses[status] ?? 0) + 1
        const fault = faultOf(asked, status, type, text)
        if (fault) faults.push(`${asked.method} ${asked.target.slice(0, 200)}: ${fault}`)
      })
      .catch((error: Error & { code?: string }) => {
        // The answer to a header that is too long comes before the request is read to its end.
        if (error.code !== 'ECONNRESET' || asked.target.length < 15_000)
          faults.push(`${asked.method} ${asked.target.slice(0, 200)}: ${error.message}`)
      })
      .finally(() => waiting.delete(one))
    waiting.add(one)
    if (waiting.size >= 8) await Promise.race(waiting)
  }
  await Promise.all(waiting)
  agent.destroy()
  const seconds = (performance.now() - started) / 1000
  const alive = (await fetch(`http://127.0.0.1:${api.port}/readyz`)).status === 200
  await api.stop({ deadlineMs: 2_000 })
  await worker?.stop(2_000)
  await redis.stop()
  await database[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
  if (!values.json) {
    console.table(statuses)
    for (const fault of faults.slice(0, 20)) console.log(fault)
  }
  console.log(
    JSON.stringify({
      bench: 'fuzz',
      engine,
      requests: total,
      faults: faults.length,
      alive,
      statuses,
      seconds: round(seconds),
    }),
  )
  if (faults.length > 0 || !alive) process.exitCode = 1
}
