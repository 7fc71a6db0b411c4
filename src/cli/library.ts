import type { Command } from 'commander'
import { checkStorage } from '../library/videos/storage.ts'
import { withContext } from './context.ts'
import { addExamples, print } from './terminal.ts'

// `frames reindex | reconcile | storage` keep the copies equal to the database.

export function defineReindex(command: Command): void {
  addExamples(command, 'reindex').action((options: { json?: boolean }) =>
    withContext(async (context) => {
      const { rebuildAll } = await import('../workers/projection.ts')
      const results = await rebuildAll(context)
      print(options.json, { engines: results }, () =>
        results.map(({ engine, frames, videos, ms }) => {
          return `${engine}: ${frames} frames, ${videos} videos in ${(ms / 1000).toFixed(1)} s`
        }),
      )
    }),
  )
}

export function defineReconcile(command: Command): void {
  addExamples(command, 'reconcile').action((options: { json?: boolean }) =>
    withContext(async (context) => {
      const { reconcileAll } = await import('../workers/projection.ts')
      const results = await reconcileAll(context)
      print(options.json, { engines: results }, () =>
        results.map(({ engine, checked, missing, stale, extra }) => {
          return `${engine}: ${checked} checked, repaired ${missing} missing, ${stale} stale, ${extra} extra`
        }),
      )
    }),
  )
}

export function defineStorage(command: Command): void {
  addExamples(command, 'storage check', 'storage check --remove')
    .argument('[action]', 'check', 'check')
    .option('--remove', 'remove files that no row names and that are older than an hour')
    .action((_action: string, options: { remove?: boolean; json?: boolean }) =>
      withContext(async ({ db, store }) => {
        const report = await checkStorage(db, store, { remove: options.remove ?? false })
        if (report.missing_count > 0) process.exitCode = 1
        const removed = report.removed > 0 ? `, ${report.removed} removed` : ''
        const missing = report.missing.length > 0 ? `: ${report.missing.slice(0, 5).join(', ')}` : ''
        print(options.json, report, () => [
          `${report.files} files, ${toMegabytes(report.bytes)}`,
          `${report.orphans} files that no row names (${toMegabytes(report.orphan_bytes)})${removed}`,
          `${report.missing_count} images missing${missing}`,
        ])
      }),
    )
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}
