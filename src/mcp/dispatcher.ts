import { LRUCache } from 'lru-cache'
import { toAppError } from '../http/problem.ts'
import { PRICES, type Price } from '../http/rate-limit/budgets.ts'
import { MEMBER_SCOPES, type Scope } from '../library/accounts/key-checks.ts'
import {
  ACCEPTED,
  batchFault,
  batchReply,
  budgetReply,
  classify,
  createEras,
  declares,
  type Era,
  errorReply,
  type Fields,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type McpReply,
  METHOD_NOT_FOUND,
  type Message,
  PARSE_ERROR,
  parseBody,
  type RequestHeaders,
  type RpcCall,
  RpcError,
  type RpcId,
  readId,
  readMessage,
  resultReply,
  type ServerInfo,
} from './protocol.ts'
import { describeTool, GALLERY, type Tool } from './tool.ts'
import {
  type CallContext,
  createToolCalls,
  refusalOfTool,
  ScopeMissing,
  scopesOf,
  type ToolCallOptions,
  type ToolCalls,
} from './tool-call.ts'

/** The Model Context Protocol over JSON text, without HTTP. */

/** A method besides those of the tools and of the revisions. */
export interface Method {
  /** What a call costs, whose parameters are not checked yet; a read if absent. */
  priceOf?(params: Fields): Price
  /** @throws RpcError, AppError rate_limited or unavailable */
  answer(params: Fields, context: CallContext, era: Era): object | Promise<object>
}

export interface DispatcherOptions extends ToolCallOptions {
  info: ServerInfo
  instructions: string
  methods(calls: Pick<ToolCalls, 'guarded'>): readonly [string, Method][]
}

export type Dispatch = (body: string, headers: RequestHeaders, context: CallContext) => Promise<McpReply>

export const MAX_BATCH = 20

export function createDispatcher(options: DispatcherOptions): Dispatch {
  const { logger } = options
  const eras = createEras(options)
  const calls = createToolCalls(options)
  const toolList = createToolLists(options.tools)
  const methods = new Map(options.methods(calls))

  function pointsOf(message: Message): number {
    if (message.kind !== 'call') return PRICES.read
    const { call } = message
    return PRICES[methods.get(call.method)?.priceOf?.(call.params ?? {}) ?? calls.priceOf(call)]
  }

  async function resultOf(call: RpcCall, context: CallContext, era: Era): Promise<string | Buffer> {
    if (call.method === 'tools/call') return calls.run(call, context, era)
    if (call.method === 'tools/list') {
      paramsOf(call)
      return toolList({ ...context, hasGallery: declares(call.params, GALLERY) }, era)
    }
    const ofEra = era.methods.get(call.method)
    if (ofEra) return JSON.stringify(ofEra(call.params))
    const method = methods.get(call.method)
    if (method) return JSON.stringify(era.wrap(await method.answer(paramsOf(call), context, era)))
    throw unknownMethod(call, era)
  }

  async function answer(call: RpcCall, context: CallContext, era: Era): Promise<McpReply> {
    try {
      return resultReply(call.id, await resultOf(call, context, era))
    } catch (error) {
      if (error instanceof RpcError) return errorReply(call.id, error)
      if (error instanceof ScopeMissing) {
        const headers = { 'WWW-Authenticate': error.challenge }
        return { ...resultReply(call.id, error.result), status: 403, headers }
      }
      return refused(call.id, error, call.method)
    }
  }

  async function single(value: unknown, headers: RequestHeaders, context: CallContext): Promise<McpReply> {
    const message = readMessage(value)
    await context.charge(pointsOf(message))
    if (message.kind === 'invalid')
      return errorReply(message.id, new RpcError(INVALID_REQUEST, message.why, { status: 400 }))
    // A notification runs nothing, even one that names a tool.
    if (message.kind === 'notification') return ACCEPTED
    const { call } = message
    const era = classify(call, headers, eras)
    return era instanceof RpcError ? errorReply(call.id, era) : answer(call, context, era)
  }

  /** Several messages in one body. Nothing runs unless all of them are paid for. */
  async function batch(items: readonly unknown[], headers: RequestHeaders, context: CallContext): Promise<McpReply> {
    await context.charge(1)
    if (items.length === 0) return refuseBatch('an empty batch')
    if (items.length > MAX_BATCH) return refuseBatch(`a batch has at most ${MAX_BATCH} messages`)
    const messages = items.map(readMessage)
    const fault = batchFault(messages, headers)
    if (fault) return refuseBatch(fault)
    await context.charge(messages.reduce((sum, message) => sum + pointsOf(message), -1))
    const answers: McpReply[] = []
    // In order: a batch may write and then read what it wrote.
    for (const message of messages) {
      if (message.kind === 'invalid') answers.push(errorReply(message.id, new RpcError(INVALID_REQUEST, message.why)))
      else if (message.kind === 'call' && message.call.method === 'initialize')
        answers.push(errorReply(message.call.id, new RpcError(INVALID_REQUEST, NOT_IN_A_BATCH)))
      else if (message.kind === 'call') answers.push(await answer(message.call, context, eras.legacy))
    }
    return answers.length === 0 ? ACCEPTED : batchReply(answers)
  }

  function refused(id: RpcId | null, error: unknown, method?: string): McpReply {
    const known = toAppError(error)
    if (known.code === 'rate_limited' || known.code === 'unavailable') return budgetReply(id, known)
    logger.error({ method: method?.slice(0, 128), err: error }, 'MCP request failed')
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

function unknownMethod({ method }: RpcCall, { unknownMethodStatus: status }: Era): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 128)}`, { status })
}

/** @throws RpcError for the cursor of a list: each has one page. */
function paramsOf({ method, params = {} }: RpcCall): Fields {
  if (method.endsWith('/list') && params.cursor !== undefined && params.cursor !== null)
    throw new RpcError(INVALID_PARAMS, 'Unknown cursor: the list has one page')
  return params
}

const NOT_IN_A_BATCH = 'Invalid request: send initialize alone, not in a batch'

function refuseBatch(why: string): McpReply {
  return errorReply(null, new RpcError(INVALID_REQUEST, `Invalid request: ${why}`, { status: 400 }))
}

type Asking = Pick<CallContext, 'caller' | 'signIn'> & { hasGallery: boolean }

/** The result of `tools/list`, made once for each era and kind of caller. A list with a key's own tools is private. */
function createToolLists(tools: readonly Tool[]): (asking: Asking, era: Era) => string {
  const definitions = new Map(tools.map((tool) => [tool, describeTool(tool)]))
  const lists = new LRUCache<string, string>({ max: 100 })
  return ({ caller, signIn, hasGallery }, era) => {
    const kind = caller ? `${caller.account.role} ${caller.account.plan} ${caller.key.scopes.join()}` : ''
    const key = `${era.name} ${signIn ? 'signed-in' : 'open'} ${hasGallery} ${kind}`
    let list = lists.get(key)
    if (list === undefined) {
      const visible = tools.filter((tool) => isListed(tool, { caller, signIn, hasGallery }))
      const scope = visible.some((tool) => tool.scope !== null) ? 'private' : 'public'
      const described = visible.map((tool) => {
        return signIn ? { ...definitions.get(tool), securitySchemes: schemesOf(tool) } : definitions.get(tool)
      })
      const result = { tools: described, ...era.listCaching(scope) }
      list = JSON.stringify(era.wrap(result))
      lists.set(key, list)
    }
    return list
  }
}

/**
 * At the signed-in door every tool is listed that the person may come to use: hosts ask for a missing scope at the
 * first call, and a missing plan is told then.
 */
function isListed(tool: Tool, { caller, signIn, hasGallery }: Asking): boolean {
  if (tool.visibleTo && !hasGallery) return false
  if (refusalOfTool(tool, caller) === undefined) return true
  if (!signIn) return false
  return caller?.account.role === 'operator' || scopesOf(tool).some(isMembers)
}

const isMembers = (scope: Scope) => (MEMBER_SCOPES as readonly Scope[]).includes(scope)

/** What a host reads before it asks its person. */
function schemesOf(tool: Tool) {
  return [{ type: 'oauth2', scopes: scopesOf(tool) }]
}
