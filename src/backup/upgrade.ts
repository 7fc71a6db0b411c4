import type pg from 'pg'
import { knownMigrations, loadMigrations } from '../db/migrate.ts'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'
import { restoreBackup } from './restore.ts'
import type { Progress } from './streams.ts'
import { loadTables, quote, type Table, withClient } from './tables.ts'
import { writeBackup } from './write-backup.ts'

/**
 * Copies a library from one database into another, over compressed files in `place`, and compares both. Images stay
 * where they are.
 * @throws BackupFailure
 */
export async function copyDatabase({
  from,
  to,
  media,
  place,
  onProgress,
  ...rebuilding
}: {
  from: string
  to: string
  media: MediaStore
  place: MediaStore
  rebuilt: readonly string[]
  rebuild(): Promise<void>
  onProgress: (progress: Progress) => void
}): Promise<{ tables: number; rows: number }> {
  const shared = { media, mediaBucket: null, place, onProgress }
  const { backup, tables, rows } = await writeBackup({ ...shared, databaseUrl: from, images: 'none' })
  const restored = await restoreBackup({ ...shared, ...rebuilding, databaseUrl: to, at: 'the copy', backup })
  if (restored.rebuild_failed !== null)
    throw new BackupFailure(`The search documents were not built: ${restored.rebuild_failed}. Nothing was changed.`)
  await compareDatabases(from, to)
  return { tables, rows }
}

/** Compares the rows of all tables, whatever their order. Newer migrations may have changed some: then only counts. */
async function compareDatabases(from: string, to: string): Promise<void> {
  const name = 'frames upgrade'
  await withClient(from, name, (before) => withClient(to, name, (after) => compareRows(before, after)))
}

async function compareRows(before: pg.Client, after: pg.Client): Promise<void> {
  const isSameSchema = (await loadMigrations(before)).length === knownMigrations().length
  for (const table of await loadTables(before)) {
    // Its only row is about the cluster.
    if (table.name === 'event_log') continue
    // Newer migrations add consumers.
    if (table.name === 'checkpoints' && !isSameSchema) continue
    const [one, other] = await Promise.all([before, after].map((client) => sumOf(client, table, isSameSchema)))
    if (one !== other)
      throw new BackupFailure(`The copy of ${table.name} differs (${one}, ${other}). Nothing was changed.`)
  }
}

async function sumOf(client: pg.Client, { name, columns }: Table, withContent: boolean): Promise<string> {
  const row = `row(${columns.map(quote).join(', ')})::text`
  const content = withContent ? `, coalesce(sum(hashtextextended(${row}, 0)::numeric), 0)` : ''
  const { rows } = await client.query<{ sum: string }>(
    `select concat_ws(' ', count(*)${content}) as sum from public.${quote(name)}`,
  )
  return rows[0]!.sum
}
