import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

// scripts/setup.mjs against a machine made of stubs: a PATH of our own, where `apt-get` and `brew` leave a note of what they were asked.

let machine: string

beforeEach(() => {
  machine = mkdtempSync(join(tmpdir(), 'frames-setup-'))
  mkdirSync(join(machine, 'bin'))
})

afterEach(() => rmSync(machine, { recursive: true, force: true }))

function program(name: string, body = 'exit 0'): void {
  const file = join(machine, 'bin', name)
  writeFileSync(file, `#!/bin/sh\n${body}\n`)
  chmodSync(file, 0o755)
}

function setUp(args: string[] = [], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, ['scripts/setup.mjs', ...args], {
    encoding: 'utf8',
    env: { PATH: join(machine, 'bin'), ...env },
  })
}

test('says nothing when all is there', () => {
  for (const name of ['redis-server', 'ffmpeg', 'ffprobe']) program(name)
  const run = setUp()
  expect(run).toMatchObject({ status: 0, stdout: '', stderr: '' })
})

test('a missing program that may not be installed is one line and exit 1', () => {
  program('ffmpeg')
  const run = setUp()
  expect(run.status).toBe(1)
  expect(run.stdout).toBe('')
  expect(run.stderr.trim().split('\n')).toHaveLength(1)
  expect(run.stderr).toContain('redis-server')
  expect(run.stderr).toContain('ffprobe')
})

test('with REDIS_URL no redis-server is asked for, except by the tests', () => {
  for (const name of ['ffmpeg', 'ffprobe', 'chromium']) program(name)
  expect(setUp([], { REDIS_URL: 'redis://127.0.0.1:1' }).status).toBe(0)
  expect(setUp(['--test'], { REDIS_URL: 'redis://127.0.0.1:1' }).stderr).toContain('redis-server')
})

test.skipIf(process.platform !== 'linux')('installs with apt-get through sudo what is missing and nothing else', () => {
  program('ffmpeg')
  program('ffprobe')
  for (const name of ['sh', 'env', 'rm', 'chmod']) symlinkSync(`/bin/${name}`, join(machine, 'bin', name))
  program('sudo', '[ "$1" = -n ] && shift\nexec "$@"')
  program('systemctl')
  program('update-rc.d')
  // The stub of a package manager: it notes its arguments and brings the program.
  program(
    'apt-get',
    `echo "$@" >> ${machine}/asked\nprintf '#!/bin/sh\\n' > ${machine}/bin/redis-server\nchmod 755 ${machine}/bin/redis-server`,
  )
  const run = setUp()
  expect(run.status).toBe(0)
  const asked = spawnSync('cat', [join(machine, 'asked')], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n')
  expect(asked.at(-1)).toMatch(/^install .*redis-server$/)
  expect(setUp()).toMatchObject({ status: 0, stdout: '' })
})
