import type { Command } from 'commander'
import { megabytes } from '../clean-text.ts'
import { checkStorage } from '../library/videos/storage.ts'
import { answers } from './context.ts'
import { addExamples } from './terminal.ts'

// `frames reindex | reconcile | storage` keep the copies equal to the database.

export function defineReindex(command: Command): void {
  answers(addExamples(command, 'reindex'), async (context) => {
    const { rebuildAll } = await import('../workers/projection.ts')
    const engines = await rebuildAll(context)
    const toLine = ({ engine, frames, videos, ms }: (typeof engines)[number]) =>
      `${engine}: ${frames} frames, ${videos} videos in ${(ms / 1000).toFixed(1)} s`
    return [{ engines }, () => engines.map(toLine)]
  })
}

export function defineReconcile(command: Command): void {
  answers(addExamples(command, 'reconcile'), async (context) => {
    const { reconcileAll } = await import('../workers/projection.ts')
    const found = await reconcileAll(context)
    return [found, () => [`${found.checked} videos checked, ${found.repaired} repaired`]]
  })
}

export function defineStorage(command: Command): void {
  answers(
    addExamples(command, 'storage check', 'storage check --remove')
      .argument('[action]', 'check', 'check')
      .option('--remove', 'remove files that no row names and that are older than an hour'),
    async ({ db, store }, _action: string, { remove = false }: { remove?: boolean }) => {
      const report = await checkStorage(db, store, { remove })
      if (report.missing_count > 0) process.exitCode = 1
      const removed = report.removed > 0 ? `, ${report.removed} removed` : ''
      const missing = report.missing.length > 0 ? `: ${report.missing.slice(0, 5).join(', ')}` : ''
      return [
        report,
        () => [
          `${report.files} files, ${megabytes(report.bytes)}`,
          `${report.orphans} files that no row names (${megabytes(report.orphan_bytes)})${removed}`,
          `${report.missing_count} images missing${missing}`,
        ],
      ]
    },
  )
}
