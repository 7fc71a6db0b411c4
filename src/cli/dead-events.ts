import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Db } from '../db/client.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { type DeadEvent, listDeadEvents, requestRetries } from '../events/dead-events.ts'
import { ageOf } from './age.ts'
import { count } from './consent.ts'
import { withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { CliError, usage } from './failure.ts'
import { type Column, print, table } from './terminal.ts'

/** `frames events dead …` */
export function defineDeadEvents(group: Command): void {
  const dead = group.command('dead').description('list, show and try again events that a consumer could not handle')

  dead
    .command('list')
    .description('list them, the newest first')
    .option('--consumer <name>', 'only of this consumer')
    .option('--json', 'print one JSON object')
    .action(({ consumer, json }: { consumer?: string; json?: boolean }) =>
      withContext(async ({ db, config }) => {
        const found = await listDeadEvents(db, { consumer: consumer ?? null })
        print(json, { dead_events: found.map((one) => toEntry(one, config.publicUrl)) }, () =>
          found.length > 0 ? table(found, COLUMNS) : 'no dead events',
        )
      }),
    )

  dead
    .command('show')
    .description('show one whole, with the reason of the last failure')
    .argument('<event>', 'event id')
    .option('--json', 'print one JSON object')
    .action((eventId: string, { json }: { json?: boolean }) =>
      withContext(async ({ db, config }) => {
        const found = await listDeadEvents(db, { eventId })
        if (found.length === 0)
          throw new CliError('No consumer has a dead event of this id. List them with: frames events dead list')
        print(json, { dead_events: found.map((one) => toEntry(one, config.publicUrl)) }, () =>
          found.flatMap((one) => [
            `consumer  ${one.consumer}`,
            `attempts  ${one.attempts}, the last at ${one.at.toISOString()}`,
            `error     ${one.error}`,
            `event     ${JSON.stringify(toCloudEvent(one.event, config.publicUrl))}`,
          ]),
        )
      }),
    )

  dead
    .command('retry')
    .description('let the consumers try them once more, and say what came of it')
    .argument('[events...]', 'event ids')
    .option('--all', 'all of them')
    .option('--consumer <name>', 'only of this consumer')
    .option('--json', 'print one JSON object')
    .action((eventIds: string[], options: RetryOptions) => withContext(({ db }) => retry(db, eventIds, options)))
  addExamples(dead, ...EXAMPLES)
}

const EXAMPLES = [
  'events dead list',
  'events dead show <event>',
  'events dead retry <event>',
  'events dead retry --all --consumer search',
]

interface RetryOptions {
  all?: boolean
  consumer?: string
  json?: boolean
}

const WAIT_MS = 15_000

/** Exits with 1 unless every one was handled. */
async function retry(db: Db, eventIds: string[], { all, consumer, json }: RetryOptions): Promise<void> {
  if (eventIds.length > 0 === Boolean(all)) throw usage('Name the events, or give --all.')
  const asked = await requestRetries(db, { consumer: consumer ?? null, eventIds: all ? null : eventIds })
  const isAsked = ({ event }: DeadEvent) => all || eventIds.includes(event.id)
  const left = async () => (await listDeadEvents(db, { consumer: consumer ?? null })).filter(isAsked)
  let dead = await left()
  for (const end = Date.now() + WAIT_MS; dead.some(({ waiting }) => waiting) && Date.now() < end; dead = await left())
    await sleep(200)
  const waiting = dead.filter((one) => one.waiting)
  const failed = dead.filter((one) => !one.waiting)
  const handled = Math.max(0, asked - dead.length)
  print(json, { handled, failed: failed.length, waiting: waiting.length }, () => [
    `${count(handled, 'event')} handled.`,
    ...failed.map(({ event, consumer: name, error }) => `! ${event.id} failed again in ${name}: ${error}`),
    ...(waiting.length > 0 ? [`! ${count(waiting.length, 'event')} still waiting. Is a worker running?`] : []),
  ])
  if (dead.length > 0) process.exitCode = 1
}

function toEntry({ event, at, ...rest }: DeadEvent, publicUrl: string): object {
  return { ...rest, at: at.toISOString(), event: toCloudEvent(event, publicUrl) }
}

const COLUMNS: Column<DeadEvent>[] = [
  { heading: 'EVENT', cell: ({ event }) => event.id },
  { heading: 'CONSUMER', cell: ({ consumer }) => consumer },
  { heading: 'TYPE', cell: ({ event }) => event.type },
  { heading: 'SUBJECT', cell: ({ event }) => event.subject },
  { heading: 'TRIES', cell: ({ attempts }) => String(attempts), align: 'right' },
  { heading: 'AGE', cell: ({ at }) => ageOf(at), terminalOnly: true },
  { heading: 'ERROR', cell: ({ error, waiting }) => (waiting ? `waiting for another attempt: ${error}` : error) },
]
