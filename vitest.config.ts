import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/closing-line.ts'],
  },
})
