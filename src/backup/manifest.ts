import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isKey, type MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'

/** Raise it when an older version could not restore what this one writes. */
const FORMAT = 1

/** Of a table, a column or a sequence. */
const Name = z.string().regex(/^\w+(\.\w+)?$/)

const Stored = z.strictObject({ file: z.string().refine(isKey), bytes: z.int(), sha256: z.string() })

const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  /** The version of this service that made the backup. */
  version: z.string(),
  created_at: z.iso.datetime(),
  postgres: z.string(),
  /** The migrations of the database, in order. */
  migrations: z.array(z.strictObject({ when: z.int(), hash: z.string() })),
  /** In the order in which they can be filled. */
  tables: z.array(Stored.extend({ table: Name, columns: z.array(Name), rows: z.int() })),
  sequences: z.array(z.strictObject({ sequence: Name, last_value: z.string().regex(/^\d+$/) })),
  /** Copied into `files/`. */
  images: z.strictObject({
    files: z.int(),
    bytes: z.int(),
    list: Stored,
    /** Named by rows but not in the media store when the backup was made. */
    missing: z.int(),
    missing_keys: z.array(z.string()),
  }),
  operator_key: Stored.nullable(),
})
export type Manifest = z.infer<typeof Manifest>
export type StoredTable = Manifest['tables'][number]

/** The folder of one backup inside its place. Names sort by time. */
export function folderOf(name: string): string {
  return `backups/${name}`
}

export function nameFor(time: Date): string {
  return time
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.(\d+)Z/, '-$1')
    .toLowerCase()
}

export function manifestKey(name: string): string {
  return `${folderOf(name)}/manifest.json`
}

/** Writes the manifest, which makes the backup whole. */
export async function writeManifest(place: MediaStore, name: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, null, 2)
  await place.settle?.()
  await place.put(manifestKey(name), Buffer.from(`${text}\n`), 'application/json')
  await place.settle?.()
}

/** @throws BackupFailure for a missing, damaged or newer manifest */
export async function readManifest(place: MediaStore, name: string): Promise<Manifest> {
  const bytes = await place.get(manifestKey(name))
  if (!bytes)
    throw new BackupFailure(`The backup ${name} is not whole: it has no manifest. Choose another with --backup.`)
  const damaged = `The manifest of the backup ${name} is damaged. Choose another with --backup.`
  let content: Record<string, unknown>
  try {
    content = { ...JSON.parse(bytes.toString()) } as Record<string, unknown>
  } catch {
    throw new BackupFailure(damaged)
  }
  const { checksum, ...rest } = content
  if (checksum !== checksumOf(rest)) throw new BackupFailure(damaged)
  if (typeof rest.format === 'number' && rest.format > FORMAT)
    throw new BackupFailure(
      `The backup ${name} was made by version ${String(rest.version)}, which is newer. ` +
        'Install that version to restore it.',
    )
  const parsed = Manifest.safeParse(rest)
  if (!parsed.success) throw new BackupFailure(damaged)
  return parsed.data
}

function checksumOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

/** All backups of a place, oldest first. A backup that is not whole was interrupted. */
export async function listBackups(place: MediaStore): Promise<{ name: string; whole: boolean }[]> {
  const found = new Map<string, boolean>()
  for await (const { key } of place.list('backups/')) {
    const [, name, file] = key.split('/')
    if (name) found.set(name, (found.get(name) ?? false) || file === 'manifest.json')
  }
  return [...found].map(([name, whole]) => ({ name, whole })).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The backup of that name, or the newest whole one. @throws BackupFailure when there is none */
export async function chooseBackup(place: MediaStore, at: string, name?: string): Promise<string> {
  const all = await listBackups(place)
  const chosen = name === undefined ? all.findLast(({ whole }) => whole) : all.find((one) => one.name === name)
  if (chosen) return chosen.name
  if (name !== undefined) {
    const names = all.map((one) => one.name).join(', ')
    throw new BackupFailure(`${at} has no backup ${name}. It has ${names || 'none'}.`)
  }
  const hint = all.length > 0 ? 'The one there was interrupted. Run frames backup again.' : 'Check its name.'
  throw new BackupFailure(`${at} holds no whole backup. ${hint}`)
}
