import { cleanText } from '../clean-text.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import { type BoardChoice, listBoardChoices } from '../library/collections/boards.ts'
import { type Fields, isFields } from './messages.ts'
import { type Extras, type Method, textOf } from './methods.ts'
import { type Completed, promptNamed } from './prompts.ts'
import { INVALID_PARAMS, RpcError } from './replies.ts'
import { BOARD_READ, type ResourceDeps } from './resources.ts'
import { refusalOfTool, type ToolCallContext } from './tool-call.ts'

/** The most that the protocol takes. */
const MAX_VALUES = 100
const MAX_TYPED = 200

/** `completion/complete` for the arguments of prompts and of resource templates. */
export function completionMethod(deps: ResourceDeps, calls: Parameters<Extras['methods']>[0]): [string, Method] {
  const { search, db } = deps

  async function boardsOf({ caller }: ToolCallContext, typed: string): Promise<BoardChoice[]> {
    if (!caller || refusalOfTool(BOARD_READ, caller)) return []
    const boards = await listBoardChoices(db, caller.account.id)
    return boards.filter(({ name }) => name.toLowerCase().includes(typed))
  }

  async function techniques(typed: string): Promise<string[]> {
    const all = await search.techniques()
    return all
      .filter(({ slug, name }) => slug.includes(typed) || name.toLowerCase().includes(typed))
      .sort((a, b) => b.frame_count - a.frame_count)
      .map(({ slug }) => slug)
  }

  async function brands(typed: string): Promise<string[]> {
    if (typed === '')
      return (await search.brands({ after: undefined, limit: MAX_VALUES + 1 })).items.map(({ name }) => name)
    const found = await search.search({ q: typed, limit: 20, namesOnly: true })
    return found.brands.map(({ document }) => document.name)
  }

  async function valuesOf(kind: Completed | 'board ids', typed: string, context: ToolCallContext): Promise<string[]> {
    if (kind === 'techniques') return techniques(typed)
    if (kind === 'brands') return brands(typed)
    const boards = await boardsOf(context, typed)
    return boards.map(({ id, name }) => (kind === 'boards' ? name : id))
  }

  async function complete(params: Fields, context: ToolCallContext) {
    const argument = isFields(params.argument) ? params.argument : {}
    const name = textOf(argument, 'name', 'completion/complete')
    const typed = cleanText(String(argument.value ?? '').slice(0, MAX_TYPED)).toLowerCase()
    const kind = kindOf(params.ref, name)
    const values = kind === undefined ? [] : await calls.guarded(context, () => valuesOf(kind, typed, context))
    const isCut = values.length > MAX_VALUES
    return { completion: { values: values.slice(0, MAX_VALUES), ...(isCut ? { hasMore: true } : {}) } }
  }
  return ['completion/complete', { points: () => POINTS.search, answer: complete }]
}

/** What the values of an argument are; undefined where nothing can be offered. @throws RpcError for an unknown one */
function kindOf(ref: unknown, argument: string): Completed | 'board ids' | undefined {
  const { type, name, uri } = isFields(ref) ? ref : {}
  if (type === 'ref/prompt' && typeof name === 'string') {
    const known = promptNamed(name).arguments.find((one) => one.name === argument)
    if (known) return known.from
    throw new RpcError(INVALID_PARAMS, `${name} has no argument ${argument.slice(0, 64)}`)
  }
  if (type === 'ref/resource' && typeof uri === 'string') {
    const [, kind] = /^(frame|video|board):\/\/\{id\}$/.exec(uri) ?? []
    if (kind !== undefined && argument === 'id') return kind === 'board' ? 'board ids' : undefined
  }
  throw new RpcError(
    INVALID_PARAMS,
    'params.ref must name a prompt or a resource template, and params.argument.name one of its arguments',
  )
}
