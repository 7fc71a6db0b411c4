import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { eventEndpoints } from '../api/events.ts'
import { plural } from '../clean-text.ts'
import type { Db } from '../db/client.ts'
import {
  type Cursor,
  EVENT_TYPES,
  type EventType,
  formatCursor,
  isLater,
  parseCursor,
  START,
  type StoredEvent,
} from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { type DeadEvent, listDeadEvents, requestRetries } from '../events/dead-events.ts'
import { readPosition } from '../events/positions.ts'
import { findBreak, findEnd, readEvents } from '../events/read.ts'
import { openLogTail } from '../events/tail.ts'
import { answers, type CommandContext, listParser, type Result, withContext } from './context.ts'
import { CliError, usage } from './failure.ts'
import { defineOperations } from './operations.ts'
import { addExamples, type Column, complain, isTerminal, print, printLines, table } from './terminal.ts'

interface EventsOptions {
  after?: Cursor
  types?: EventType[]
  limit?: number
  last?: number
  follow?: boolean
  json?: boolean
}

const LIMIT = 100

export function defineEvents(command: Command): void {
  // The parts take options of the same names.
  command.enablePositionalOptions()
  addExamples(
    command,
    'events --last 20',
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
    .addOption(
      new Option('--last <n>', 'only the last events').argParser(parseLimit).conflicts(['after', 'limit', 'follow']),
    )
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
  defineConsumers(command)
}

async function requireKnownCursor({ db }: CommandContext, after: Cursor): Promise<void> {
  const end = await findBreak(db, after)
  if (!end) return
  throw new CliError(`--after: the log does not hold this event. Go on from ${formatCursor(end)}, or leave it out.`)
}

async function list({ db, config }: CommandContext, options: EventsOptions): Promise<void> {
  const { after = START, types, last, limit = last ?? LIMIT, json } = options
  const { events, next } = await readEvents(db, { after, types, limit, last: last !== undefined })
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

const parseTypes = listParser('an event type', EVENT_TYPES)

interface ExportOptions {
  from?: string
  to?: string
  types?: EventType[]
  gzip?: boolean
}

const PAGE = 1_000

function defineExportEvents(group: Command): void {
  const command = group
    .command('export')
    .description('write events to standard output as NDJSON: one CloudEvent a line, as GET /api/events shows it')
    .option('--from <position>', 'a date or time, or the cursor or sequence of the last event that you have')
    .option(
      '--to <position>',
      'a date or time, exclusive, or the cursor of the last event (default: the end of the log)',
    )
    .option('--types <list>', 'comma-separated event types', parseTypes)
    .option('--gzip', 'compress')
    .option('--json', 'the same: every line is JSON')
    .action((options: ExportOptions) => withContext((context) => exportEvents(context, options)))
  addExamples(
    command,
    'events export > events.ndjson',
    'events export --from 2026-11-01 --to 2026-12-01 --gzip > 2026-11.ndjson.gz',
    'events export --from "$(tail -n 1 events.ndjson | jq -r .sequence)" >> events.ndjson',
  )
}

const WRONG_ORDER = '--from lies after --to. Give the earlier position first.'
const isDate = (place: string | undefined): place is string => place !== undefined && !parseCursor(place)

async function exportEvents({ db, config }: CommandContext, { from, to, types, gzip }: ExportOptions): Promise<void> {
  if (isDate(from) && isDate(to) && Date.parse(from) > Date.parse(to)) throw usage(WRONG_ORDER)
  const after = from === undefined ? START : await readPosition(db, '--from', from)
  // Fixed now: a busy log would have no end.
  const upTo = to === undefined ? await findEnd(db) : await readPosition(db, '--to', to)
  if (isLater(after, upTo)) throw usage(WRONG_ORDER)
  const done = { events: 0, cursor: after }
  async function* lines(): AsyncGenerator<string> {
    for (let page = PAGE; page === PAGE; ) {
      const { events, next } = await readEvents(db, { after: done.cursor, upTo, types, limit: PAGE })
      page = events.length
      done.events += page
      done.cursor = next
      yield events.map((event) => `${JSON.stringify(toCloudEvent(event, config.publicUrl))}\n`).join('')
    }
  }
  await printLines(lines(), { gzip })
  // Events of other types before the end need not be read again.
  const last = isLater(upTo, done.cursor) ? upTo : done.cursor
  complain(`${plural(done.events, 'event')}. Go on with --from ${formatCursor(last)}`)
}

/** `frames events replay` and `frames events dead …` */
function defineConsumers(group: Command): void {
  defineOperations(group, eventEndpoints, { replay: { of: 'replayEvents' } })
  addExamples(
    group.commands.at(-1)!,
    'events replay analytics --from 0.0',
    'events replay search --from 2026-11-20T08:00:00Z',
  )
  const dead = group.command('dead').description('list, show and try again events that a consumer could not handle')
  defineOperations(dead, eventEndpoints, {
    list: { of: 'listDeadEvents', columns: DEAD_EVENTS },
    show: { of: 'getDeadEvent' },
  })
  answers(
    dead
      .command('retry')
      .description('let the consumers try them once more, and say what came of it')
      .argument('[events...]', 'event ids')
      .option('--all', 'all of them')
      .option('--consumer <name>', 'only of this consumer'),
    ({ db }, eventIds: string[], options: RetryOptions) => retry(db, eventIds, options),
  )
  addExamples(dead, ...EXAMPLES)
}

const DEAD_EVENTS = ['event.id', 'consumer', 'event.type', 'event.subject', 'attempts', 'at', 'waiting', 'error']

const EXAMPLES = [
  'events dead list',
  'events dead show <event>',
  'events dead retry <event>',
  'events dead retry --all --consumer search',
]

interface RetryOptions {
  all?: boolean
  consumer?: string | null
}

const WAIT_MS = 15_000

/** Exits with 1 unless every one was handled. */
async function retry(db: Db, eventIds: string[], { all, consumer = null }: RetryOptions): Promise<Result> {
  if (eventIds.length > 0 === Boolean(all)) throw usage('Name the events, or give --all.')
  const asked = await requestRetries(db, { consumer, eventIds: all ? null : eventIds })
  const isAsked = ({ event }: DeadEvent) => all || eventIds.includes(event.id)
  const left = async () => (await listDeadEvents(db, { consumer })).filter(isAsked)
  let dead = await left()
  for (const end = Date.now() + WAIT_MS; dead.some(({ waiting }) => waiting) && Date.now() < end; dead = await left())
    await sleep(200)
  const waiting = dead.filter((one) => one.waiting)
  const failed = dead.filter((one) => !one.waiting)
  const handled = Math.max(0, asked - dead.length)
  if (dead.length > 0) process.exitCode = 1
  const lines = [
    `${plural(handled, 'event')} handled.`,
    ...failed.map(({ event, consumer: name, error }) => `! ${event.id} failed again in ${name}: ${error}`),
    ...(waiting.length > 0 ? [`! ${plural(waiting.length, 'event')} still waiting. Is a worker running?`] : []),
  ]
  return [{ handled, failed: failed.length, waiting: waiting.length }, () => lines]
}
