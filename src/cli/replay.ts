import type { Command } from 'commander'
import { formatCursor } from '../events/catalogue.ts'
import { readPosition } from '../events/positions.ts'
import { replay } from '../events/replay.ts'
import { count } from './consent.ts'
import { withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { print } from './terminal.ts'

/** `frames events replay` */
export function defineReplay(group: Command): void {
  const command = group
    .command('replay')
    .description('make a consumer handle events again, from a place in the log on')
    .argument('<consumer>', 'search, analytics or another; a wrong name lists them')
    .requiredOption('--from <place>', 'a date or time, or the cursor of the last event that stays handled (0.0: none)')
    .option('--json', 'print one JSON object')
    .action((consumer: string, { from, json }: { from: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        const place = await readPosition(db, '--from', from)
        const { was, events } = await replay(db, { consumer, from: place })
        print(json, { consumer, from: formatCursor(place), was: formatCursor(was), events }, () => [
          `${consumer} handles ${count(events, 'event')} again, up to ${formatCursor(was)} where it was.`,
        ])
      }),
    )
  addExamples(command, 'events replay analytics --from 0.0', 'events replay search --from 2026-11-20T08:00:00Z')
}
