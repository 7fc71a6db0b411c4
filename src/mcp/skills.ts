import type { Skill } from '../views/skills.ts'
import { type Method, textOf } from './methods.ts'
import { INVALID_PARAMS, RpcError } from './replies.ts'

/** The skills as the extension of the protocol tells them (SEP-2640). */

export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

export function skillMethods(skills: readonly Skill[]): [string, Method][] {
  const entries = skills.map(({ uri, frontmatter, resources }) => ({ uri, frontmatter, resources }))
  return [
    [
      'skills/list',
      { points: () => 1, answer: (_params, _context, era) => ({ skills: entries, ...era.listCaching('public') }) },
    ],
    [
      'skills/get',
      {
        points: () => 1,
        answer(params, _context, era) {
          const uri = textOf(params, 'uri', 'skills/get')
          const skill = entries.find((entry) => entry.uri === uri)
          if (skill) return { skill, ...era.listCaching('public') }
          const message = 'Unknown skill. skills/list names them all.'
          throw new RpcError(INVALID_PARAMS, message, { data: { uri: uri.slice(0, 300) } })
        },
      },
    ],
  ]
}
