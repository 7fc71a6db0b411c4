import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { DELIVERY_STATES } from '../db/schema/webhooks.ts'
import { EVENT_TYPES, type EventType } from '../events/catalogue.ts'
import {
  type DeliveryEntry,
  listDeliveries,
  loadDelivery,
  resendEvent,
  sendTest,
} from '../library/webhooks/deliveries.ts'
import {
  describeDelivery,
  describeEndpoint,
  describeEndpoints,
  pauseEndpoint,
  resumeEndpoint,
} from '../library/webhooks/describe.ts'
import {
  ALLOW_PRIVATE,
  createEndpoint,
  deleteEndpoint,
  type EndpointRow,
  encryptSecrets,
  listEndpoints,
  loadEndpoint,
  MAX_OVERLAP_HOURS,
  OVERLAP_HOURS,
  rotateSecret,
  updateEndpoint,
} from '../library/webhooks/endpoints.ts'
import { answers, type CommandContext, listParser, parseInteger, type Result, withContext } from './context.ts'
import { CliError, usage } from './failure.ts'
import { addExamples, ageOf, type Column, print, requireConsent, table } from './terminal.ts'

interface Fields {
  /** 'all' instead of null, which commander treats as no value. */
  types?: readonly EventType[] | 'all'
  description?: string
  json?: boolean
}

/** `frames webhooks …`: what `/api/webhooks` does. */
export function defineWebhooks(group: Command): void {
  defineRegistration(group)
  defineSecrets(group)
  defineRunning(group)
  defineLog(group)
  addExamples(group, ...EXAMPLES)
}

const EXAMPLES = [
  'webhooks list',
  'webhooks create https://hooks.example.org/frames --types video.ready,video.failed',
  'webhooks show <id>',
  'webhooks edit <id> --types all',
  'webhooks delete <id>',
  'webhooks rotate <id> --overlap-hours 1',
  'webhooks encrypt',
  'webhooks test <id>',
  'webhooks pause <id>',
  'webhooks resume <id> --from 2026-11-20',
  'webhooks deliveries <id> --state failed',
  'webhooks resend <id> --event <event>',
]

function ofWebhook(group: Command, name: string, description: string): Command {
  return group.command(name).description(description).argument('<id>', 'webhook id')
}

function defineRegistration(group: Command): void {
  answers(group.command('list', { isDefault: true }).description('list all receivers of events'), async ({ db }) => {
    const webhooks = await describeEndpoints(db, await listEndpoints(db))
    return [{ webhooks }, () => (webhooks.length > 0 ? table(webhooks, COLUMNS) : 'no webhooks')]
  })

  answers(
    withFields(group.command('create').argument('<url>', 'address that events are sent to')).description(
      'register a receiver of events from now on, and show its secret once',
    ),
    async ({ db, config }, url: string, { types = 'all', json: _, ...given }: Fields) => {
      const fields = { ...given, url, types: typesOf(types) }
      const { webhookAllowPrivate: allowPrivate, secretsKeys } = config
      return withSecret(db, await db.transaction((tx) => createEndpoint(tx, fields, { allowPrivate, secretsKeys })))
    },
  )

  answers(ofWebhook(group, 'show', 'show a receiver'), async ({ db }, id: string) =>
    one(db, await loadEndpoint(db, id)),
  )

  answers(
    withFields(ofWebhook(group, 'edit', 'change the address, types or description')).option(
      '--url <url>',
      'address that events are sent to',
    ),
    async ({ db, config }, id: string, { json: _, types, ...given }: Fields & { url?: string }) => {
      const fields = { ...given, ...(types === undefined ? {} : { types: typesOf(types) }) }
      if (Object.keys(fields).length === 0) throw usage('Name at least one of --url, --types, --description.')
      return one(db, await updateEndpoint(db, id, fields, { allowPrivate: config.webhookAllowPrivate }))
    },
  )

  answers(
    ofWebhook(group, 'delete', 'delete a receiver with its deliveries').option('-y, --yes', 'do not ask'),
    async ({ db }, id: string, { yes }: { yes?: boolean }) => {
      const { url } = await loadEndpoint(db, id)
      await requireConsent(`the receiver ${url} with its deliveries`, yes)
      await deleteEndpoint(db, id)
      return [{ deleted: id }, () => `deleted ${id}`]
    },
  )
}

function defineSecrets(group: Command): void {
  answers(
    ofWebhook(
      group,
      'rotate',
      'replace the secret and show the new one once (the old one signs too until the overlap ends)',
    ).option('--overlap-hours <n>', 'how long the old secret signs too', String(OVERLAP_HOURS)),
    async ({ db, config }, id: string, given: { overlapHours: string }) => {
      const overlapHours = parseInteger('--overlap-hours', given.overlapHours, { min: 0, max: MAX_OVERLAP_HOURS })
      const options = { overlapHours, secretsKeys: config.secretsKeys }
      return withSecret(db, await db.transaction((tx) => rotateSecret(tx, id, options)))
    },
  )

  group
    .command('encrypt')
    .description('encrypt all stored secrets with the first key of SECRETS_KEY')
    .action(({ json }: { json?: boolean }) =>
      withContext(async ({ db, config }) => {
        const done = await encryptSecrets(db, config.secretsKeys)
        print(json, done, () => `encrypted: ${done.encrypted}, already encrypted with this key: ${done.unchanged}`)
        if (done.failed.length > 0)
          throw new CliError(
            `Not decrypted: ${done.failed.join(', ')}. Add their key to SECRETS_KEY, behind the first one. ` +
              'If it is lost, run webhooks rotate for each webhook.',
          )
      }),
    )
}

function defineRunning(group: Command): void {
  answers(
    ofWebhook(group, 'pause', 'stop sending (the receiver keeps its position in the event log, so nothing is lost)'),
    async ({ db }, id: string) => one(db, await pauseEndpoint(db, id)),
  )

  answers(
    ofWebhook(group, 'resume', 'send again').option(
      '--from <position>',
      'stopped, now, a cursor of the event log, or a date',
      'stopped',
    ),
    async ({ db }, id: string, { from }: { from: string }) => one(db, await resumeEndpoint(db, id, from, new Date())),
  )

  ofWebhook(group, 'test', 'send a test event and show the response').action((id: string, { json }: Fields) =>
    withContext((context) => sendAndWait(context, id, json)),
  )
}

function defineLog(group: Command): void {
  answers(
    ofWebhook(group, 'deliveries', 'list what was sent within 30 days and what was answered, the newest first')
      .addOption(new Option('--state <state>', 'only these').choices(DELIVERY_STATES))
      .option('--limit <n>', 'number of deliveries', '50'),
    async ({ db }, id: string, { state, limit: given }: { state?: DeliveryEntry['state']; limit: string }) => {
      const limit = parseInteger('--limit', given, { min: 1, max: 10_000 })
      const { deliveries, next } = await listDeliveries(db, id, { state, limit })
      return [
        { deliveries: deliveries.map(describeDelivery), next: next === null ? null : String(next) },
        () => (deliveries.length > 0 ? table(deliveries, DELIVERY_COLUMNS) : 'no deliveries'),
      ]
    },
  )

  answers(
    ofWebhook(group, 'resend', 'send one event of the log once more, or for the first time').requiredOption(
      '--event <id>',
      'the event',
    ),
    async ({ db }, id: string, { event }: { event: string }) => {
      const delivery = await resendEvent(db, id, event, new Date())
      return [{ delivery: describeDelivery(delivery) }, () => table([delivery], DELIVERY_COLUMNS)]
    },
  )
}

/** An attempt takes 15 seconds at most, and the worker looks every second. */
const TEST_MS = 30_000

async function sendAndWait({ db }: CommandContext, id: string, json: boolean | undefined): Promise<void> {
  const { eventId } = await sendTest(db, id, new Date())
  const end = Date.now() + TEST_MS
  let delivery = await loadDelivery(db, id, eventId)
  while (delivery.state === 'waiting' && Date.now() < end) {
    await sleep(200)
    delivery = await loadDelivery(db, id, eventId)
  }
  print(json, { delivery: describeDelivery(delivery) }, () => table([delivery], DELIVERY_COLUMNS))
  if (delivery.state === 'waiting') throw new CliError('No worker has sent it yet. Check that one runs.')
  if (delivery.state !== 'failed') return
  const isRefused = delivery.attempts.at(-1)?.error === 'refused_address'
  throw new CliError(
    isRefused
      ? `The service sends nothing to this address. ${ALLOW_PRIVATE}`
      : 'The receiver did not accept the test event.',
  )
}

function withFields(command: Command): Command {
  return command
    .option('--types <list>', `comma-separated event types, or all: ${EVENT_TYPES.join(', ')}`, parseTypes)
    .option('--description <text>', 'what it is for')
}

const parseList = listParser('an event type', EVENT_TYPES, `all, or ${EVENT_TYPES.join(', ')}`)
const parseTypes = (text: string) => (text === 'all' ? text : parseList(text))

const typesOf = (types: readonly EventType[] | 'all') => (types === 'all' ? null : types)

type Described = Awaited<ReturnType<typeof describeEndpoint>>

async function one(db: CommandContext['db'], endpoint: EndpointRow): Promise<Result> {
  const webhook = await describeEndpoint(db, endpoint)
  return [{ webhook }, () => linesOf(webhook)]
}

async function withSecret(
  db: CommandContext['db'],
  { endpoint, secret }: { endpoint: EndpointRow; secret: string },
): Promise<Result> {
  const webhook = await describeEndpoint(db, endpoint)
  return [{ webhook, secret }, () => [...linesOf(webhook), `secret: ${secret}`, 'The secret is not shown again.']]
}

function linesOf(webhook: Described): string[] {
  return Object.entries(webhook)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.join(', ') : value}`)
}

const COLUMNS: Column<Described>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'STATE', cell: ({ state }) => ({ text: state, style: state === 'active' ? 'green' : 'red' }) },
  { heading: 'WAITING', cell: ({ waiting }) => String(waiting), align: 'right' },
  { heading: 'FAILURES', cell: ({ failures }) => String(failures), align: 'right' },
  { heading: 'SUCCESS', cell: ({ last_success_at: at }) => (at ? `${ageOf(at)} ago` : 'never'), terminalOnly: true },
  { heading: 'URL', cell: ({ url }) => url },
  { heading: 'TYPES', cell: ({ types }) => `(${types?.join(' ') ?? 'all'})` },
]

const DELIVERY_COLUMNS: Column<DeliveryEntry>[] = [
  { heading: 'EVENT', cell: ({ eventId }) => eventId },
  { heading: 'TYPE', cell: ({ type }) => type },
  { heading: 'STATE', cell: ({ state }) => ({ text: state, style: state === 'failed' ? 'red' : undefined }) },
  { heading: 'TRIES', cell: ({ attempts }) => String(attempts.length), align: 'right' },
  { heading: 'LAST', cell: ({ attempts }) => attempts.at(-1)?.at.toISOString() ?? '-' },
  { heading: 'RESPONSE', cell: ({ attempts }) => answerOf(attempts.at(-1)) },
]

function answerOf(attempt: DeliveryEntry['attempts'][number] | undefined): string {
  if (!attempt) return '-'
  const { status, error, latencyMs, answer } = attempt
  return `${status ?? error} ${latencyMs} ms ${(answer ?? '').slice(0, 60)}`.trim()
}
