import type { Config } from '../config.ts'
import type { Consumer } from '../events/consume.ts'
import { pruneDeliveries } from '../library/webhooks/deliveries.ts'
import { writeDeliveries } from '../library/webhooks/fan-out.ts'
import { WEBHOOKS } from '../library/webhooks/positions.ts'
import { markTold, type Trouble, troubledEndpoints } from '../library/webhooks/trouble.ts'
import { type Mailer, openMailer } from '../outbound/mailer.ts'
import { type Sending, type SendingOptions, startSending } from './send-webhooks.ts'

export interface WebhookOptions extends SendingOptions {
  config: Pick<Config, 'publicUrl' | 'webhookAllowPrivate' | 'secretsKeys' | 'smtpUrl'>
  /** Tests: instead of the mail server of the settings. */
  mailer?: Mailer | undefined
}

export interface Webhooks extends Pick<Sending, 'drain' | 'stop'> {
  /** The consumer of the log that writes deliveries. */
  consumer: Consumer
  /** Notifies owners of endpoints that have failed for days. */
  tellOwners(): Promise<void>
  prune(): Promise<void>
}

const MAIL_AGAIN_MS = 3_600_000

/** Webhooks of a worker process: any number of processes may run them side by side. */
export function openWebhooks(options: WebhookOptions): Webhooks {
  const { db, config, logger, faultPoint, clock = () => new Date() } = options
  const { smtpUrl, publicUrl } = config
  const mailer = options.mailer ?? (smtpUrl === undefined ? undefined : openMailer({ smtpUrl, publicUrl }))
  const sending = startSending(options)
  /** Endpoints of which a mail was refused, and when to try again. */
  const mailAgainAt = new Map<string, number>()
  return {
    consumer: {
      name: WEBHOOKS,
      async handle(events) {
        return async (tx) => {
          if ((await writeDeliveries(tx, events, clock())) === 0) return
          faultPoint('webhook-written')
          // After the commit: the rows are not visible before.
          setTimeout(sending.wake, 1)
        }
      },
    },
    drain: sending.drain,
    async tellOwners() {
      const now = clock().getTime()
      for (const trouble of await troubledEndpoints(db, clock())) {
        const { id, to, since, stage } = trouble
        if (now < (mailAgainAt.get(id) ?? 0)) continue
        try {
          if (!mailer || to === null) logger.warn({ endpoint: id, since, stage }, 'webhook endpoint fails')
          else await mailer.send({ to, ...toMail(trouble, publicUrl) })
        } catch (error) {
          // Other owners have other mailboxes.
          mailAgainAt.set(id, now + MAIL_AGAIN_MS)
          logger.warn({ err: error, endpoint: id, since, stage }, 'mail about a webhook endpoint not sent')
          continue
        }
        await markTold(db, trouble)
      }
    },
    prune: () => pruneDeliveries(db, clock()),
    async stop(deadlineMs) {
      await sending.stop(deadlineMs)
      mailer?.close()
    },
  }
}

function toMail({ id, host, since, failures, stage }: Trouble, publicUrl: string): { subject: string; text: string } {
  const paused = stage === 'paused'
  return {
    subject: paused ? `Webhook to ${host} is paused` : `Webhook to ${host} fails`,
    text: [
      `The webhook endpoint ${id} (${host}) of ${publicUrl} has answered no event since ${since.toISOString()}.`,
      `${failures} attempts failed.`,
      paused
        ? 'It is paused now. No event is lost: when you resume it, it continues where it stopped.'
        : 'The service keeps trying. After five days of failures only, it pauses the endpoint. No event is lost.',
      `What was sent and answered: frames webhooks deliveries ${id}`,
      ...(paused ? [`To resume it: frames webhooks resume ${id}`] : []),
    ].join('\n\n'),
  }
}
