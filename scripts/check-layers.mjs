// Holds the imports of src/ to the picture in docs/architecture.md, and each table to the room that writes it.
// `node scripts/check-layers.mjs --print` prints the picture.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The rooms from bottom to top, each with the rooms that it imports. A room may only name rooms above its own line,
 * so that no import can run upward. The files beside the rooms (`base`) know no room.
 */
const MAY_IMPORT = {
  local: [],
  processes: [],
  base: [],
  sql: [],
  db: ['base', 'sql'],
  events: ['base', 'sql', 'db'],
  queue: ['base', 'db'],
  timeline: [],
  media: ['base'],
  backup: ['base', 'db', 'events', 'media'],
  outbound: ['base'],
  video: ['base', 'processes', 'outbound'],
  vision: ['base', 'processes'],
  meaning: ['base', 'processes', 'vision'],
  search: ['base', 'sql'],
  library: ['base', 'sql', 'db', 'events', 'media', 'outbound', 'video', 'vision'],
  webhooks: ['base', 'sql', 'db', 'events', 'outbound', 'library'],
  projections: ['base', 'sql', 'db', 'events', 'media', 'video', 'search'],
  views: ['base', 'library', 'search', 'timeline'],
  http: ['base', 'db', 'library'],
  oauth: ['base', 'sql', 'db', 'outbound', 'library', 'http'],
  api: ['base', 'sql', 'db', 'events', 'webhooks', 'video', 'library', 'media', 'search', 'views', 'http'],
  mcp: ['base', 'db', 'video', 'library', 'media', 'search', 'views', 'http', 'api'],
  web: [
    'base',
    'db',
    'events',
    'queue',
    'outbound',
    'video',
    'library',
    'webhooks',
    'media',
    'search',
    'views',
    'http',
    'oauth',
    'api',
  ],
  workers: [
    'base',
    'sql',
    'db',
    'events',
    'queue',
    'media',
    'video',
    'vision',
    'meaning',
    'search',
    'library',
    'webhooks',
    'projections',
  ],
  server: [
    'base',
    'db',
    'events',
    'queue',
    'outbound',
    'library',
    'media',
    'meaning',
    'search',
    'http',
    'oauth',
    'api',
    'mcp',
    'web',
  ],
  cli: [
    'base',
    'local',
    'sql',
    'db',
    'events',
    'queue',
    'media',
    'backup',
    'video',
    'vision',
    'search',
    'library',
    'webhooks',
    'web',
    'workers',
    'oauth',
    'http',
    'api',
    'server',
  ],
}

/** Who writes the tables. Every other table belongs to `library`. */
const WRITERS = {
  events: ['events'],
  checkpoints: ['events'],
  event_log: ['events'],
  dead_events: ['events'],
  read_models: ['projections', 'search'],
  analytics_uses: ['projections'],
  analytics_figures: ['projections'],
  webhook_endpoints: ['webhooks'],
  webhook_deliveries: ['webhooks'],
  webhook_counts: ['webhooks'],
}

/**
 * Interfaces of the runtime and of libraries that belong to their authors, and memory steered by hand. Each is named
 * with the one file that may use it, if there is one.
 */
const PRIVATE = [
  [/\bsetFlagsFromString\b/],
  [/\brunInNewContext\b/],
  // The package for faces imports all of tfjs, of which it uses the core.
  [/\bregisterHooks\b/, 'src/vision/measured/faces.ts'],
  [/\bprototype\.\w+ = /],
  [/\b[rR]outer\.stack\b/],
  [/\b(?:queryChunks|StringChunk)\b/],
  [/\bcreateRequire\([^)]*\)\('/],
  [/\.transfer\??\.?\(/],
  // The process that decodes a video ends with it.
  [/\bMALLOC_/, 'src/processes/child.ts'],
]

/** The one file that imports drizzle-orm: it says how that is loaded, and which of its names are used. */
const ORM = 'src/sql/orm.ts'

/** How many files may stand beside the rooms. One more needs a room whose knowledge it is. */
const GROUND_FLOOR = 8

/** Modules that write the read models. Only `projections` calls them; `workers` opens them. */
const READ_MODEL_WRITERS = /^src\/search\/(postgres\/(sink|write)|meilisearch\/sink)\.ts$/

const files = globSync('src/**/*.{ts,js}').filter((file) => !file.endsWith('.test.ts'))
const ground = files.filter((file) => file.split('/').length === 2)
const findings = new Set(upwardArrows())
const arrows = new Set()
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  for (const target of importsOf(file, text)) checkImport(file, target)
  for (const table of writesOf(text)) checkWrite(file, table)
  if (file !== ORM && /['"]drizzle-orm['"/]/.test(text))
    findings.add(`${file} imports drizzle-orm: take it from ${ORM}.`)
}
for (const file of [...files, ...globSync('{package.json,Dockerfile}')]) checkPrivate(file, readFileSync(file, 'utf8'))
if (ground.length > GROUND_FLOOR)
  findings.add(`src/ holds ${ground.length} files, the limit is ${GROUND_FLOOR}: ${ground.sort().join(', ')}.`)
for (const [room, allowed] of Object.entries(MAY_IMPORT))
  for (const other of allowed)
    if (!arrows.has(`${room} ${other}`)) findings.add(`${room} no longer imports ${other}: remove it from the picture.`)

if (process.argv.includes('--print'))
  for (const [room, allowed] of Object.entries(MAY_IMPORT)) console.log(`${room}: ${allowed.join(', ') || 'nothing'}`)
for (const finding of findings) console.log(finding)
if (findings.size > 0) process.exitCode = 1

function* upwardArrows() {
  const rooms = Object.keys(MAY_IMPORT)
  for (const [room, allowed] of Object.entries(MAY_IMPORT))
    for (const other of allowed)
      if (rooms.indexOf(other) >= rooms.indexOf(room)) yield `${room} -> ${other} runs upward in the picture.`
}

function checkImport(file, target) {
  const from = roomOf(file)
  const to = roomOf(target)
  if (from === to) return
  arrows.add(`${from} ${to}`)
  if (!MAY_IMPORT[from]) findings.add(`${file} is in no room of the picture: add src/${from} to MAY_IMPORT.`)
  else if (!MAY_IMPORT[from].includes(to)) findings.add(`${file} imports ${target}, but ${from} may not import ${to}.`)
  if (READ_MODEL_WRITERS.test(target) && !['projections', 'workers'].includes(from))
    findings.add(`${file} imports ${target}, but only projections may write read models.`)
}

function checkWrite(file, table) {
  const writers = WRITERS[table] ?? ['library']
  if (!writers.includes(roomOf(file))) findings.add(`${file} writes ${table}, but only ${writers.join(' and ')} may.`)
}

function checkPrivate(file, text) {
  for (const [pattern, allowed] of PRIVATE) {
    const found = file === allowed ? null : pattern.exec(text)
    if (found) findings.add(`${file} uses ${found[0].trim()}, which is no public interface.`)
  }
}

function roomOf(file) {
  const [, room, inside] = file.split('/')
  return inside === undefined ? 'base' : room
}

/** Static and dynamic imports, types included, and modules that are started as a process of their own. */
function importsOf(file, text) {
  const pattern = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'|new URL\('(\.[^']+\.[tj]s)', import\.meta\.url\)/g
  return [...text.matchAll(pattern)]
    .map(([, imported, started]) => join(dirname(file), imported ?? started))
    .filter((target) => target.startsWith('src/'))
}

/** Names of the tables that a file inserts into, updates or deletes from, by drizzle or in SQL. */
function writesOf(text) {
  const tables = tablesByVariable()
  const byDrizzle = [...text.matchAll(/\.(?:insert|update|delete)\((\w+)\)/g)].map(([, name]) => tables.get(name))
  const bySql = [...text.matchAll(/\b(?:insert into|delete from|truncate|update) (\w+)/g)].map(([, name]) => name)
  return [...byDrizzle, ...bySql].filter((name) => name === 'read_models' || [...tables.values()].includes(name))
}

function tablesByVariable() {
  tablesByVariable.known ??= new Map(
    globSync('src/db/schema/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/export const (\w+) = pgTable\(\s*'(\w+)'/g)].map(
        ([, variable, table]) => [variable, table],
      ),
    ),
  )
  return tablesByVariable.known
}
