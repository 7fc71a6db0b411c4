import { cleanText } from '../clean-text.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import { type BoardChoice, listBoardChoices } from '../library/collections/boards.ts'
import { type Extras, type Method, textOf } from './dispatcher.ts'
import { type Fields, INVALID_PARAMS, isFields, RpcError } from './json-rpc.ts'
import { quote } from './present.ts'
import { BOARD_READ, type ResourceDeps } from './resources.ts'
import { refusalOfTool, type ToolCallContext } from './tool-call.ts'

/** Questions that a person chooses in a host's menu. The skills say how to answer them. */

/** What the values of an argument are completed from. */
type Completed = 'techniques' | 'brands' | 'boards'

interface Prompt {
  name: string
  title: string
  description: string
  arguments: { name: string; description: string; required: boolean; from?: Completed }[]
  ask(values: Record<string, string | undefined>): string
}

/** Characters of an argument. */
const MAX_VALUE = 1_000

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'moodboard',
    title: 'Moodboard for…',
    description: 'Collects frames for a brief and says what to take from each.',
    arguments: [
      { name: 'brief', description: 'What is to be made, for whom, in which mood', required: true },
      { name: 'technique', description: 'A technique that it must show', required: false, from: 'techniques' },
    ],
    ask: ({ brief, technique }) =>
      `Make a moodboard for this brief: ${brief}. Find 8 to 12 frames of different videos with search_frames` +
      `${technique ? `, at least three with the technique ${technique}` : ''}. Say for each what to take from it, ` +
      'and cite its image URL. Then offer to pin them to a board, if you have create_board and pin_frame.',
  },
  {
    name: 'launch_openings',
    title: 'How do others open a launch film?',
    description: 'Compares the first ten seconds of launch films.',
    arguments: [{ name: 'brand', description: 'Only films of this brand', required: false, from: 'brands' }],
    ask: ({ brand }) =>
      `How do launch films open${brand ? `, at ${brand}` : ''}? Choose five to eight videos with search_library, ` +
      'then call get_video_frames once with their ids and to_sec 10. Group the openings by what they show first, ' +
      'name the film of each with an image URL, and say which opening is rare.',
  },
  {
    name: 'critique_board',
    title: 'Critique this board',
    description: 'Says what a board agrees on, what stands out and what it lacks.',
    arguments: [{ name: 'board', description: 'Its name or id', required: true, from: 'boards' }],
    ask: ({ board }) =>
      `Open the board ${board} with get_board. Say what its frames have in common, which ones do not fit and why, ` +
      'and what is missing. Propose three frames for each gap with find_similar_frames or search_frames. ' +
      'Change nothing.',
  },
]

const ofPrompts: readonly [string, Method][] = [
  [
    'prompts/list',
    {
      answer: (_params, _context, era) => ({ prompts: PROMPTS.map(described), ...era.listCaching('public') }),
    },
  ],
  ['prompts/get', { answer: (params) => get(params) }],
]

function described({ name, title, description, arguments: all }: Prompt) {
  return { name, title, description, arguments: all.map(({ from: _, ...argument }) => argument) }
}

function get(params: Fields): object {
  const prompt = promptNamed(textOf(params, 'name', 'prompts/get'))
  const given = params.arguments ?? {}
  if (!isFields(given)) throw new RpcError(INVALID_PARAMS, 'params.arguments must be an object')
  const names = prompt.arguments.map(({ name }) => name)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const message = `${prompt.name} has no argument ${unknown.slice(0, 64)}. It has ${names.join(', ')}.`
    throw new RpcError(INVALID_PARAMS, message)
  }
  const values = prompt.arguments.map(({ name, required }) => {
    const value = given[name] ?? ''
    if (typeof value !== 'string') throw new RpcError(INVALID_PARAMS, `${name} must be a text`)
    if (value.trim() === '' && required) throw new RpcError(INVALID_PARAMS, `${prompt.name} needs the argument ${name}`)
    if (value.length > MAX_VALUE) throw new RpcError(INVALID_PARAMS, `${name} has at most ${MAX_VALUE} characters`)
    return [name, value.trim() === '' ? undefined : quote(value, MAX_VALUE)] as const
  })
  const text = prompt.ask(Object.fromEntries(values))
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}

/** @throws RpcError for an unknown name. */
function promptNamed(name: string): Prompt {
  const prompt = PROMPTS.find((one) => one.name === name)
  if (prompt) return prompt
  const names = PROMPTS.map((one) => one.name).join(', ')
  throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${name.slice(0, 64)}. There are ${names}.`)
}

/** The most that the protocol takes. */
const MAX_VALUES = 100
const MAX_TYPED = 200

/** The prompts, and `completion/complete` for their arguments and those of resource templates. */
export function promptMethods(deps: ResourceDeps, calls: Parameters<Extras['methods']>[0]): [string, Method][] {
  return [...ofPrompts, completionMethod(deps, calls)]
}

function completionMethod(deps: ResourceDeps, calls: Parameters<Extras['methods']>[0]): [string, Method] {
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
    const given = argument.value ?? ''
    if (typeof given !== 'string') throw new RpcError(INVALID_PARAMS, 'params.argument.value must be a text')
    const typed = cleanText(given.slice(0, MAX_TYPED)).toLowerCase()
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
