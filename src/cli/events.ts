import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type Cursor,
  EVENT_TYPES,
  type EventType,
  formatCursor,
  parseCursor,
  START,
  type StoredEvent,
} from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { findBreak, readEvents } from '../events/read.ts'
import { withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { CliError } from './failure.ts'
import { type Column, print, table } from './terminal.ts'

/** `frames events` */
export function defineEvents(command: Command): void {
  addExamples(command, 'events --limit 20', 'events --types video.ready,video.failed', 'events --after <cursor> --json')
    .addOption(
      new Option('--after <cursor>', 'only events after this cursor')
        .argParser(parseAfter)
        .default(START, 'the beginning'),
    )
    .option('--types <list>', 'comma-separated event types', parseTypes)
    .option('--limit <n>', 'number of events', parseLimit, 100)
    .option('--json', 'print one JSON object { events, next }, as GET /api/events does')
    .action(({ after, types, limit, json }: { after: Cursor; types?: EventType[]; limit: number; json?: boolean }) =>
      withContext(async ({ db, config }) => {
        const end = await findBreak(db, after)
        if (end)
          throw new CliError(
            `--after: the log does not hold this event. Go on from ${formatCursor(end)}, or leave it out.`,
          )
        const { events, next } = await readEvents(db, { after, types, limit })
        print(
          json,
          { events: events.map((event) => toCloudEvent(event, config.publicUrl)), next: formatCursor(next) },
          () => [...table(events, COLUMNS), formatCursor(next)],
        )
      }),
    )
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

function parseTypes(text: string): EventType[] {
  return text.split(',').map((part) => {
    const type = EVENT_TYPES.find((one) => one === part.trim())
    if (!type) throw new InvalidArgumentError(`"${part}" is not an event type. Use ${EVENT_TYPES.join(', ')}.`)
    return type
  })
}

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 99999.')
  return Number(text)
}
