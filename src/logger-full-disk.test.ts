import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createLogger } from './logger.ts'

test.skipIf(!existsSync('/dev/full'))('a full disk under standard output does not end the process', () => {
  const full = openSync('/dev/full', 'w')
  const script = `
    import { createLogger } from './src/logger.ts'
    const logger = createLogger({ level: 'info' })
    for (let n = 0; n < 3; n++) logger.info('a line')
    setImmediate(() => process.exit(7))`
  const run = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(full)
  expect([run.status, run.stderr]).toEqual([7, ''])
})

test('a destination that throws does not reach the caller, and is tried again', () => {
  let tried = 0
  const logger = createLogger(
    { level: 'info' },
    {
      write() {
        tried++
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      },
    },
  )
  for (const line of ['one', 'another']) logger.info(line)
  expect(tried).toBe(2)
})
