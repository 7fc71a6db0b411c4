import type { App } from '../api/app.ts'
import { clip, plural } from '../clean-text.ts'
import { AppError, notFound } from '../errors.ts'
import { listBoards } from '../library/collections/boards.ts'
import type { Skill } from '../views/skills.ts'
import type { Method } from './dispatcher.ts'
import { GALLERY_TYPE, galleryMeta } from './gallery.ts'
import { frameLines, loadThumbs } from './present.ts'
import { type Era, type Fields, INVALID_PARAMS, RpcError } from './protocol.ts'
import { GALLERY_URI, type Tool, type ToolContext } from './tool.ts'
import { type CallContext, refusalOfTool, type ToolCalls } from './tool-call.ts'

/** Frames, videos and boards as resources that a person attaches to a chat. A host reads the skills here too. */

interface ResourceDeps extends Pick<App, 'db' | 'search' | 'publicUrl' | 'readImage' | 'config'> {
  tools: readonly Tool[]
  skills: readonly Skill[]
  /** The page of the gallery. */
  gallery: string
}

interface Content {
  mimeType: string
  text?: string
  /** Base64. */
  blob?: string
}

interface Template extends Pick<Tool, 'title' | 'description' | 'scope' | 'price'> {
  read(id: string, context: ToolContext): Promise<Content[]>
}

/** What the list and the names of an account's boards need, as their frames do. */
const BOARD_READ = { scope: 'boards:read' } as const

/** That the host is told as it stands; nobody learns whether another account's board exists. */
const REFUSALS: ReadonlySet<string> = new Set(['not_found', 'unauthenticated', 'forbidden', 'plan_required'])

const HOUR_MS = 3_600_000
/** Boards that a list shows to choose from, the newest. */
const MAX_LISTED = 100

export function resourceMethods(deps: ResourceDeps, calls: Pick<ToolCalls, 'guarded'>): [string, Method][] {
  const templates = templatesOf(deps)
  const skills = deps.skills.map(({ uri, frontmatter }) => ({ uri, ...frontmatter, mimeType: 'text/markdown' }))

  async function list(_params: Fields, context: CallContext, era: Era) {
    const { caller } = context
    if (!caller || refusalOfTool(BOARD_READ, caller)) return { resources: skills, ...era.listCaching('public') }
    const { boards } = await calls.guarded(context, () => listBoards(deps.db, caller.account.id, { limit: MAX_LISTED }))
    const ownBoards = boards.map(({ id, name, itemCount }) => ({
      uri: `board://${id}`,
      name: clip(name, 80),
      description: `Board with ${plural(itemCount, 'frame')}`,
      mimeType: 'text/plain',
    }))
    return { resources: [...ownBoards, ...skills], ...era.listCaching('private', 0) }
  }

  async function read(params: Fields, context: CallContext, era: Era) {
    const uri = uriOf(params, 'resources/read')
    const skill = deps.skills.find((one) => one.uri === uri)
    if (skill) {
      const content = { uri, mimeType: 'text/markdown', text: skill.text }
      return { contents: [content], ...era.listCaching('public') }
    }
    // Hosts know its address from the tools. It is in no list: a person cannot attach it.
    if (uri === GALLERY_URI) {
      const content = { uri, mimeType: GALLERY_TYPE, text: deps.gallery, _meta: galleryMeta(deps.publicUrl) }
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
      if (!(error instanceof AppError) || !REFUSALS.has(error.code)) throw error
      throw new RpcError(era.resourceNotFound, error.message, { data: { uri, code: error.code } })
    }
  }

  /** A shared cache may keep a result that is public: nothing of an account or of a library for members is. */
  function cachingOf({ scope }: Template, era: Era): object {
    if (scope !== null) return era.listCaching('private', 0)
    // What a library for members holds is for them alone, and its image addresses end.
    return deps.config.reads === 'open' ? era.listCaching('public', HOUR_MS) : era.listCaching('private')
  }

  function requireScope(template: Template, { caller, signIn }: CallContext): void {
    const refused = refusalOfTool(template, caller)
    if (!refused) return
    const { title, scope } = template
    const why = `${title} was not read.`
    if (signIn && refused.code === 'forbidden') {
      const headers = { 'WWW-Authenticate': signIn.challenge([BOARD_READ.scope]) }
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
    ['resources/list', { answer: list }],
    [
      'resources/templates/list',
      {
        answer: (_params, _context, era) => ({ resourceTemplates: described, ...era.listCaching('public') }),
      },
    ],
    ['resources/read', { priceOf: ({ uri }) => templates.get(kindIn(uri))?.price ?? 'read', answer: read }],
  ]
}

/** @throws RpcError where there is none */
function uriOf({ uri }: Fields, method: string): string {
  if (typeof uri === 'string' && uri !== '') return uri
  throw new RpcError(INVALID_PARAMS, `${method} needs params.uri, a text`)
}

const kindIn = (uri: unknown) => (typeof uri === 'string' ? uri : '').split(':')[0]!

function noResource(uri: string, era: Era): RpcError {
  const message = `Resource not found: ${clip(uri, 120)}. Use frame://, video:// or board:// with an id from a tool.`
  return new RpcError(era.resourceNotFound, message, { data: { uri: uri.slice(0, 300) } })
}

function templatesOf({ search, publicUrl, readImage, tools }: ResourceDeps): ReadonlyMap<string, Template> {
  async function readFrame(id: string): Promise<Content[]> {
    const [frame] = await search.framesByIds([id])
    if (!frame) throw notFound(`frame: ${clip(id, 64)}. search_frames finds frames`)
    const lines = frameLines([{ document: frame }], publicUrl, { detail: 'full', withVideo: true })
    const { images = [] } = await loadThumbs([frame], 1, readImage)
    const pictures = images.map(({ data, mimeType }) => ({ mimeType, blob: data }))
    return [{ mimeType: 'text/plain', text: lines.join('\n') }, ...pictures]
  }

  /** The text of a tool's answer, under the tool's terms. No limit is passed: the cursor in it must fit the tool. */
  function ofTool(
    name: string,
    { argsOf, ...told }: Pick<Template, 'title' | 'description'> & { argsOf(id: string): object },
  ): Template {
    const tool = tools.find((one) => one.name === name)!
    return {
      ...told,
      scope: tool.scope,
      price: 'search',
      async read(id, context) {
        const { text } = await tool.run(tool.input.parse(argsOf(id)), context)
        return [{ mimeType: 'text/plain', text }]
      },
    }
  }

  const frame: Template = {
    title: 'Frame',
    description: 'A frame with its picture and all that is known of it',
    scope: null,
    price: 'read',
    read: readFrame,
  }
  const video = ofTool('get_video_frames', {
    title: 'Video',
    description: 'The first frames of a video in time order',
    argsOf: (id) => ({ video_id: id }),
  })
  const board = ofTool('get_board', {
    title: 'Board',
    description: 'The first frames of one of your boards in their order, with your notes',
    argsOf: (id) => ({ board_id: id }),
  })
  return new Map(Object.entries({ frame, video, board }))
}

export function skillMethods(skills: readonly Skill[]): [string, Method][] {
  const entries = skills.map(({ uri, frontmatter, resources }) => ({ uri, frontmatter, resources }))
  return [
    ['skills/list', { answer: (_params, _context, era) => ({ skills: entries, ...era.listCaching('public') }) }],
    [
      'skills/get',
      {
        answer(params, _context, era) {
          const uri = uriOf(params, 'skills/get')
          const skill = entries.find((entry) => entry.uri === uri)
          if (skill) return { skill, ...era.listCaching('public') }
          const message = 'Unknown skill. skills/list names them all.'
          throw new RpcError(INVALID_PARAMS, message, { data: { uri: uri.slice(0, 300) } })
        },
      },
    ],
  ]
}
