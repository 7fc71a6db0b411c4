import { LRUCache } from 'lru-cache'
import type { Caller } from '../library/accounts/keys.ts'
import type { Era } from './era.ts'
import { describeTool, type Tool } from './tool.ts'
import { refusalOfTool } from './tool-call.ts'

/** The result of `tools/list`, made once for each era and kind of caller. A list with a key's own tools is private. */
export function createToolLists(tools: readonly Tool[]): (caller: Caller | undefined, era: Era) => string {
  const definitions = new Map(tools.map((tool) => [tool, describeTool(tool)]))
  const lists = new LRUCache<string, string>({ max: 100 })
  return (caller, era) => {
    const kind = caller ? `${caller.account.role} ${caller.account.plan} ${caller.key.scopes.join()}` : ''
    const key = `${era.name} ${kind}`
    let list = lists.get(key)
    if (list === undefined) {
      const visible = tools.filter((tool) => refusalOfTool(tool, caller) === undefined)
      const scope = visible.some((tool) => tool.scope !== null) ? 'private' : 'public'
      const result = { tools: visible.map((tool) => definitions.get(tool)), ...era.listCaching(scope) }
      list = JSON.stringify(era.wrap(result))
      lists.set(key, list)
    }
    return list
  }
}
