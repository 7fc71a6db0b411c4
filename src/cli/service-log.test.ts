import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openServiceLog } from './service-log.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'frames-log-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const line = (n: number) => `{"level":30,"msg":"line ${n}"}\n`

test('the log is moved aside while the service runs, for every writer of the file', async () => {
  const log = openServiceLog(dir, { maxBytes: 1_000, lookEveryMs: 5 })
  try {
    for (let n = 0; n < 40; n++) log.write(line(n))
    await vi.waitUntil(() => statSync(log.file).size === 0)
    // The worker's descriptor is of the same file.
    appendFileSync(log.fd, line(40))
    log.write(line(41))
    expect(readFileSync(log.file, 'utf8')).toBe(line(40) + line(41))
    expect(readFileSync(`${log.file}.1`, 'utf8')).toContain(line(39))
    for (const file of [log.file, `${log.file}.1`]) expect(statSync(file).mode & 0o777).toBe(0o600)
  } finally {
    log.close()
  }
})

test.skipIf(!existsSync('/dev/full'))('on a full disk a warning still reaches the terminal', () => {
  symlinkSync('/dev/full', join(dir, 'service.log'))
  const shown: string[] = []
  const log = openServiceLog(dir, { show: (text) => void shown.push(text) })
  log.write(line(1))
  log.write('{"level":40,"msg":"dependency unavailable"}\n')
  log.close()
  expect(shown).toEqual(['warning: dependency unavailable'])
})

test('a terminal shows what PostgreSQL said of a query in one line, and the same once', () => {
  const shown: string[] = []
  const log = openServiceLog(dir, { show: (text) => void shown.push(text) })
  const failed = (reason: string) =>
    log.write(
      `${JSON.stringify({
        level: 40,
        err: { message: `Failed query: insert into boards\n  values ($1)\nparams: …: ${reason}` },
        msg: 'dependency unavailable',
      })}\n`,
    )
  for (let n = 0; n < 3; n++) failed('could not extend file: No space left on device')
  failed('canceling statement due to lock timeout')
  log.close()
  expect(shown).toEqual([
    'warning: dependency unavailable (could not extend file: No space left on device)',
    'warning: dependency unavailable (canceling statement due to lock timeout)',
  ])
})

test('a log that cannot be moved aside ends nothing, at the start and later', () => {
  mkdirSync(join(dir, 'service.log.1', 'full'), { recursive: true })
  writeFileSync(join(dir, 'service.log'), line(1).repeat(100))
  const log = openServiceLog(dir, { maxBytes: 1_000 })
  log.write(line(2))
  log.close()
  expect(readFileSync(log.file, 'utf8')).toContain(line(2))
})
