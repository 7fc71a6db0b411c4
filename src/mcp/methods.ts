import type { Era } from './era.ts'
import type { Fields } from './messages.ts'
import { INVALID_PARAMS, RpcError } from './replies.ts'
import type { ToolCallContext, ToolCalls } from './tool-call.ts'

/** What a server has besides tools: a method by its name, and the capabilities that say so. */
export interface Extras {
  capabilities: object
  /** Only of the modern era. */
  extensions: object
  /** Capabilities of the modern era that older hosts must not see. */
  modernCapabilities?: object
  methods(calls: Pick<ToolCalls, 'guarded'>): readonly [string, Method][]
}

export interface Method {
  /** The older revisions do not know it. */
  modernOnly?: boolean
  /** Rate-limit points of a call, whose parameters are not checked yet. */
  points(params: Fields): number
  /** @throws RpcError, AppError rate_limited or unavailable */
  answer(params: Fields, context: ToolCallContext, era: Era): object | Promise<object>
}

/** @throws RpcError where `params` has no text of this name. */
export function textOf(params: Fields, name: string, method: string): string {
  const value = params[name]
  if (typeof value === 'string' && value !== '') return value
  throw new RpcError(INVALID_PARAMS, `${method} needs params.${name}, a text`)
}
