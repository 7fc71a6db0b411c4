import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

// scripts/setup.mjs against a machine made of stubs: its PATH holds only programs that write down how they were called.

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

const onLinux = test.skipIf(process.platform !== 'linux')
const withTerminal = test.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/script'))

/** A machine whose apt-get writes down its arguments and brings redis-server. */
function debianMachine(): void {
  program('ffmpeg')
  program('ffprobe')
  for (const name of ['sh', 'env', 'rm', 'chmod']) symlinkSync(`/bin/${name}`, join(machine, 'bin', name))
  program('sudo', '[ "$1" = -n ] && shift\nexec "$@"')
  program('systemctl')
  program('update-rc.d')
  // A package manager that writes down its arguments and brings the program.
  const redis = `${machine}/bin/redis-server`
  program('apt-get', `echo "$@" >> ${machine}/asked\nprintf '#!/bin/sh\\n' > ${redis}\nchmod 755 ${redis}`)
}

onLinux('without a terminal it says in a line what is missing, and installs that with apt-get through sudo', () => {
  debianMachine()
  expect(setUp()).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^This service needs programs of your system: .*redis-server \(queues jobs\)\.\n$/),
  })
  expect(asked().at(-1)).toMatch(/^install .*redis-server$/)
  expect(setUp()).toMatchObject({ status: 0, stdout: '' })
})

withTerminal('on a terminal it asks first, and Enter is yes', () => {
  debianMachine()
  const run = onTerminal('\n')
  expect(run.stdout).toContain('Install now? [Y/n]')
  expect(run.status).toBe(0)
  expect(asked().at(-1)).toMatch(/^install .*redis-server$/)
})

withTerminal.each(['n\n', '\u0004'])('the answer %j on a terminal installs nothing and says what to do', (answer) => {
  debianMachine()
  const run = onTerminal(answer)
  expect(run.status).toBe(1)
  expect(run.stdout).toContain('Missing: redis-server. Install with: sudo apt-get install redis-server')
  expect(existsSync(join(machine, 'asked'))).toBe(false)
})

describe('packages', () => {
  /** A checkout with one package that the service runs on and one that only tests need. */
  const lock = {
    packages: {
      '': {},
      'node_modules/express': { version: '1.0.0' },
      'node_modules/vitest': { version: '2.0.0', dev: true },
    },
  }
  let checkout: string

  beforeEach(() => {
    checkout = join(machine, 'checkout')
    for (const folder of ['scripts', 'node_modules/.bin']) mkdirSync(join(checkout, folder), { recursive: true })
    copyFileSync('scripts/setup.mjs', join(checkout, 'scripts/setup.mjs'))
    writeFileSync(join(checkout, 'package.json'), JSON.stringify({ dependencies: { node: '24.0.0' } }))
    writeFileSync(join(checkout, 'package-lock.json'), JSON.stringify(lock))
    writeFileSync(join(checkout, 'node_modules/.bin/node'), '#!/bin/sh\necho v24.0.0\n', { mode: 0o755 })
    for (const name of ['redis-server', 'ffmpeg', 'ffprobe', 'chromium']) program(name)
    program('npm', `echo "$1 $2 $3" >> ${machine}/asked`)
  })

  const prepare = (args: string[] = []) =>
    spawnSync(process.execPath, [join(checkout, 'scripts/setup.mjs'), ...args], {
      encoding: 'utf8',
      env: { PATH: join(machine, 'bin') },
    })
  const installed = (packages: object) =>
    writeFileSync(join(checkout, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))

  test('npm start installs no development packages', () => {
    expect(prepare().status).toBe(0)
    expect(asked()).toEqual(['ci --omit=dev --no-fund'])
  })

  onLinux('npm and the package manager of the system work at the same time', () => {
    debianMachine()
    rmSync(join(machine, 'bin/redis-server'))
    for (const name of ['sleep', 'grep']) symlinkSync(`/bin/${name}`, join(machine, 'bin', name))
    // It fails unless apt-get is asked while it runs.
    program('npm', `for n in 1 2 3 4 5 6 7 8 9; do grep -qs install ${machine}/asked && exit 0; sleep 1; done; exit 1`)
    expect(prepare()).toMatchObject({ status: 0, stderr: '' })
  })

  test('npm test installs all packages, or adds those that npm start left out', () => {
    expect(prepare(['--test']).status).toBe(0)
    installed({ 'node_modules/express': { version: '1.0.0' } })
    expect(prepare()).toMatchObject({ status: 0, stdout: '' })
    expect(prepare(['--test']).status).toBe(0)
    expect(asked()).toEqual(['ci --include=dev --no-fund', 'install --no-save --include=dev'])
    installed(lock.packages)
    expect(prepare(['--test'])).toMatchObject({ status: 0, stdout: '' })
  })

  test('npm start keeps development packages that are there when it must install others', () => {
    installed({ ...lock.packages, 'node_modules/express': { version: '0.9.0' } })
    expect(prepare().status).toBe(0)
    expect(asked()).toEqual(['ci --include=dev --no-fund'])
  })
})

/** What the package managers were asked, call by call. */
function asked(): string[] {
  return readFileSync(join(machine, 'asked'), 'utf8').trim().split('\n')
}

/** Runs the set-up on a terminal of its own, with `keys` typed into it. */
function onTerminal(keys: string) {
  return spawnSync('/usr/bin/script', ['-qec', `${process.execPath} scripts/setup.mjs`, '/dev/null'], {
    encoding: 'utf8',
    input: keys,
    env: { PATH: join(machine, 'bin'), SHELL: '/bin/sh' },
  })
}
