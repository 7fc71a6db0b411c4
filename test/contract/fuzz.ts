import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { seedLibrary } from '../../bench/support/library.ts'
import { openTemporaryDatabase } from '../../bench/support/postgres.ts'
import { parseConfig } from '../../src/config.ts'
import { type Db, openDb } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { createLogger } from '../../src/logger.ts'
import { openApi } from '../../src/server/main.ts'
import { openWorker } from '../../src/workers/main.ts'
import { faultOf, type HostileRequest, hostileRequests } from '../support/hostile.ts'

// `npm run test:fuzz [-- --requests 20000 --seed 1]`: the long run of the hostile requests of bad-input. A third
// of them have an operator's key. It fails on any 5xx and on any error in another shape than the interface has. With
// MEILI_URL and MEILI_KEY Meilisearch answers the reads.

const AT_ONCE = 8

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
})
const started = performance.now()
await using target = await openTarget()
const { statuses, faults } = await fire(target, Number(values.requests), Number(values.seed))
const isAlive = (await fetch(`http://127.0.0.1:${target.port}/readyz`)).status === 200
const seconds = Math.round((performance.now() - started) / 1000)
console.table(statuses)
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(JSON.stringify({ requests: Number(values.requests), faults: faults.length, isAlive, seconds }))
if (faults.length > 0 || !isAlive) process.exitCode = 1

interface Target extends AsyncDisposable {
  port: number
  /** An operator's. */
  key: string
  /** Ids that exist. */
  tokens: string[]
}

async function openTarget(): Promise<Target> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-fuzz-'))
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
  const { key, tokens } = await credentials(db)
  await db.$client.end()
  return {
    port: api.port,
    key,
    tokens,
    async [Symbol.asyncDispose]() {
      await api.stop({ deadlineMs: 2_000 })
      await worker?.stop(2_000)
      await redis.stop()
      await database[Symbol.asyncDispose]()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function credentials(db: Db): Promise<{ key: string; tokens: string[] }> {
  const account = await createAccount(db, { email: 'operator@example.com', role: 'operator', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'fuzz' })
  const { rows } = await db.$client.query<{ id: string; video_id: string }>('select id, video_id from frames limit 1')
  return { key, tokens: [rows[0]!.id, rows[0]!.video_id] }
}

async function fire({ port, key, tokens }: Target, total: number, seed: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const statuses: Record<string, number> = {}
  const faults: string[] = []
  const waiting = new Set<Promise<void>>()
  let n = 0
  for (const request of fc.sample(hostileRequests(tokens), { numRuns: total, seed })) {
    // Without a key: uploads would fill the disk, deletions would empty the library.
    const mayHaveKey = !request.target.startsWith('/api/videos') && n++ % 3 === 0
    const asked = mayHaveKey ? { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } } : request
    const label = `${asked.method} ${asked.target.slice(0, 200)}`
    const one: Promise<void> = send(agent, port, asked)
      .then(({ status, type, text }) => {
        statuses[status] = (statuses[status] ?? 0) + 1
        const fault = faultOf(asked, status, type, text)
        if (fault) faults.push(`${label}: ${fault}`)
      })
      .catch((error: Error & { code?: string }) => {
        // The answer to a header that is too long comes before the request is read to its end.
        if (error.code !== 'ECONNRESET' || asked.target.length < 15_000) faults.push(`${label}: ${error.message}`)
      })
      .finally(() => waiting.delete(one))
    waiting.add(one)
    if (waiting.size >= AT_ONCE) await Promise.race(waiting)
  }
  await Promise.all(waiting)
  agent.destroy()
  return { statuses, faults }
}

function send(agent: Agent, port: number, { method, target, headers, body }: HostileRequest) {
  return new Promise<{ status: number; type: string | null; text: string }>((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const options = { agent, hostname: '127.0.0.1', port, method, path: target, timeout: 30_000 }
    const req = httpRequest({ ...options, headers: { ...headers, ...length } }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: res.statusCode!, type: res.headers['content-type'] ?? null, text })
      })
    })
    req.on('timeout', () => req.destroy(new Error('no answer in 30 s')))
    req.on('error', reject)
    req.end(body)
  })
}
