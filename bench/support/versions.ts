import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { openEnding } from './ending.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A checked out version of the service, with its packages. */
export interface Version {
  name: string
  root: string
}

export function thisVersion(): Version {
  return { name: git('rev-parse', '--short', 'HEAD'), root: ROOT }
}

/**
 * Checks out a commit below `folder`, unless it is there. It shares our packages if its lockfile is ours, and else
 * installs its own.
 */
export function checkOut(commit: string, folder: string): Version & Disposable {
  const root = join(folder, 'older')
  const version = {
    name: git('rev-parse', '--short', commit),
    root,
    [Symbol.dispose]: () => void git('worktree', 'remove', '--force', root),
  }
  if (existsSync(root)) return version
  git('worktree', 'add', '--detach', root, commit)
  const lock = (of: string) => readFileSync(join(of, 'package-lock.json'), 'utf8')
  if (lock(root) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  else
    execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  return version
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

export interface Installation {
  databaseUrl: string
  redisUrl: string
  dataDir: string
}

/**
 * One process of a version: `api`, `worker` or `migrate`. Its log goes to a file in the data folder. A signal that ends
 * the bench stops it.
 */
export function runPart(
  { name, root }: Version,
  part: 'api' | 'worker' | 'migrate',
  { databaseUrl, redisUrl, dataDir, port = 0 }: Installation & { port?: number },
): { process: ChildProcess; ended: Promise<number | null>; stop(): Promise<number | null> } {
  const log = openSync(join(dataDir, `${part}-${name}.log`), 'a')
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), part], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      DATA_DIR: dataDir,
      PORT: String(port),
      HOST: '127.0.0.1',
      RATE_LIMIT_SCALE: '100000',
    },
    stdio: ['ignore', log, log],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  const ending = openEnding()
  ending.defer(stop)
  ended.then(ending.leave)
  return { process: child, ended, stop }
}
