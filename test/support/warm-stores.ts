import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { untilSignalled } from '../../src/server/shutdown.ts'
import { MAX_WORKERS } from './node-settings.ts'
import { bootStores, migrationsHash, WARM_STORES_FILE } from './run-stores.ts'

// `npm run test:stores`: PostgreSQL and Redis for the tests, kept until Ctrl-C, so that a run need not start its own.

const signalled = untilSignalled()
const stores = await bootStores(MAX_WORKERS)
const { postgresUrls, redisUrl } = stores
mkdirSync(dirname(WARM_STORES_FILE), { recursive: true })
writeFileSync(WARM_STORES_FILE, JSON.stringify({ postgresUrls, redisUrl, migrations: migrationsHash() }), {
  mode: 0o600,
})
console.log('PostgreSQL and Redis for the tests are running. Keep this open; Ctrl-C stops them.')
await signalled
rmSync(WARM_STORES_FILE, { force: true })
await stores.stop()
process.exit(0)
