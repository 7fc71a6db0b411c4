import { AppError, notFound } from '../errors.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import type { Scope } from '../library/accounts/keys.ts'
import { listBoardChoices } from '../library/collections/boards.ts'
import type { Skill } from '../views/skills.ts'
import type { Era } from './era.ts'
import type { Fields } from './messages.ts'
import { type Extras, type Method, textOf, toRpcError } from './methods.ts'
import { clip, frameLines, loadThumbs, plural } from './present.ts'
import { INVALID_PARAMS, RpcError } from './replies.ts'
import type { Tool, ToolContext } from './tool.ts'
import { refusalOfTool, type ToolCallContext } from './tool-call.ts'
import type { AccountToolDeps } from './tools/collection.ts'
import type { LibraryToolDeps } from './tools/library-deps.ts'

/** Frames, videos and boards as resources that a person attaches to a chat. A host reads the skills here too. */

export interface ResourceDeps
  extends Pick<LibraryToolDeps, 'search' | 'publicUrl' | 'readImage'>,
    Pick<AccountToolDeps, 'db'> {
  tools: readonly Tool[]
  skills: readonly Skill[]
  /** `members`: what the library holds is for its members alone, and its image addresses end. */
  reads: 'open' | 'members'
}

interface Content {
  mimeType: string
  text?: string
  /** Base64. */
  blob?: string
}

interface Template {
  title: string
  description: string
  scope: Scope | null
  points: number
  read(id: string, context: ToolContext): Promise<Content[]>
}

const HOUR_MS = 3_600_000
/** Boards that a list shows to choose from, the newest. */
const MAX_LISTED = 100

export function resourceMethods(deps: ResourceDeps, calls: Parameters<Extras['methods']>[0]): [string, Method][] {
  const templates = templatesOf(deps)
  const board = deps.tools.find(({ name }) => name === 'get_board')!
  const skills = deps.skills.map(({ uri, frontmatter }) => ({ uri, ...frontmatter, mimeType: 'text/markdown' }))

  async function list(_params: Fields, { caller }: ToolCallContext, era: Era) {
    if (!caller || refusalOfTool(board, caller)) return { resources: skills, ...era.listCaching('public') }
    const boards = await listBoardChoices(deps.db, caller.account.id, { limit: MAX_LISTED })
    const ownBoards = boards.map(({ id, name, itemCount }) => ({
      uri: `board://${id}`,
      name: clip(name, 80),
      description: `Board with ${plural(itemCount, 'frame')}`,
      mimeType: 'text/plain',
    }))
    return { resources: [...ownBoards, ...skills], ...era.listCaching('private', 0) }
  }

  async function read(params: Fields, context: ToolCallContext, era: Era) {
    const uri = textOf(params, 'uri', 'resources/read')
    const skill = deps.skills.find((one) => one.uri === uri)
    if (skill) {
      const content = { uri, mimeType: 'text/markdown', text: skill.text }
      return { contents: [content], ...era.listCaching('public') }
    }
    const [, kind = '', id = ''] = /^(frame|video|board):\/\/([\w-]{1,64})$/.exec(uri) ?? []
    const template = templates.get(kind)
    if (!template) throw noResource(uri, era)
    try {
      requireScope(template, context)
      const contents = await calls.guarded(context, (toolContext) => template.read(id, toolContext))
      return { contents: contents.map((content) => ({ uri, ...content })), ...cachingOf(template, era) }
    } catch (error) {
      if (error instanceof RpcError) throw error
      throw toRpcError(error, { uri }, era.resourceNotFound)
    }
  }

  /** A shared cache may keep a result that is public: nothing of an account or of a library for members is. */
  function cachingOf({ scope }: Template, era: Era): object {
    if (scope !== null) return era.listCaching('private', 0)
    return deps.reads === 'open' ? era.listCaching('public', HOUR_MS) : era.listCaching('private')
  }

  function requireScope({ title, scope }: Template, { caller, signIn }: ToolCallContext): void {
    if (scope === null) return
    const refused = refusalOfTool(board, caller)
    if (!refused) return
    const why = `${title} was not read.`
    if (signIn && refused.code === 'forbidden') {
      const headers = { 'WWW-Authenticate': signIn.challenge([scope]) }
      const message = `${why} It needs the scope ${scope}. Connect again to grant it.`
      throw new RpcError(INVALID_PARAMS, message, { status: 403, headers, data: { code: 'forbidden' } })
    }
    const help =
      signIn || refused.code === 'plan_required'
        ? ''
        : ` Create a key with the scope ${scope} at ${deps.publicUrl}/keys.`
    throw new AppError(refused.code, `${why} ${refused.message}${help}`)
  }

  const described = [...templates].map(([kind, { title, description }]) => {
    return { uriTemplate: `${kind}://{id}`, name: kind, title, description, mimeType: 'text/plain' }
  })
  return [
    ['resources/list', { points: () => POINTS.read, answer: list }],
    [
      'resources/templates/list',
      {
        points: () => 1,
        answer: (_params, _context, era) => ({ resourceTemplates: described, ...era.listCaching('public') }),
      },
    ],
    ['resources/read', { points: ({ uri }) => templates.get(String(uri).split(':')[0]!)?.points ?? 1, answer: read }],
  ]
}

function noResource(uri: string, era: Era): RpcError {
  const message = `Resource not found: ${clip(uri, 120)}. Use frame://, video:// or board:// with an id from a tool.`
  return new RpcError(era.resourceNotFound, message, { data: { uri: uri.slice(0, 300) } })
}

function templatesOf(deps: ResourceDeps): ReadonlyMap<string, Template> {
  const { search, publicUrl, readImage, tools } = deps

  /** The text of a tool's answer. */
  async function textOfTool(name: string, args: object, context: ToolContext): Promise<Content[]> {
    const tool = tools.find((one) => one.name === name)!
    const { text } = await tool.run(tool.input.parse(args), context)
    return [{ mimeType: 'text/plain', text }]
  }

  async function readFrame(id: string): Promise<Content[]> {
    const [frame] = await search.framesByIds([id])
    if (!frame) throw notFound(`frame: ${clip(id, 64)}. search_frames finds frames`)
    const lines = frameLines([{ document: frame }], publicUrl, { detail: 'full', withVideo: true })
    const { images = [] } = await loadThumbs([frame], 1, readImage)
    const pictures = images.map(({ data, mimeType }) => ({ mimeType, blob: data }))
    return [{ mimeType: 'text/plain', text: lines.join('\n') }, ...pictures]
  }

  return new Map<string, Template>([
    [
      'frame',
      {
        title: 'Frame',
        description: 'A frame with its picture and all that is known of it',
        scope: null,
        points: POINTS.read,
        read: readFrame,
      },
    ],
    [
      'video',
      {
        title: 'Video',
        description: 'The frames of a video in time order',
        scope: null,
        points: POINTS.read,
        read: (id, context) => textOfTool('get_video_frames', { video_id: id }, context),
      },
    ],
    [
      'board',
      {
        title: 'Board',
        description: 'The frames of one of your boards in their order, with your notes',
        scope: 'boards:read',
        points: POINTS.search,
        read: (id, context) => textOfTool('get_board', { board_id: id, limit: MAX_LISTED }, context),
      },
    ],
  ])
}
