import { openDb } from '../../src/db/client.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'

// A process that dies between the effect of a batch and its commit: after the batches that it is given.

let batches = Number(process.argv[2])
await recountAnalytics(openDb({ url: process.env.DATABASE_URL! }), {
  batch: 40,
  beforeCommit() {
    if (--batches < 0) process.kill(process.pid, 'SIGKILL')
  },
})
