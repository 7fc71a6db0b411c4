import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Fields, INVALID_PARAMS, isFields, type RpcCall, RpcError, writtenAs } from './json-rpc.ts'

/**
 * Questions to the person behind a call, without a session (multi round-trip requests of revision 2026-07-28): the
 * answer to a call is the question, and the host repeats the call with what the person said.
 */

interface Question {
  key: string
  message: string
  /** A flat JSON Schema of the form. */
  schema: Fields
}

/** What the person said. The host may leave the form out where it was declined or closed. */
interface Reply {
  action: 'accept' | 'decline' | 'cancel'
  content?: Fields | undefined
}

/** Asks once: throws until the host repeats the call with the reply. */
export type Ask = (question: Question) => Reply

/** The answer to a call that a person must say something to first. */
export class InputRequired extends Error {
  readonly result: object

  constructor(result: object) {
    super('a question waits for its answer')
    this.result = result
  }
}

const LIFETIME_MS = 15 * 60_000
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

export interface AskBackOptions {
  /** Signs the state, which the host keeps. All processes have the same. */
  key(): Promise<Buffer>
}

/**
 * How the tool of this call asks; undefined where the host has declared no forms.
 * @throws RpcError for a state that is not of this caller and this call, or too old
 */
export async function openAsk(
  { params }: RpcCall,
  { accountId, key }: AskBackOptions & { accountId: string },
): Promise<Ask | undefined> {
  if (!declaresForms(params)) return undefined
  const secret = await key()
  // The same person with the same call: neither is in the state itself.
  const bound = writtenAs([accountId, params?.name, params?.arguments ?? {}])
  // The tool refuses what is nested so deep.
  if (bound === undefined) return undefined
  const sign = (text: string) => createHmac('sha256', secret).update(`${text}\n${bound}`).digest('base64url')
  const earlier = params?.requestState === undefined ? {} : readState(params.requestState, sign)
  const replies: Record<string, Reply> = { ...earlier, ...givenReplies(params?.inputResponses) }
  return ({ key: name, message, schema }) => {
    const reply = replies[name]
    if (reply) return reply
    const state = Buffer.from(JSON.stringify({ replies, until: Date.now() + LIFETIME_MS })).toString('base64url')
    throw new InputRequired({
      resultType: 'input_required',
      inputRequests: {
        [name]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } },
      },
      requestState: `${state}.${sign(state)}`,
    })
  }
}

/** `{}` means forms. */
function declaresForms(params: Fields | undefined): boolean {
  const meta = isFields(params?._meta) ? params._meta : {}
  const capabilities = isFields(meta[CAPABILITIES]) ? meta[CAPABILITIES] : {}
  const { elicitation } = capabilities
  return isFields(elicitation) && (Object.keys(elicitation).length === 0 || isFields(elicitation.form))
}

function readState(given: unknown, sign: (text: string) => string): Record<string, Reply> {
  const [state = '', signature = ''] = typeof given === 'string' ? given.split('.') : []
  const expected = Buffer.from(sign(state))
  const presented = Buffer.from(signature)
  const isOurs = presented.length === expected.length && timingSafeEqual(presented, expected)
  if (!isOurs) throw new RpcError(INVALID_PARAMS, 'params.requestState is not of this call. Call without it.')
  const { replies, until } = JSON.parse(Buffer.from(state, 'base64url').toString()) as {
    replies: Record<string, Reply>
    until: number
  }
  if (Date.now() > until) throw new RpcError(INVALID_PARAMS, 'params.requestState is too old. Call without it.')
  return replies
}

function givenReplies(given: unknown): Record<string, Reply> {
  if (!isFields(given)) return {}
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, reply]) => {
      if (!isFields(reply)) return []
      const { action, content } = reply
      if (action !== 'accept' && action !== 'decline' && action !== 'cancel') return []
      return [[key, { action, content: isFields(content) ? content : undefined }]]
    }),
  )
}
