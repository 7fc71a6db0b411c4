import { defineConfig } from 'vitest/config'
import { MAX_WORKERS, NODE_SETTINGS } from './test/support/node-settings.ts'
import SlowestFirst from './test/support/slowest-first.ts'

Object.assign(process.env, NODE_SETTINGS)

const stores = { globalSetup: 'test/support/global-setup.ts' }
/** Tests beside the source that paint pictures or make clips: without them `unit` takes seconds. */
const MEDIA = 'src/**/*.media.test.ts'
/** Whole processes: services, workers with many jobs, browsers, MCP clients, the command line. */
const PROCESS = [
  'test/{faults,journeys,platform}/**/*.test.ts',
  'test/accounts/{browser,cli,pages}.test.ts',
  'test/library/{cli*,job*,vision}.test.ts',
  'test/webhooks/{cli,killed}.test.ts',
  'test/library/cli-reannotate.test.ts',
  'test/mcp/{clients,referees}.test.ts',
]

export default defineConfig({
  test: {
    pool: 'forks',
    // Sources run as Node runs them in production. Nothing is transformed, and compiled code is kept between starts.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: MAX_WORKERS,
    // No test asserts a time: these end what hangs, also on a machine that has other work.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 240_000, interval: 20 } },
    sequence: { sequencer: SlowestFirst },
    reporters: ['default', './test/support/closing-line.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/docs/**/*.test.ts'],
          exclude: [MEDIA],
          pool: 'threads',
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'stores',
          include: [
            'test/{accounts,backup,contract,db,events,library,mcp,oauth,projections,search,webhooks}/**/*.test.ts',
          ],
          exclude: PROCESS,
          isolate: false,
          setupFiles: 'test/support/leftovers.setup.ts',
          ...stores,
        },
      },
      {
        extends: true,
        test: { name: 'media', include: [MEDIA, 'test/{media,video,vision}/**/*.test.ts'], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: PROCESS,
          isolate: false,
          setupFiles: 'test/support/leftovers.setup.ts',
          ...stores,
        },
      },
    ],
  },
})
