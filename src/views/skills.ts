import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * The folders of `skills/`, which tell an agent how to do a whole job with the tools (SEP-2640). A host asks its user
 * to approve a file again when a byte changes, so they change only with a release.
 */

export interface Skill {
  uri: string
  text: string
  frontmatter: { name: string; description: string }
  resources: { uri: string; digest: string; size: number }[]
}

export function loadSkills(): Skill[] {
  const folder = new URL('../../skills/', import.meta.url)
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const bytes = readFileSync(new URL(`${name}/SKILL.md`, folder))
      const uri = `skill://${name}/SKILL.md`
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
      const text = bytes.toString('utf8')
      return { uri, text, frontmatter: frontmatterOf(text), resources: [{ uri, digest, size: bytes.length }] }
    })
}

/** Ours has two lines. */
function frontmatterOf(text: string): Skill['frontmatter'] {
  const [, name, description] = /^---\nname: (.+)\ndescription: (.+)\n---\n/.exec(text)!
  return { name: name!, description: description! }
}
