import { AppError } from '../errors.ts'
import type { SignIn } from '../http/authenticate.ts'
import { openVersionedCache, type ReadModelVersion, type VersionedCache } from '../http/cached-reads.ts'
import { toAppError } from '../http/problem.ts'
import { PRICES, type Price } from '../http/rate-limit/budgets.ts'
import { type Caller, refusalOf, type Scope } from '../library/accounts/key-checks.ts'
import type { Logger } from '../logger.ts'
import { editDistance } from '../search/text/typos.ts'
import { inTime } from '../turns.ts'
import { type ArgumentReader, argumentReader, boundInFull, explainArguments, snakeCase } from './arguments.ts'
import { declares, type Era, type Fields, INVALID_PARAMS, isFields, type RpcCall, RpcError, TASKS } from './protocol.ts'
import type { Tool, ToolAnswer, ToolContext } from './tool.ts'

export interface CallContext extends ToolContext {
  /** Takes points from the caller's budget. @throws AppError rate_limited */
  charge(points: number): void | Promise<void>
  /** Set at the signed-in door, which asks for a scope that is missing. */
  signIn?: SignIn | undefined
  /** Runs a tool in the turn of the caller's address. */
  inTurn<T>(act: () => Promise<T>): Promise<T>
}

export interface ToolCallOptions {
  tools: readonly Tool[]
  /** Results hold for one version of it. */
  readModel: ReadModelVersion
  /** Where a person creates a key: named by the tools that need one. */
  keysUrl: string
  logger: Logger
  /** Tests: how long a call may take. */
  deadlineMs?: number
}

export interface ToolCalls {
  /** What a call costs before its arguments are read; a read for anything but a call of a known tool. */
  priceOf(call: RpcCall): Price
  /**
   * Refusals are results that a model can act on.
   * @throws RpcError for a call that names no tool, ScopeMissing at the signed-in door, AppError rate_limited
   */
  run(call: RpcCall, context: CallContext, era: Era): Promise<string | Buffer>
  /**
   * Work outside of a tool, under the same deadline and in the same turn.
   * @throws what `act` throws, AppError unavailable after the deadline
   */
  guarded<T>(context: CallContext, act: (context: ToolContext) => Promise<T>): Promise<T>
}

interface Answering {
  context: CallContext
  era: Era
  takesTasks: boolean
}

export function createToolCalls(options: ToolCallOptions): ToolCalls {
  const { logger, keysUrl, deadlineMs = 15_000 } = options
  const byName = new Map(options.tools.map((tool) => [tool.name, tool]))
  const readers = new Map<Tool, ArgumentReader>(options.tools.map((tool) => [tool, argumentReader(tool)]))
  const results = openResults(options.readModel)

  function toolOf({ params }: RpcCall): Tool | undefined {
    if (typeof params?.name !== 'string') return undefined
    return byName.get(params.name) ?? byName.get(snakeCase(params.name.slice(0, MAX_NAME)))
  }

  function within<T>({ caller, inTurn }: CallContext, act: (context: ToolContext) => Promise<T>): Promise<T> {
    const work = inTurn(() => act({ caller }))
    return inTime(work, deadlineMs, () => new DeadlinePassed())
  }

  async function answer(tool: Tool, given: Fields, answering: Answering) {
    const { args, notes } = readers.get(tool)!(given)
    const parsed = tool.input.safeParse(args)
    if (!parsed.success) {
      const finder = tool.scope === null ? byName.get('search_frames') : undefined
      throw new AppError('invalid_request', explainArguments(tool, args, parsed.error, finder))
    }
    const asked = boundInFull(parsed.data, notes)
    const { context } = answering
    if (tool.needs) requireScope({ ...tool, scope: tool.needs(asked) }, answering, keysUrl)
    const raised = tool.raises?.(asked) || tool.price
    const more = PRICES[raised === true ? 'write' : raised] - PRICES[tool.price]
    if (more > 0) await context.charge(more)
    const answered = await within(context, (toolContext) => tool.run(asked, toolContext))
    const task = answering.takesTasks ? await tool.toTask?.(answered, context) : undefined
    if (task) return { bytes: Buffer.from(JSON.stringify(answering.era.wrap(task))), keep: false, more }
    const text = [answered.text, ...notes.map((note) => `(${note})`)].join('\n')
    const said = [...(answered.notes ?? []), ...notes]
    const structured = said.length > 0 ? { ...(answered.structured as object), notes: said } : answered.structured
    const asText = (asked as { format?: string }).format === 'text'
    const result = toResult(asText ? { text, images: answered.images } : { ...answered, text, structured })
    return { bytes: Buffer.from(JSON.stringify(answering.era.wrap(result))), keep: !answered.images, more }
  }

  async function keptOrAnswered(tool: Tool, given: Fields, answering: Answering): Promise<Buffer> {
    let loaded = false
    const load = () => {
      loaded = true
      return answer(tool, given, answering)
    }
    const key = tool.cacheable ? keyOf(tool, given, answering.era) : undefined
    if (key === undefined) return (await load()).bytes
    // Each caller loads for itself, because a load takes points of its caller.
    const { bytes, more } = (await results.getOrLoad(key, load, { shared: false })).value
    if (!loaded && more > 0) await answering.context.charge(more)
    return bytes
  }

  function failed(tool: Tool, era: Era, error: unknown): string {
    if (error instanceof DeadlinePassed) {
      logger.warn({ tool: tool.name, deadlineMs }, 'tool call timed out')
      const text = `${tool.name} took longer than ${deadlineMs / 1000} seconds. ${adviceOnRepeat(tool)}`
      return failure(era, text, 'unavailable')
    }
    if (error instanceof ScopeMissing) throw error
    const known = toAppError(error)
    // Without points the status says so.
    if (known.code === 'internal' || known.code === 'rate_limited') throw error
    if (known.code === 'unavailable')
      logger.warn({ tool: tool.name, err: known.cause }, 'tool call failed: storage unavailable')
    return failure(era, sentencesOf(known), known.code)
  }

  return {
    priceOf: (call) => (call.method === 'tools/call' ? toolOf(call)?.price : undefined) ?? 'read',

    async run(call, context, era) {
      const tool = toolOf(call) ?? noTool(call, [...byName.keys()])
      const args = argumentsOf(call)
      if (!isFields(args)) throw new RpcError(INVALID_PARAMS, 'params.arguments must be an object')
      try {
        requireScope(tool, { context, era }, keysUrl)
        const takesTasks = era.name === 'modern' && declares(call.params, TASKS)
        return await keptOrAnswered(tool, args, { context, era, takesTasks })
      } catch (error) {
        return failed(tool, era, error)
      }
    },

    async guarded(context, act) {
      try {
        return await within(context, act)
      } catch (error) {
        if (!(error instanceof DeadlinePassed)) throw error
        throw new AppError('unavailable', `This took longer than ${deadlineMs / 1000} seconds. Try again.`)
      }
    },
  }
}

/** @throws AppError where this caller may not use the tool, ScopeMissing at the signed-in door */
function requireScope(
  tool: Tool,
  { context: { caller, signIn }, era }: Omit<Answering, 'takesTasks'>,
  keysUrl: string,
): void {
  const refused = refusalOfTool(tool, caller)
  if (!refused) return
  if (signIn && refused.code === 'forbidden') throw scopeMissing(tool, signIn, era)
  const help = signIn ? '' : ` ${keyHelp(keysUrl, tool)}`
  throw new AppError(refused.code, `${tool.name} was not run. ${refused.message}${help}`)
}

/** Work past its deadline may still commit. */
function adviceOnRepeat({ annotations }: Tool): string {
  if (annotations.idempotentHint) return 'Repeating the call is safe.'
  return 'It may still be carried out. Check first, because a repeat acts again.'
}

function argumentsOf({ params }: RpcCall): unknown {
  return params?.arguments ?? {}
}

/** Longer than any name of a tool. */
const MAX_NAME = 60

/** Tools that others took over, whatever the caller may use. */
const FORMER: Readonly<Record<string, string>> = {
  unsave_frame: 'remove',
  unpin_frame: 'remove',
  delete_board: 'remove',
  list_boards: 'get_board',
  create_board: 'edit_board',
  update_board: 'edit_board',
  compare_films: 'describe_film',
  report: 'usage_report',
}

function noTool({ params }: RpcCall, names: readonly string[]): never {
  if (typeof params?.name !== 'string')
    throw new RpcError(INVALID_PARAMS, 'tools/call needs params.name, the name of a tool')
  const given = snakeCase(params.name.slice(0, MAX_NAME))
  const now = Object.hasOwn(FORMER, given) ? FORMER[given] : undefined
  if (now) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${given}. It is part of ${now} now.`)
  const near = names.filter((name) => editDistance(given, name, 2) <= 2)
  const help = near.length > 0 ? `Nearest: ${near.join(', ')}.` : 'tools/list names them all.'
  throw new RpcError(INVALID_PARAMS, `Unknown tool: ${params.name.slice(0, 128)}. ${help}`)
}

/** Why this caller may not use this tool; checked in the order key, plan, scope. */
export function refusalOfTool(
  tool: Pick<Tool, 'scope' | 'allowLapsedPlan'>,
  caller: Caller | undefined,
): AppError | undefined {
  if (tool.scope === null) return undefined
  if (!caller)
    return new AppError(
      'unauthenticated',
      `It needs an API key${tool.allowLapsedPlan || tool.scope === 'any' ? '' : ' of a Pro account'}.`,
    )
  const refusals = scopesOf(tool).map((scope) => refusalOf(caller, scope, tool))
  return refusals.every(Boolean) ? refusals[0] : undefined
}

/** Those of which a key needs one. */
export const scopesOf = ({ scope }: Pick<Tool, 'scope'>): readonly Scope[] =>
  scope === null || scope === 'any' ? [] : [scope].flat()

function keyHelp(keysUrl: string, tool: Tool): string {
  const scopes = scopesOf(tool)
  const scope = scopes.length === 0 ? '' : ` with the scope ${scopes.join(' or ')}`
  return `Create a key${scope} at ${keysUrl} and send it as "Authorization: Bearer <key>".`
}

/**
 * A token that lacks the scope of a tool. Hosts differ in what makes them ask their person for more: a status of 403
 * with a challenge (RFC 6750), or a result that holds the challenge. The answer is both.
 */
export class ScopeMissing extends Error {
  readonly result: string
  readonly challenge: string

  constructor(result: string, challenge: string) {
    super('a scope is missing')
    this.result = result
    this.challenge = challenge
  }
}

function scopeMissing(tool: Tool, signIn: SignIn, era: Era): ScopeMissing {
  const scopes = scopesOf(tool)
  const text = `${tool.name} was not run. It needs the scope ${scopes.join(' or ')}. Connect again to grant it.`
  const challenge = signIn.challenge(scopes)
  const meta = { code: 'forbidden', 'mcp/www_authenticate': [challenge] }
  return new ScopeMissing(failure(era, text, meta), challenge)
}

function toResult({ text, links = [], images = [], structured }: Partial<ToolAnswer>): object {
  const content = [
    { type: 'text', text },
    ...links.map((link) => ({ type: 'resource_link', ...link })),
    ...images.map((image) => ({ type: 'image', ...image })),
  ]
  return { content, structuredContent: structured }
}

function failure(era: Era, text: string, code: string | Fields): string {
  const meta = typeof code === 'string' ? { code } : code
  return JSON.stringify(era.wrap({ content: [{ type: 'text', text }], isError: true }, meta))
}

function sentencesOf(error: AppError): string {
  const details = (error.details ?? []).filter((detail) => detail.message !== error.message)
  const help = error.missing === 'frame' ? ' Pass ids or image URLs from search_frames or another tool.' : ''
  const lines = [error.message + help, ...details.map((detail) => `${detail.path}: ${detail.message}`)]
  if (error.retryAfterSec !== undefined) lines.push(`Try again in ${Math.ceil(error.retryAfterSec)} seconds.`)
  return lines.join('\n')
}

/** Arguments that are longer as text are not cached. */
const MAX_KEY = 2_048
const MAX_BYTES = 32 * 1024 * 1024

/** Finished results of cacheable tools, as bytes: encoding a long text costs more than the rest of a call. */
function openResults(readModel: ReadModelVersion): VersionedCache<{ bytes: Buffer; keep: boolean; more: number }> {
  return openVersionedCache({
    readModel,
    maxBytes: MAX_BYTES,
    sizeOf: ({ bytes }) => bytes.length,
    keeps: ({ keep }) => keep,
  })
}

/** Holds the arguments as they were written: what was answered once needs no second validation. */
function keyOf(tool: Tool, args: Fields, era: Era): string | undefined {
  try {
    const key = `${era.name} ${tool.name} ${JSON.stringify(args)}`
    return key.length <= MAX_KEY ? key : undefined
  } catch (error) {
    // Nested too deep to be written, as no argument of a tool is.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

class DeadlinePassed extends Error {}
