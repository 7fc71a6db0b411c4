import type { Command } from 'commander'
import { type Cursor, type EventType, formatCursor, isLater, parseCursor, START } from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { readPosition } from '../events/positions.ts'
import { findEnd, readEvents } from '../events/read.ts'
import { count } from './consent.ts'
import { type CommandContext, withContext } from './context.ts'
import { parseTypes } from './event-types.ts'
import { addExamples } from './examples.ts'
import { usage } from './failure.ts'
import { complain, printLines } from './terminal.ts'

interface ExportOptions {
  from?: string
  to?: string
  types?: EventType[]
  gzip?: boolean
}

const PAGE = 1_000

/** `frames events export` */
export function defineExportEvents(group: Command): void {
  const command = group
    .command('export')
    .description('write events to standard output as NDJSON: one CloudEvent a line, as GET /api/events shows it')
    .option('--from <place>', 'a date or time, or the cursor or sequence of the last event that you have')
    .option('--to <place>', 'a date or time, exclusive, or the cursor of the last event (default: the end of the log)')
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

const WRONG_ORDER = '--from lies after --to. Give the earlier place first.'
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
  complain(`${count(done.events, 'event')}. Go on with --from ${formatCursor(last(done.cursor, upTo))}`)
}

/** The later of the two: events of other types before the end need not be read again. */
function last(cursor: Cursor, upTo: Cursor): Cursor {
  return isLater(upTo, cursor) ? upTo : cursor
}
