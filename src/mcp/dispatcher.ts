import { toAppError } from '../http/problem.ts'
import { answerBatch } from './batch.ts'
import { classify, createEras, type RequestHeaders, type ServerInfo } from './era.ts'
import { parseBody, type RpcId, readId, readMessage } from './messages.ts'
import { createMethods } from './methods.ts'
import {
  ACCEPTED,
  budgetReply,
  errorReply,
  errorText,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type McpReply,
  PARSE_ERROR,
  RpcError,
  resultReply,
  resultText,
} from './replies.ts'
import type { ToolCallContext, ToolCallOptions } from './tool-call.ts'

/** The Model Context Protocol over JSON text, without HTTP. */

export interface CallContext extends ToolCallContext {
  /** Takes points from the caller's budget before anything runs. @throws AppError rate_limited */
  charge(points: number): Promise<void>
}

export interface DispatcherOptions extends ToolCallOptions {
  info: ServerInfo
  instructions: string
}

export type Dispatch = (body: string, headers: RequestHeaders, context: CallContext) => Promise<McpReply>

export function createDispatcher(options: DispatcherOptions): Dispatch {
  const { logger } = options
  const eras = createEras(options)
  const { pointsOf, resultOf } = createMethods(options)

  async function single(value: unknown, headers: RequestHeaders, context: CallContext): Promise<McpReply> {
    const message = readMessage(value)
    await context.charge(pointsOf(message))
    if (message.kind === 'invalid')
      return errorReply(message.id, new RpcError(INVALID_REQUEST, message.why, { status: 400 }))
    // A notification runs nothing, even one that names a tool.
    if (message.kind === 'notification') return ACCEPTED
    const { call } = message
    const { era, fault } = classify(call, headers, eras)
    if (fault) return errorReply(call.id, fault)
    return resultOf(call, context, era).then(
      (result) => resultReply(call.id, result),
      (error: RpcError) => errorReply(call.id, error),
    )
  }

  function batch(items: readonly unknown[], headers: RequestHeaders, context: CallContext): Promise<McpReply> {
    return answerBatch(items, {
      headers,
      charge: context.charge,
      pointsOf,
      answer: (call) =>
        resultOf(call, context, eras.legacy).then(
          (result) => resultText(call.id, result),
          (error: RpcError) => errorText(call.id, error),
        ),
    })
  }

  function refused(id: RpcId | null, error: unknown): McpReply {
    const known = toAppError(error)
    if (known.code === 'rate_limited' || known.code === 'unavailable') return budgetReply(id, known)
    logger.error({ err: error }, 'MCP request failed')
    return errorReply(id, new RpcError(INTERNAL_ERROR, 'Internal error'))
  }

  return async (body, headers, context) => {
    let value: unknown
    let isJson = true
    try {
      value = parseBody(body)
    } catch {
      isJson = false
    }
    try {
      if (isJson)
        return Array.isArray(value) ? await batch(value, headers, context) : await single(value, headers, context)
      await context.charge(1)
      return errorReply(null, new RpcError(PARSE_ERROR, 'Parse error: the body is not JSON', { status: 400 }))
    } catch (error) {
      return refused(readId(value), error)
    }
  }
}
