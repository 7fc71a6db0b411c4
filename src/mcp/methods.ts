import { CallerGone } from './deadline.ts'
import type { Era } from './era.ts'
import type { Message, RpcCall } from './messages.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from './replies.ts'
import { createToolCalls, type ToolCallContext, type ToolCallOptions } from './tool-call.ts'
import { createToolLists } from './tool-list.ts'

/** What the protocol's methods answer, apart from how a message travels. */
export interface Methods {
  /** The rate-limit points of a message. */
  pointsOf(message: Message): number
  /** The JSON text of the result. @throws RpcError for everything but a result, and no other error */
  resultOf(call: RpcCall, context: ToolCallContext, era: Era): Promise<string>
}

export function createMethods(options: ToolCallOptions): Methods {
  const { logger } = options
  const calls = createToolCalls(options)
  const toolList = createToolLists(options.tools)

  async function run(call: RpcCall, context: ToolCallContext, era: Era): Promise<string> {
    if (call.method === 'tools/call') return calls.run(call, context, era)
    if (call.method === 'tools/list') {
      requireFirstPage(call)
      return toolList(context.caller, era)
    }
    const method = era.methods.get(call.method)
    if (method) return JSON.stringify(method(call.params))
    const message = `Method not found: ${call.method.slice(0, 128)}`
    throw new RpcError(METHOD_NOT_FOUND, message, { status: era.unknownMethodStatus })
  }

  return {
    pointsOf: (message) => (message.kind === 'call' ? calls.pointsOf(message.call) : 1),
    async resultOf(call, context, era) {
      try {
        return await run(call, context, era)
      } catch (error) {
        if (error instanceof RpcError) throw error
        if (!(error instanceof CallerGone))
          logger.error({ method: call.method.slice(0, 128), err: error }, 'MCP request failed')
        throw new RpcError(INTERNAL_ERROR, 'Internal error')
      }
    },
  }
}

function requireFirstPage({ params }: RpcCall): void {
  if (params?.cursor !== undefined && params.cursor !== null)
    throw new RpcError(INVALID_PARAMS, 'Unknown cursor: the list has one page')
}
