import { z } from 'zod'
import type { Operation } from '../http/endpoint.ts'
import { MAX_BATCH } from './dispatcher.ts'

const rpcId = z.union([z.string(), z.number(), z.null()])
const RpcRequest = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId.optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'RpcRequest' })
const RpcResponse = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId,
    result: z.looseObject({}).optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'RpcResponse' })

/** The tool server as the API's documents describe it. Its own router mounts it. */
export const TOOL_SERVER = {
  id: 'callToolServer',
  method: 'post',
  path: '/api/mcp',
  tag: 'Tool server',
  summary: 'The Model Context Protocol: JSON-RPC 2.0, one request per call, no session',
  description: [
    'Six library tools are open. Any key adds four of films, a Pro key saves, boards and pins.',
    'It speaks the revisions 2026-07-28 (stateless) and 2025-03-26 to 2025-11-25.',
    'Where apps can sign in (OAuth), `POST /mcp` is the same server for a key or a token.',
    `A list of up to ${MAX_BATCH} requests is a batch, in revision 2025-03-26 or without a version.`,
    'Errors are JSON-RPC errors, except a 401 and a 405.',
  ].join(' '),
  body: z.union([RpcRequest, z.array(RpcRequest).min(1).max(MAX_BATCH)]),
  example: {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search_frames', arguments: { query: 'dark terminal' } },
  },
  answer: z.union([RpcResponse, z.array(RpcResponse)]),
  emptyAnswers: { 202: 'Taken: there were only notifications' },
  keyOptional: true,
  errors: [401, 403, 404],
  problem: RpcResponse,
} as const satisfies Operation
