import { LRUCache } from 'lru-cache'
import { MEMBER_SCOPES } from '../library/accounts/keys.ts'
import type { Era } from './era.ts'
import { describeTool, type Tool } from './tool.ts'
import { refusalOfTool, type ToolCallContext } from './tool-call.ts'

type Asking = Pick<ToolCallContext, 'caller' | 'signIn'>

/** The result of `tools/list`, made once for each era and kind of caller. A list with a key's own tools is private. */
export function createToolLists(tools: readonly Tool[]): (asking: Asking, era: Era) => string {
  const definitions = new Map(tools.map((tool) => [tool, describeTool(tool)]))
  const lists = new LRUCache<string, string>({ max: 100 })
  return ({ caller, signIn }, era) => {
    const kind = caller ? `${caller.account.role} ${caller.account.plan} ${caller.key.scopes.join()}` : ''
    const key = `${era.name} ${signIn ? 'signed-in' : 'open'} ${kind}`
    let list = lists.get(key)
    if (list === undefined) {
      const visible = tools.filter((tool) => isListed(tool, { caller, signIn }))
      const scope = visible.some((tool) => tool.scope !== null) ? 'private' : 'public'
      const described = visible.map((tool) => {
        return signIn ? { ...definitions.get(tool), securitySchemes: schemesOf(tool) } : definitions.get(tool)
      })
      const result = { tools: described, ...era.listCaching(scope) }
      list = JSON.stringify(era.wrap(result))
      lists.set(key, list)
    }
    return list
  }
}

/**
 * At the signed-in door every tool is listed that the person may come to use: hosts ask for a missing scope at the
 * first call, and a missing plan is told then.
 */
function isListed(tool: Tool, { caller, signIn }: Asking): boolean {
  if (refusalOfTool(tool, caller) === undefined) return true
  if (!signIn) return false
  return caller?.account.role === 'operator' || MEMBER_SCOPES.some((scope) => scope === tool.scope)
}

/** What a host reads before it asks its person. */
function schemesOf({ scope }: Tool) {
  return [{ type: 'oauth2', scopes: scope === null || scope === 'any' ? [] : [scope] }]
}
