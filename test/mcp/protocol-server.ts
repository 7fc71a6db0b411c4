import { expect } from 'vitest'
import { z } from 'zod'
import { AppError } from '../../src/errors.ts'
import { RateLimited } from '../../src/http/rate-limit/budgets.ts'
import type { Charging } from '../../src/http/rate-limit/rate-limits.ts'
import type { Routes } from '../../src/http/routes.ts'
import type { Caller, Scope } from '../../src/library/accounts/key-checks.ts'
import { createDispatcher, type Dispatch } from '../../src/mcp/dispatcher.ts'
import { mcpRouter } from '../../src/mcp/route.ts'
import { ADDS, defineTool, READS, type Tool } from '../../src/mcp/tool.ts'
import { type Answer, type Listening, listen, STILL, silent } from './support.ts'

/** The protocol over HTTP with tools that do nothing. The tools' own tests hold what the library's tools answer. */
export interface ProtocolServer extends Listening {
  mcp: string
  tools: Tool[]
  /** What the tools and the limits have seen, and the budget that the limits give. */
  seen: { written: number; charged: number; budget: number }
  /** The same tools as if under another address, or another dispatcher. */
  route(publicUrl: string, dispatch?: Dispatch): Routes
}

export async function openProtocolServer(): Promise<ProtocolServer> {
  const seen: ProtocolServer['seen'] = { written: 0, charged: 0, budget: Number.POSITIVE_INFINITY }
  const tools = idleTools(seen)
  const limits = addingLimits(seen)
  const dispatcherAt = (publicUrl: string) =>
    createDispatcher({
      info: { name: 'frame-library', title: 'Frame Library', version: '0.0.0' },
      instructions: 'Read.',
      tools,
      keysUrl: `${publicUrl}/keys`,
      logger: silent,
      deadlineMs: 150,
      readModel: STILL,
      methods: () => [],
    })
  const route = (publicUrl: string, dispatch = dispatcherAt(publicUrl)) =>
    mcpRouter({
      dispatch,
      takeTurn: (_subject, act) => act(),
      publicUrl,
      authentication: {
        async identify(req) {
          const { authorization } = req.headers
          if (authorization === undefined) return undefined
          if (authorization === 'Bearer throttled')
            throw new AppError('rate_limited', 'Too many invalid keys.', { retryAfterSec: 9 })
          const caller = KEYS[authorization.replace('Bearer ', '')]
          if (!caller) throw new AppError('unauthenticated', 'bad key')
          return caller
        },
      },
      limits,
    })
  const server = await listen((url) => [route(url)])
  return { ...server, mcp: `${server.url}/api/mcp`, tools, seen, route }
}

/** Returns its argument. */
export const echoTool: Tool = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Says it again.',
  annotations: READS,
  price: 'read',
  scope: null,
  cacheable: false,
  input: z.strictObject({
    word: z.string().max(200_000).default('nothing'),
    tone: z.enum(['dark', 'bright']).optional(),
  }),
  output: z.object({ word: z.string() }),
  async run({ word }) {
    return { text: word, structured: { word } }
  },
})

function idleTools(seen: ProtocolServer['seen']): Tool[] {
  return [
    echoTool,
    defineTool({
      name: 'write',
      title: 'Write',
      description: 'Counts.',
      annotations: ADDS,
      price: 'write',
      scope: null,
      cacheable: false,
      input: z.strictObject({}),
      output: z.object({ written: z.number() }),
      async run() {
        seen.written++
        return { text: 'written', structured: { written: seen.written } }
      },
    }),
    defineTool({
      name: 'break',
      title: 'Break',
      description: 'Throws.',
      annotations: READS,
      price: 'read',
      scope: null,
      cacheable: false,
      input: z.strictObject({ how: z.enum(['bug', 'refusal', 'hang']) }),
      output: z.object({}),
      async run({ how }) {
        if (how === 'bug') throw new TypeError('secret of the inside')
        if (how === 'refusal') throw new AppError('not_found', 'No such frame.')
        return await new Promise<never>(() => undefined)
      },
    }),
    defineTool({
      name: 'mine',
      title: 'Mine',
      description: 'Needs a key.',
      annotations: READS,
      price: 'read',
      scope: 'saves:read',
      cacheable: false,
      input: z.strictObject({}),
      output: z.object({ account: z.string() }),
      async run(_, { caller }) {
        return { text: caller!.account.id, structured: { account: caller!.account.id } }
      },
    }),
  ]
}

const key = (id: string, plan: 'free' | 'pro', scopes: Scope[]): Caller => ({
  key: { id, scopes, lastUsedAt: null },
  account: { id: `a-${id}`, role: 'member', plan },
})
const KEYS: Record<string, Caller> = {
  pro: key('pro', 'pro', ['saves:read']),
  narrow: key('narrow', 'pro', ['boards:read']),
  free: key('free', 'free', ['saves:read']),
}

/** Limits that add up. */
function addingLimits(seen: ProtocolServer['seen']): Charging {
  const count = (points: number) => {
    seen.charged += points
    const usage = { limit: 600, windowSec: 60, remaining: Math.max(0, 600 - seen.charged), resetSec: 7 }
    if (seen.charged > seen.budget) throw new RateLimited(usage)
    return usage
  }
  return {
    consume: async (_budget, _subject, points) => count(points),
    consumeLocally: (_budget, _subject, points) => count(points),
  }
}

export const call = (name: unknown, args?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...(args === undefined ? {} : { arguments: args }) },
})
export const list = (id: unknown = 1) => ({ jsonrpc: '2.0', id, method: 'tools/list' })

export function expectError(answer: Answer, status: number, code: number, id: unknown = null): void {
  expect({
    status: answer.status,
    code: answer.json?.error?.code,
    id: answer.json?.id,
    keys: Object.keys(answer.json ?? {}).sort(),
  }).toEqual({
    status,
    code,
    id,
    keys: ['error', 'id', 'jsonrpc'],
  })
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
}
