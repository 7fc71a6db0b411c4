import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Command } from 'commander'
import { BackupFailure, explain } from '../backup/failure.ts'
import { openPlace } from '../backup/place.ts'
import { chooseRestorable, restoreBackup } from '../backup/restore.ts'
import type { Progress } from '../backup/streams.ts'
import { type VerifyReport, verifyBackup } from '../backup/verify.ts'
import { type BackupReport, writeBackup } from '../backup/write-backup.ts'
import { megabytes } from '../clean-text.ts'
import type { Config } from '../config.ts'
import { type Db, openDb } from '../db/client.ts'
import { libraryId } from '../library/settings.ts'
import { startLocalPostgres } from '../local/postgres.ts'
import { claimDataDir } from '../local/processes.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import { untilSignalled } from '../server/shutdown.ts'
import { secretKeysOf } from '../webhooks/describe.ts'
import { tellStep } from '../workers/fault-point.ts'
import { configOrExit, parseInteger, readRunFile, requireWritable } from './context.ts'
import { CliError } from './failure.ts'
import { addExamples, complain, print } from './terminal.ts'

const FOLDER = 'the folder that holds the backups'
/** Consumers whose effect a restore rebuilds. */
const REBUILT = ['search']

interface BackupOptions {
  keep?: number
  verify?: boolean
  json?: boolean
}

interface ChosenBackup {
  backup?: string
  json?: boolean
}

export function defineBackup(command: Command): void {
  addExamples(command, 'backup /mnt/backups/frames', 'backup /mnt/backups/frames --keep 14 --verify')
    .argument('<folder>', FOLDER)
    .option('--keep <n>', 'then keep only the newest n backups of the folder', (given) =>
      parseInteger('--keep', given, { min: 1, max: 10_000 }),
    )
    .option('--verify', 'read everything again and compare it with its checksums')
    .action((at: string, options: BackupOptions) => explained(at, () => backUp(at, options)))
}

export function defineVerifyBackup(command: Command): void {
  withChoice(addExamples(command, 'verify-backup /mnt/backups/frames')).action((at: string, options: ChosenBackup) =>
    explained(at, async () => {
      const onProgress = progressTo('Verifying')
      const report = await verifyBackup({ place: openPlace(at), at, backup: options.backup, onProgress })
      print(options.json, report, () => `The backup ${report.backup} is whole: ${describe(report)}`)
    }),
  )
}

export function defineRestore(command: Command): void {
  withChoice(addExamples(command, 'restore /mnt/backups/frames')).action((at: string, options: ChosenBackup) =>
    explained(at, () => restore(at, options)),
  )
}

function withChoice(command: Command): Command {
  return command.argument('<folder>', FOLDER).option('--backup <name>', 'this one (default: the newest)')
}

async function explained(folder: string, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    const known = explain(error, { folder })
    throw known === undefined ? error : new BackupFailure(known)
  }
}

async function backUp(at: string, options: BackupOptions): Promise<void> {
  const config = configOrExit()
  const place = openPlace(at, { create: true })
  const show = progressTo('Backing up')
  const [report, secrets] = await withDatabase(config, { idle: false }, async (databaseUrl) => {
    const written = await writeBackup({
      databaseUrl,
      media: mediaOf(config),
      place,
      library: () => withDb(databaseUrl, libraryId),
      keep: options.keep,
      operatorKeyFile: join(config.dataDir, 'operator-key'),
      onProgress(progress) {
        show(progress)
        tellStep(`backup-${progress.step}`)
      },
    })
    return [written, await withDb(databaseUrl, (db) => secretKeysOf(db, config.secretsKeys))] as const
  })
  if (options.verify) await verifyBackup({ place, at, backup: report.backup, onProgress: progressTo('Verifying') })
  const seen = { place: at, ...report, secrets_keys: secrets.used, verified: options.verify === true }
  print(options.json, seen, () => [
    `Backed up${options.verify ? ' and verified' : ''} as ${report.backup}: ${describe(report)}`,
    ...describeMissing(report),
    ...(report.removed > 0 ? [`Removed ${report.removed} older backups.`] : []),
    ...(secrets.used.length === 0
      ? []
      : [`It does not hold SECRETS_KEY (${secrets.used.join(', ')}), which a restore needs. Keep it elsewhere.`]),
    `Restore it with: frames restore ${at}`,
  ])
}

async function restore(at: string, options: ChosenBackup): Promise<void> {
  const config = configOrExit()
  const place = openPlace(at)
  const show = progressTo('Restoring')
  // Before a database is made for it.
  await chooseRestorable({ place, at, backup: options.backup })
  const [report, secrets] = await withDatabase(config, { idle: true }, async (databaseUrl) => {
    const restored = await restoreBackup({
      databaseUrl,
      media: mediaOf(config),
      place,
      at,
      backup: options.backup,
      operatorKeyFile: join(config.dataDir, 'operator-key'),
      rebuilt: REBUILT,
      rebuild: () => rebuildSearchDocuments(config, databaseUrl),
      onProgress(progress) {
        show(progress)
        tellStep(`restore-${progress.step}`)
      },
    })
    return [restored, await withDb(databaseUrl, (db) => secretKeysOf(db, config.secretsKeys))] as const
  })
  print(options.json, { place: at, ...report, secrets_keys_missing: secrets.missing }, () => [
    `Restored ${report.backup}: ${report.rows} rows, ${report.images} images. Start the service.`,
    ...(report.rebuild_failed === null
      ? []
      : [`! The search documents are not built (${report.rebuild_failed}). The worker builds them when it runs.`]),
    ...(report.images_missing > 0 ? [`! ${report.images_missing} images are missing. See frames storage check.`] : []),
    ...(secrets.missing.length === 0
      ? []
      : [`! Webhooks and apps wait for their secrets: add the key ${secrets.missing.join(', ')} to SECRETS_KEY.`]),
  ])
}

async function rebuildSearchDocuments(config: Config, databaseUrl: string): Promise<void> {
  complain('Building the search documents …')
  const { rebuildAll } = await import('../workers/projection.ts')
  await withDb(databaseUrl, (db) => rebuildAll({ config, db }))
}

async function withDb<T>(url: string, act: (db: Db) => Promise<T>): Promise<T> {
  const db = openDb({ url, max: 4, applicationName: 'frames restore', statementTimeoutMs: 0 })
  try {
    return await act(db)
  } finally {
    await db.$client.end()
  }
}

function mediaOf(config: Config): MediaStore {
  return openMediaStore(config, { syncLater: true })
}

/** Lines for people on standard error, at most one every two seconds. */
function progressTo(what: string): (progress: Progress) => void {
  let last = 0
  return ({ step, done, total }) => {
    const now = Date.now()
    if (now - last < 2_000) return
    last = now
    complain(`${what}: ${step} ${done} of ${total}`)
  }
}

function describe({ tables, rows, images, image_bytes }: BackupReport | VerifyReport): string {
  return `${rows} rows of ${tables} tables, ${images} images (${megabytes(image_bytes)})`
}

function describeMissing({ images_missing, missing_keys }: BackupReport): string[] {
  if (images_missing === 0) return []
  return [
    `! ${images_missing} images are named by rows but not in the media store: ${missing_keys.slice(0, 5).join(', ')}`,
  ]
}

/**
 * Opens the database for a command that needs nothing else: DATABASE_URL, the running service's, or the one in
 * DATA_DIR. The last one is started for the time of the command. With `idle` a running service is refused, and a
 * missing database is created.
 * @throws CliError, LocalFailure
 */
async function withDatabase<T>(
  config: Config,
  { idle }: { idle: boolean },
  act: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const running = readRunFile(config.dataDir)
  if (idle && running) throw new CliError(`A service runs on DATA_DIR (process ${running.pid}). Stop it first.`)
  const url = config.databaseUrl ?? running?.database
  if (url) return act(url)
  const dir = join(config.dataDir, 'postgres')
  if (!idle && !existsSync(join(dir, 'PG_VERSION')))
    throw new CliError(
      `There is no library in ${relative(process.cwd(), config.dataDir) || '.'}. Set DATA_DIR or DATABASE_URL.`,
    )
  requireWritable(config.dataDir)
  const claim = claimDataDir(config.dataDir)
  if (!claim) throw new CliError('Another command or service uses DATA_DIR. Wait for its end, or stop it.')
  try {
    const server = await startLocalPostgres({ dir })
    untilSignalled().then(async () => {
      await server.stop()
      process.exit(130)
    })
    try {
      return await act(server.url)
    } finally {
      await server.stop()
    }
  } finally {
    claim.release()
  }
}
