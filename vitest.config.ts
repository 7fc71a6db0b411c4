import { defineConfig } from 'vitest/config'
import { NODE_SETTINGS } from './test/support/node-settings.ts'

Object.assign(process.env, NODE_SETTINGS)

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // No test asserts a time: these end what hangs, also on a machine that has other work.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    reporters: ['default', './test/support/closing-line.ts'],
  },
})
