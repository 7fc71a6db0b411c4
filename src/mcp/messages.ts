/** Reading JSON-RPC 2.0 messages. */

export type RpcId = string | number | object
export type Fields = Record<string, unknown>

/** A message with an id: it gets an answer. */
export interface RpcCall {
  id: RpcId
  method: string
  params: Fields | undefined
}

export type Message =
  | { kind: 'call'; call: RpcCall; params: Fields | undefined }
  | { kind: 'notification'; params: Fields | undefined }
  | { kind: 'invalid'; id: RpcId | null; why: string }

/** As JSON.parse, except that an id too large for a double keeps its digits, so that it is echoed exactly. */
export function parseBody(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, keepLargeId as (key: string, value: unknown) => unknown)
}

function keepLargeId(key: string, value: unknown, { source }: { source?: string }): unknown {
  if (key !== 'id' || typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return source && /^-?\d+$/.test(source) ? rawJson.rawJSON(source) : value
}

/** Not in TypeScript's library yet. */
const rawJson = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean }

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || Number.isInteger(value) || rawJson.isRawJSON(value)
}

/** The id that an error answer echoes; null where the message has no valid one. */
export function readId(value: unknown): RpcId | null {
  return isFields(value) && isId(value.id) ? value.id : null
}

export function readMessage(value: unknown): Message {
  const invalid = (why: string): Message => ({ kind: 'invalid', id: readId(value), why: `Invalid request: ${why}` })
  if (!isFields(value)) return invalid('not an object')
  if (value.jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"')
  if (typeof value.method !== 'string') return invalid('method must be a string')
  if (value.params !== undefined && !isFields(value.params)) return invalid('params must be an object')
  const params = value.params as Fields | undefined
  if (!Object.hasOwn(value, 'id')) return { kind: 'notification', params }
  if (!isId(value.id)) return invalid('id must be a string or a whole number')
  return { kind: 'call', call: { id: value.id, method: value.method, params }, params }
}
