import type { Command } from 'commander'
import { checkStorage } from '../library/videos/storage.ts'
import { print, withContext } from './context.ts'

/** `frames reindex | reconcile | storage`: what keeps the copies equal to the record. */
export function addLibraryCommands(program: Command): void {
  program
    .command('reindex')
    .description(
      'rebuild the search documents beside the live ones from Postgres, then swap; reads go on all the while',
    )
    .option('--json', 'one JSON object')
    .action((options: { json?: boolean }) =>
      withContext(async (context) => {
        const { rebuildAll } = await import('../workers/projection.ts')
        const results = await rebuildAll(context)
        print(options.json, { engines: results }, () =>
          results.map(
            (result) =>
              `${result.engine}: ${result.frames} frames, ${result.videos} videos in ${(result.ms / 1000).toFixed(1)} s`,
          ),
        )
      }),
    )

  program
    .command('reconcile')
    .description('compare the search documents with Postgres; heal missing, stale and extra ones')
    .option('--json', 'one JSON object')
    .action((options: { json?: boolean }) =>
      withContext(async (context) => {
        const { reconcileAll } = await import('../workers/projection.ts')
        const results = await reconcileAll(context)
        print(options.json, { engines: results }, () =>
          results.map(
            (result) =>
              `${result.engine}: ${result.checked} checked; healed ${result.missing} missing, ${result.stale} stale, ${result.extra} extra`,
          ),
        )
      }),
    )

  program
    .command('storage')
    .description('compare the image store with the record: files no row names, rows without a file')
    .argument('[action]', 'check', 'check')
    .option('--remove', 'remove files that no row names (older than an hour)')
    .option('--json', 'one JSON object')
    .action((_action: string, options: { remove?: boolean; json?: boolean }) =>
      withContext(async ({ db, store }) => {
        const report = await checkStorage(db, store, { remove: options.remove ?? false })
        if (report.missing_count > 0) process.exitCode = 1
        print(options.json, report, () => [
          `${report.files} files, ${(report.bytes / 1024 / 1024).toFixed(1)} MB`,
          `${report.orphans} files that no row names (${(report.orphan_bytes / 1024 / 1024).toFixed(1)} MB)${report.removed > 0 ? `, ${report.removed} removed` : ''}`,
          `${report.missing_count} images missing${report.missing.length > 0 ? `: ${report.missing.slice(0, 5).join(', ')}` : ''}`,
        ])
      }),
    )
}
