import { AppError } from '../errors.ts'
import type { Era } from './era.ts'
import type { Fields } from './messages.ts'
import { INVALID_PARAMS, RpcError } from './replies.ts'
import type { ToolCallContext, ToolCalls } from './tool-call.ts'

/** What a server has besides tools: a method by its name, and the capabilities that say so. */
export interface Extras {
  capabilities: object
  /** Only of the modern era. */
  extensions: object
  methods(calls: Pick<ToolCalls, 'guarded'>): readonly [string, Method][]
}

export interface Method {
  /** Rate-limit points of a call, whose parameters are not checked yet. */
  points(params: Fields): number
  /** @throws RpcError */
  answer(params: Fields, context: ToolCallContext, era: Era): object | Promise<object>
}

/** @throws RpcError where `params` has no text of this name. */
export function textOf(params: Fields, name: string, method: string): string {
  const value = params[name]
  if (typeof value === 'string' && value !== '') return value
  throw new RpcError(INVALID_PARAMS, `${method} needs params.${name}, a text`)
}

/** What a refusal is outside of tools, whose results tell theirs. @throws what is no refusal */
export function toRpcError(error: unknown, data: Fields, code = INVALID_PARAMS): RpcError {
  if (!(error instanceof AppError) || error.code === 'internal') throw error
  const told = { ...data, code: error.code }
  if (error.code !== 'rate_limited' && error.code !== 'unavailable')
    return new RpcError(code, error.message, { data: told })
  const status = error.code === 'rate_limited' ? 429 : 503
  const headers = { 'Retry-After': String(Math.ceil(error.retryAfterSec ?? 1)) }
  return new RpcError(status, error.message, { status, headers, data: told })
}
