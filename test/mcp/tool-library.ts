import { beforeAll, expect } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { openToolService, type ServiceOptions, seedLaunches, type ToolService } from './service.ts'
import { post, send } from './support.ts'

export const OPEN = [
  'search_library',
  'search_frames',
  'browse_frames',
  'get_video_frames',
  'find_similar_frames',
  'list_techniques',
]
/** For any key. */
export const FILMS = ['describe_film', 'film_brief', 'find_films', 'find_sequences']
export const ACCOUNT = ['list_saves', 'save_frame', 'get_board', 'edit_board', 'export_board', 'pin_frame', 'remove']
/** What a member with a Pro key is listed. */
export const LISTED = [...OPEN, ...FILMS, ...ACCOUNT]

export const ids = (frames: { id: string }[]) => frames.map((frame) => frame.id)

interface ToolLibrary {
  service: ToolService
  videoIds: string[]
  call: ReturnType<typeof caller>
  /** The tools that a caller sees. */
  listed(headers?: Record<string, string>): Promise<{ name: string }[]>
  /** A GET of the API, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
  get(path: string): Promise<any>
}

/** For all tests of a file: the service with a library of launch videos, and ways to ask it. */
export function useToolLibrary(options: ServiceOptions = {}): ToolLibrary {
  const service = useOpened(() => openToolService(options))
  const videoIds: string[] = []
  beforeAll(async () => void videoIds.push(...(await seedLaunches(service)).videoIds))
  return {
    service,
    videoIds,
    call: caller(service),
    async listed(headers = {}) {
      return (await post(service.mcp, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)).json.result.tools
    },
    async get(path) {
      const { status, json } = await send(`${service.url}${path}`, { method: 'GET' })
      expect(status, path).toBe(200)
      return json
    },
  }
}

export const callOf = (name: string, args: Record<string, unknown>) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** A call as the plainest client makes it. */
function caller(service: ToolService) {
  return async (name: string, args: Record<string, unknown> = {}, headers: Record<string, string> = {}) => {
    const { status, json } = await post(service.mcp, callOf(name, args), headers)
    expect(status).toBe(200)
    const { result } = json
    expect(result.content[0].type).toBe('text')
    return {
      ...result,
      text: result.content[0].text as string,
      links: result.content.filter((block: { type: string }) => block.type === 'resource_link'),
    }
  }
}
