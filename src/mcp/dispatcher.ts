import { toAppError } from '../http/problem.ts'
import { jsonText } from '../json-text.ts'
import type { Logger } from '../logger.ts'
import { answerBatch } from './batch.ts'
import { CallerGone } from './deadline.ts'
import { classify, createEras, type Era, type RequestHeaders, type ServerInfo } from './era.ts'
import { type Message, parseBody, type RpcCall, type RpcId, readId, readMessage } from './messages.ts'
import {
  ACCEPTED,
  budgetReply,
  errorReply,
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type McpReply,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  RpcError,
  type RpcResult,
  resultReply,
  resultText,
} from './replies.ts'
import { createToolCalls, type ToolCallContext, type ToolCallOptions } from './tool-call.ts'
import { createToolLists } from './tool-list.ts'

/** The Model Context Protocol over JSON text, without HTTP. */

export interface CallContext extends ToolCallContext {
  /** Takes points from the caller's budget before anything runs, at once where it can. @throws AppError rate_limited */
  charge(points: number): undefined | Promise<void>
}

export interface DispatcherOptions extends ToolCallOptions {
  info: ServerInfo
  instructions: string
}

export type Dispatch = (body: string, headers: RequestHeaders, context: CallContext) => McpReply | Promise<McpReply>

export function createDispatcher(options: DispatcherOptions): Dispatch {
  const { logger } = options
  const eras = createEras(options)
  const calls = createToolCalls(options)
  const toolList = createToolLists(options.tools)
  const pointsOf = (message: Message) => (message.kind === 'call' ? calls.pointsOf(message.call) : 1)

  /** @throws RpcError for everything but a result; it never rejects with another error. */
  async function resultOf(call: RpcCall, context: CallContext, era: Era): Promise<RpcResult> {
    try {
      if (call.method === 'tools/call') return await calls.run(call, context, era)
      if (call.method === 'tools/list') {
        requireFirstPage(call)
        return toolList(context.caller, era)
      }
      const method = era.methods.get(call.method)
      if (method) return jsonText(method(call.params))
    } catch (error) {
      if (error instanceof RpcError) throw error
      if (!(error instanceof CallerGone)) logFault(logger, error, call.method)
      throw internalError()
    }
    const message = `Method not found: ${call.method.slice(0, 128)}`
    throw new RpcError(METHOD_NOT_FOUND, message, { status: era.unknownMethodStatus })
  }

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

  async function answer(
    parsed: { value: unknown } | undefined,
    headers: RequestHeaders,
    context: CallContext,
  ): Promise<McpReply> {
    try {
      if (!parsed) {
        await context.charge(1)
        return errorReply(null, new RpcError(PARSE_ERROR, 'Parse error: the body is not JSON', { status: 400 }))
      }
      const { value } = parsed
      return Array.isArray(value) ? await batch(value, headers, context) : await single(value, headers, context)
    } catch (error) {
      return refused(readId(parsed?.value), error)
    }
  }

  /** The call of an open tool whose result is cached; everything else is left to `answer`. */
  function recall(value: unknown, headers: RequestHeaders): { call: RpcCall; result: Buffer } | undefined {
    const message = readMessage(value)
    if (message.kind !== 'call' || message.call.method !== 'tools/call') return undefined
    const { call } = message
    const { era } = classify(call, headers, eras)
    const result = era && calls.recall(call, era)
    return result && { call, result }
  }

  function refused(id: RpcId | null, error: unknown): McpReply {
    const known = toAppError(error)
    if (known.code === 'rate_limited' || known.code === 'unavailable') return budgetReply(id, known)
    logFault(logger, error)
    return errorReply(id, internalError())
  }

  // Synchronous where the result is cached and the budget known: the promises of the other way cost as much as the call.
  return (body, headers, context) => {
    const parsed = tryParse(body)
    const recalled = parsed && recall(parsed.value, headers)
    if (!recalled) return answer(parsed, headers, context)
    const { call, result } = recalled
    const charging = context.charge(calls.pointsOf(call))
    if (!charging) return resultReply(call.id, result)
    return charging.then(
      () => resultReply(call.id, result),
      (error: unknown) => refused(call.id, error),
    )
  }
}

function tryParse(body: string): { value: unknown } | undefined {
  try {
    return { value: parseBody(body) }
  } catch {
    return undefined
  }
}

function requireFirstPage({ params }: RpcCall): void {
  if (params?.cursor !== undefined && params.cursor !== null)
    throw new RpcError(INVALID_PARAMS, 'Unknown cursor: the list has one page')
}

function internalError(): RpcError {
  return new RpcError(INTERNAL_ERROR, 'Internal error')
}

function logFault(logger: Logger, error: unknown, method?: string): void {
  logger.error({ ...(method === undefined ? {} : { method: method.slice(0, 128) }), err: error }, 'MCP request failed')
}
