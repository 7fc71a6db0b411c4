import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { webhookEndpoints } from '../api/webhooks.ts'
import { ALLOW_PRIVATE, encryptSecrets } from '../webhooks/endpoints.ts'
import { withContext } from './context.ts'
import { CliError, EXIT } from './failure.ts'
import { type Call, defineOperations } from './operations.ts'
import { addExamples, type Column, complain, print } from './terminal.ts'

interface Delivery {
  event_id: string
  state: string
  attempts: { at: string; status: number | null; error: string | null; latency_ms: number; answer: string | null }[]
}

const RECEIVERS = ['id', 'state', 'waiting', 'failures', 'last_success_at', 'url'] as const
const TYPES: Column<{ types: string[] | null }> = {
  heading: 'TYPES',
  cell: ({ types }) => `(${types?.join(' ') ?? 'all'})`,
}

const DELIVERIES: readonly (string | Column<Delivery>)[] = [
  'event_id',
  'type',
  'state',
  { heading: 'TRIES', cell: ({ attempts }) => String(attempts.length), align: 'right' },
  { heading: 'LAST', cell: ({ attempts }) => attempts.at(-1)?.at ?? '-' },
  { heading: 'RESPONSE', cell: ({ attempts }) => answerOf(attempts.at(-1)) },
]

/** `frames webhooks …`: what `/api/webhooks` does. */
export function defineWebhooks(group: Command): void {
  defineOperations(group, webhookEndpoints, {
    list: { of: 'listWebhooks', columns: [...RECEIVERS, TYPES] },
    create: { of: 'createWebhook', args: ['url'] },
    show: { of: 'getWebhook' },
    edit: { of: 'updateWebhook' },
    delete: { of: 'deleteWebhook', said: 'deleted' },
    rotate: { of: 'rotateWebhookSecret' },
    pause: { of: 'pauseWebhook' },
    resume: { of: 'resumeWebhook' },
    test: {
      of: 'testWebhook',
      description: 'send a test event and show the response',
      columns: DELIVERIES,
      wait: waitForTest,
    },
    deliveries: { of: 'listWebhookDeliveries', columns: DELIVERIES },
    resend: { of: 'resendWebhookEvent', columns: DELIVERIES },
  })
  defineEncrypt(group)
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
  'webhooks resend <id> --event-id <event>',
]

/** An attempt takes 15 seconds at most, and the worker looks every second. */
const TEST_MS = 30_000

async function waitForTest(sent: unknown, call: Call, { id = '' }: { id?: string }): Promise<unknown> {
  let answer = sent as { delivery: Delivery }
  const params = { id, eventId: answer.delivery.event_id }
  for (const end = Date.now() + TEST_MS; answer.delivery.state === 'waiting' && Date.now() < end; await sleep(200))
    answer = (await call('getWebhookDelivery', { params })) as typeof answer
  const { state, attempts } = answer.delivery
  if (state === 'delivered') return answer
  process.exitCode = EXIT.failed
  if (state === 'waiting') complain('No worker has sent it yet. Check that one runs.')
  else if (attempts.at(-1)?.error !== 'refused_address') complain('The receiver did not accept the test event.')
  else complain(`The service sends nothing to this address. ${ALLOW_PRIVATE}`)
  return answer
}

function defineEncrypt(group: Command): void {
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

function answerOf(attempt: Delivery['attempts'][number] | undefined): string {
  if (!attempt) return '-'
  const { status, error, latency_ms, answer } = attempt
  return `${status ?? error} ${latency_ms} ms ${(answer ?? '').slice(0, 60)}`.trim()
}
