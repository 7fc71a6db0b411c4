import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Cursor, type EventType, formatCursor, parseCursor, START, type StoredEvent } from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { findBreak, findEnd, readEvents } from '../events/read.ts'
import { openLogTail } from '../events/tail.ts'
import { type CommandContext, withContext } from './context.ts'
import { defineDeadEvents } from './dead-events.ts'
import { parseTypes } from './event-types.ts'
import { addExamples } from './examples.ts'
import { defineExportEvents } from './export-events.ts'
import { CliError, usage } from './failure.ts'
import { defineReplay } from './replay.ts'
import { type Column, isTerminal, print, table } from './terminal.ts'

interface EventsOptions {
  after?: Cursor
  types?: EventType[]
  limit?: number
  follow?: boolean
  json?: boolean
}

const LIMIT = 100

/** `frames events` */
export function defineEvents(command: Command): void {
  // The parts take options of the same names.
  command.enablePositionalOptions()
  addExamples(
    command,
    'events --limit 20',
    'events --types video.ready,video.failed --follow',
    'events --after <cursor> --json',
    'events export --from 2026-11-01 --gzip > events.ndjson.gz',
    'events replay analytics --from 2026-11-01',
    'events dead list',
  )
    .addOption(
      new Option('--after <cursor>', 'only events after this cursor (default: the beginning)').argParser(parseAfter),
    )
    .option('--types <list>', 'comma-separated event types', parseTypes)
    .option('--limit <n>', `number of events (default: ${LIMIT})`, parseLimit)
    .option('--follow', 'print each event when it is committed, until Ctrl-C (without --after from now on)')
    .option('--json', 'print one JSON object { events, next }, as GET /api/events does; with --follow one event a line')
    .action((options: EventsOptions) =>
      withContext(async (context) => {
        if (options.follow && options.limit !== undefined) throw usage('--follow has no end. Leave --limit out.')
        if (options.after) await requireKnownCursor(context, options.after)
        await (options.follow ? follow(context, options) : list(context, options))
      }),
    )
  defineExportEvents(command)
  defineReplay(command)
  defineDeadEvents(command)
}

async function requireKnownCursor({ db }: CommandContext, after: Cursor): Promise<void> {
  const end = await findBreak(db, after)
  if (!end) return
  throw new CliError(`--after: the log does not hold this event. Go on from ${formatCursor(end)}, or leave it out.`)
}

async function list({ db, config }: CommandContext, options: EventsOptions): Promise<void> {
  const { after = START, types, limit = LIMIT, json } = options
  const { events, next } = await readEvents(db, { after, types, limit })
  print(
    json,
    { events: events.map((event) => toCloudEvent(event, config.publicUrl)), next: formatCursor(next) },
    () => [
      ...table(events, COLUMNS),
      isTerminal() ? `Later events: frames events --after ${formatCursor(next)}` : formatCursor(next),
    ],
  )
}

async function follow(context: CommandContext, { after, types, json }: EventsOptions): Promise<void> {
  const { db, databaseUrl, logger, config } = context
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  await using tail = openLogTail({ db, url: databaseUrl, logger })
  for await (const events of tail.follow({ after: after ?? (await findEnd(db)), types, signal: stop.signal }))
    for (const event of events) print(json, toCloudEvent(event, config.publicUrl), () => table([event], COLUMNS, false))
}

const COLUMNS: Column<StoredEvent>[] = [
  { heading: 'TIME', cell: ({ time }) => time.toISOString() },
  { heading: 'TYPE', cell: ({ type }) => type },
  { heading: 'SUBJECT', cell: ({ subject }) => subject },
  { heading: 'DATA', cell: ({ data }) => JSON.stringify(data) },
]

function parseAfter(text: string): Cursor {
  const cursor = parseCursor(text)
  if (!cursor) throw new InvalidArgumentError('It is not a cursor of this log.')
  return cursor
}

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 99999.')
  return Number(text)
}
