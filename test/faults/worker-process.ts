import { parseConfig } from '../../src/config.ts'
import { createLogger } from '../../src/logger.ts'
import { untilSignalled } from '../../src/server/shutdown.ts'
import type { Annotator } from '../../src/vision/annotator.ts'
import { openWorker } from '../../src/workers/main.ts'
import '../support/kill-at.ts'

// A worker process to be killed. Everything is real except the annotator, which makes no paid calls. A second after its
// death another worker takes over its jobs.

const annotator: Annotator = {
  version: 'test@1',
  model: 'test',
  batchSize: 2,
  async annotate(_video, frames) {
    const annotations = frames.map(({ id, tone }) => ({
      frameId: id,
      status: 'annotated' as const,
      values: { caption: { value: `A ${tone} frame`, source: 'measured' as const, confidence: 1 } },
      issues: [],
    }))
    return { annotations, calls: [] }
  },
  async [Symbol.asyncDispose]() {},
}

const config = parseConfig(process.env)
const signalled = untilSignalled()
const worker = await openWorker({
  config,
  databaseUrl: config.databaseUrl!,
  redisUrl: config.redisUrl!,
  logger: createLogger({ level: config.logLevel, name: 'worker' }),
  prefix: process.argv[2]!,
  annotator,
  lockMs: 1_000,
  pollMs: 200,
  reconcileMs: 1_000,
})
console.log('working')
await signalled
await worker.stop(10_000)
process.exit(0)
