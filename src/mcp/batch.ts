import { batchFault, type RequestHeaders } from './era.ts'
import { type Message, type RpcCall, readMessage } from './messages.ts'
import { ACCEPTED, errorReply, errorText, INVALID_REQUEST, type McpReply, RpcError } from './replies.ts'

export const MAX_BATCH = 20

export interface BatchOptions {
  headers: RequestHeaders
  charge(points: number): Promise<void>
  pointsOf(message: Message): number
  /** One call to its message. */
  answer(call: RpcCall): Promise<string>
}

/** Several messages in one body. Nothing runs unless all of them are paid for. */
export async function answerBatch(
  items: readonly unknown[],
  { headers, charge, pointsOf, answer }: BatchOptions,
): Promise<McpReply> {
  await charge(1)
  if (items.length === 0) return refuse('an empty batch')
  if (items.length > MAX_BATCH) return refuse(`a batch has at most ${MAX_BATCH} messages`)
  const messages = items.map(readMessage)
  const fault = batchFault(messages, headers)
  if (fault) return refuse(fault)
  await charge(messages.reduce((sum, message) => sum + pointsOf(message), -1))
  const answers: string[] = []
  // In order: a batch may write and then read what it wrote.
  for (const message of messages) {
    if (message.kind === 'invalid') answers.push(errorText(message.id, new RpcError(INVALID_REQUEST, message.why)))
    else if (message.kind === 'call') answers.push(await answerOne(message.call, answer))
  }
  return answers.length === 0 ? ACCEPTED : { status: 200, headers: {}, body: `[${answers.join(',')}]` }
}

async function answerOne(call: RpcCall, answer: BatchOptions['answer']): Promise<string> {
  if (call.method !== 'initialize') return answer(call)
  return errorText(call.id, new RpcError(INVALID_REQUEST, 'Invalid request: send initialize alone, not in a batch'))
}

function refuse(why: string): McpReply {
  return errorReply(null, new RpcError(INVALID_REQUEST, `Invalid request: ${why}`, { status: 400 }))
}
