import { z } from 'zod'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import { AppError, describeIssue, invalid } from '../errors.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { findBoard } from '../library/collections/boards.ts'
import { challengeAddress } from '../library/subscriptions/deliveries.ts'
import {
  type Asked,
  KIND_NAMES,
  KINDS,
  type KindName,
  type MatchVideo,
  mayHear,
} from '../library/subscriptions/kinds.ts'
import {
  isVerified,
  MAX_SUBSCRIPTIONS,
  pollEvents,
  type Subscribed,
  subscribe,
  subscriptionIdOf,
  unsubscribe,
} from '../library/subscriptions/subscribe.ts'
import { checkReceiver } from '../library/webhooks/endpoints.ts'
import { openPostgresSearch } from '../search/postgres/search.ts'
import { matchVideo } from '../search/query.ts'
import { explainArguments } from './arguments.ts'
import { type Method, textOf } from './dispatcher.ts'
import type { Era } from './era.ts'
import { EVENT_INPUTS, eventDefinitions } from './event-definitions.ts'
import { type Fields, INVALID_PARAMS, isFields, RpcError } from './json-rpc.ts'
import type { ToolCallContext, ToolCalls } from './tool-call.ts'
import { type LibraryToolDeps, resolveFilters } from './tools/library.ts'

/**
 * The Events extension (SEP-3415, a draft): what happens in the library, by poll, or by webhook for who is signed in.
 * Only of the modern era.
 */

export const EVENTS_EXTENSION = 'io.modelcontextprotocol/events'

/** The numbers of the errors: ChatGPT reads those of the first sketch, the draft has others in the same order. */
const ERRORS = {
  sketch: { notFound: -32_011, forbidden: -32_012, exhausted: -32_013, unsupported: -32_014, callback: -32_015 },
  draft: { notFound: -32_023, forbidden: -32_024, exhausted: -32_025, unsupported: -32_026, callback: -32_027 },
} as const

const UNSUBSCRIBE = 'events/unsubscribe'
const NEXT_POLL_MS = 60_000
const MOST_EVENTS = 100
const SUBSCRIBE_POINTS = 10

export interface EventDeps extends LibraryToolDeps {
  db: Db
  config: Pick<Config, 'reads' | 'eventErrors' | 'secretsKeys' | 'webhookAllowPrivate'>
  limits: Pick<RateLimits, 'consume'>
  /** Tests: the network that challenges go through. */
  wire?: Parameters<typeof challengeAddress>[1]['wire']
}

/** What every method reads with. */
interface Reading {
  deps: EventDeps
  errors: (typeof ERRORS)[keyof typeof ERRORS]
  match: MatchVideo
  guarded: ToolCalls['guarded']
}

export function eventMethods(deps: EventDeps, { guarded }: Pick<ToolCalls, 'guarded'>): [string, Method][] {
  const search = openPostgresSearch(deps.db.$client)
  const match: MatchVideo = (asked, videoId) => matchVideo(search, asked, videoId)
  const reading = { deps, errors: ERRORS[deps.config.eventErrors], match, guarded }
  return [
    ['events/list', { modernOnly: true, answer: listEvents }],
    ['events/poll', { modernOnly: true, points: () => POINTS.search, answer: pollMethod(reading) }],
    ['events/subscribe', { modernOnly: true, points: () => SUBSCRIBE_POINTS, answer: subscribeMethod(reading) }],
    [UNSUBSCRIBE, { modernOnly: true, points: () => POINTS.write, answer: unsubscribeMethod(reading) }],
  ]
}

/** At the signed-in door a member's events are listed whose scope may still be granted. */
function listEvents(_params: Fields, { caller, signIn }: ToolCallContext, era: Era): object {
  const isListed = (name: KindName) => {
    const { scope } = KINDS[name]
    if (scope === null || (caller && mayHear(caller, name))) return true
    return signIn !== undefined && scope === 'boards:read'
  }
  const events = eventDefinitions(KIND_NAMES.filter(isListed))
  return { events, ...era.listCaching(caller ? 'private' : 'public') }
}

function pollMethod(reading: Reading): Method['answer'] {
  const { db, publicUrl } = reading.deps
  return async (params, context) => {
    const asked = await askedOf(reading, params, 'events/poll', context)
    const { cursor, maxAgeMs, maxEvents } = read(Poll, params)
    const charge = (questions: number) => context.chargeMore(POINTS.search * questions)
    const given = { after: cursor, maxAgeMs, limit: maxEvents, now: new Date() }
    const { match, guarded, errors } = reading
    const polled = await guarded(context, () => pollEvents(db, asked, given, { match, publicUrl, charge })).catch(
      asRefusal(errors),
    )
    return { ...polled, nextPollMs: NEXT_POLL_MS }
  }
}

function subscribeMethod(reading: Reading): Method['answer'] {
  const { deps, errors } = reading
  const { secretsKeys } = deps.config
  return async (params, context) => {
    const { delivery, cursor, maxAgeMs, ttlMs } = read(Subscribe, params)
    if (delivery.mode !== 'webhook')
      throw new RpcError(errors.unsupported, 'delivery.mode must be webhook. Without it use events/poll.')
    const { caller, asked } = signed(reading, await askedOf(reading, params, 'events/subscribe', context), context)
    const url = addressOf(reading, delivery.url)
    const { secret } = delivery
    await verify(reading, asked, { url, secret })
    const wanted = { caller, asked, url, secret, ttlMs, after: cursor, maxAgeMs, now: new Date(), secretsKeys }
    return toAnswer(await subscribe(deps.db, wanted).catch(asRefusal(errors)))
  }
}

function unsubscribeMethod(reading: Reading): Method['answer'] {
  const { deps, errors } = reading
  return async (params, context) => {
    const { delivery } = read(Unsubscribe, params)
    const { asked } = signed(reading, await askedOf(reading, params, UNSUBSCRIBE, context), context)
    const ended = await unsubscribe(deps.db, asked, addressOf(reading, delivery.url))
    // ChatGPT takes the end of what is not there for an end.
    if (ended || deps.config.eventErrors === 'sketch') return {}
    throw new RpcError(errors.notFound, 'There is no such subscription.', { data: { kind: 'subscription' } })
  }
}

/**
 * What is asked for, checked. What ends needs no right, and its board may be gone.
 * @throws RpcError with what is allowed
 */
async function askedOf(reading: Reading, params: Fields, method: string, context: ToolCallContext): Promise<Asked> {
  const ends = method === UNSUBSCRIBE
  const name = kindOf(reading, params, method)
  if (!ends) requireRight(reading, name, context)
  const given = params.arguments ?? {}
  if (!isFields(given)) throw new RpcError(INVALID_PARAMS, 'params.arguments must be an object')
  const input = EVENT_INPUTS[name]
  const parsed = input.safeParse(given)
  if (!parsed.success) throw new RpcError(INVALID_PARAMS, explainArguments({ name, input }, given, parsed.error))
  const accountId = context.caller?.account.id ?? null
  const checked = await checkedArguments(reading, name, parsed.data as Fields, ends ? null : accountId).catch(
    asRefusal(reading.errors),
  )
  return { name, accountId, arguments: checked }
}

/** @throws RpcError where there is none */
function kindOf({ errors }: Reading, params: Fields, method: string): KindName {
  const given = textOf(params, 'name', method)
  const name = KIND_NAMES.find((one) => one === given)
  if (name) return name
  throw new RpcError(errors.notFound, 'Unknown event. events/list names them all.', { data: { kind: 'event' } })
}

/** @throws RpcError where it is not for this caller */
function requireRight({ errors }: Reading, name: KindName, { caller, signIn }: ToolCallContext): void {
  const { scope } = KINDS[name]
  if (scope === null || (caller && mayHear(caller, name))) return
  const message = `${name} needs ${caller ? '' : 'a key or a token with '}the scope ${scope}, and its plan.`
  const told = signIn ? { status: 403, headers: { 'WWW-Authenticate': signIn.challenge([scope]) } } : {}
  throw new RpcError(errors.forbidden, message, { data: { scope }, ...told })
}

async function checkedArguments(
  { deps }: Reading,
  name: KindName,
  given: Fields,
  accountId: string | null,
): Promise<Fields> {
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  if (name === 'board.changed' && accountId !== null && known.board_id !== undefined)
    await findBoard(deps.db, { accountId, boardId: String(known.board_id) })
  if (name !== 'search.matched') return known
  const { query, ...chosen } = known
  const asked = { ...(query === undefined ? {} : { query }), ...(await resolveFilters(deps, chosen)) }
  if (Object.keys(asked).length === 0) throw invalid('query', 'query: give words, or at least one filter.')
  return asked
}

const asRefusal =
  (errors: Reading['errors']) =>
  (error: unknown): never => {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'not_found') throw new RpcError(errors.notFound, error.message, { data: { kind: 'argument' } })
    if (error.code === 'invalid_request') throw new RpcError(INVALID_PARAMS, error.message)
    if (error.code === 'conflict')
      throw new RpcError(errors.exhausted, error.message, { data: { limit: MAX_SUBSCRIPTIONS } })
    throw error
  }

function signed({ errors }: Reading, asked: Asked, { caller, signIn }: ToolCallContext) {
  if (caller) return { caller, asked: { ...asked, accountId: caller.account.id } }
  const options = signIn ? { headers: { 'WWW-Authenticate': signIn.challenge([]) } } : {}
  throw new RpcError(errors.forbidden, 'A subscription needs a key or a token: sign in first.', options)
}

/** The address that events go to. @throws RpcError */
function addressOf({ deps, errors }: Reading, url: string): string {
  try {
    return checkReceiver(url, deps.config.webhookAllowPrivate)
  } catch (error) {
    const message = error instanceof AppError ? error.message : 'The address is not valid.'
    throw new RpcError(errors.callback, message, { data: { reason: 'refused_address' } })
  }
}

/** Asks the address whether it wants the events, unless it has been asked. Holds no transaction. */
async function verify(
  { deps, errors }: Reading,
  asked: Signed,
  { url, secret }: { url: string; secret: string },
): Promise<void> {
  const now = new Date()
  if (await isVerified(deps.db, asked.accountId, url, now)) return
  await deps.limits.consume('challenges', new URL(url).host, 1)
  const subscriptionId = subscriptionIdOf(asked, url)
  const allow = { allowPrivate: deps.config.webhookAllowPrivate, wire: deps.wire }
  const reason = await challengeAddress({ url, secret, subscriptionId, now }, allow)
  if (reason === undefined) return
  const message = `The address did not send the challenge back (${reason}). It must answer {"challenge": "…"}.`
  throw new RpcError(errors.callback, message, { data: { reason } })
}

type Signed = Asked & { accountId: string }

function toAnswer({ row, cursor, truncated }: Subscribed): object {
  const iso = (time: Date | null) => time?.toISOString() ?? null
  return {
    id: row.id,
    refreshBefore: row.refreshBefore.toISOString(),
    cursor,
    truncated,
    deliveryStatus: {
      active: true,
      lastDeliveryAt: iso(row.lastDeliveryAt),
      lastError: row.lastError,
      failedSince: iso(row.failedSince),
    },
  }
}

const cursor = z
  .string()
  .max(100)
  .nullish()
  .transform((text) => text ?? undefined)
const duration = z
  .number()
  .min(0)
  .nullish()
  .transform((ms) => ms ?? undefined)
const Poll = z.object({
  cursor,
  maxAgeMs: duration,
  maxEvents: z
    .number()
    .int()
    .min(1)
    .default(MOST_EVENTS)
    .transform((most) => Math.min(most, MOST_EVENTS)),
})
const SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/
const secret = z.string().refine((text) => {
  const bytes = Buffer.from(text.slice('whsec_'.length), 'base64').length
  return SECRET.test(text) && bytes >= 24 && bytes <= 64
}, 'must be whsec_ and base64 of 24 to 64 bytes')
const Subscribe = z.object({
  delivery: z.object({ mode: z.string(), url: z.string().max(2_000), secret }),
  cursor,
  maxAgeMs: duration,
  ttlMs: duration,
})
const Unsubscribe = z.object({ delivery: z.object({ url: z.string().max(2_000) }) })

/** @throws RpcError that names the parameter */
function read<T extends z.ZodType>(schema: T, params: Fields): z.output<T> {
  const parsed = schema.safeParse(params)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new RpcError(INVALID_PARAMS, `params.${issue!.path.join('.')}: ${describeIssue(issue!)}`)
}
