import { execFileSync } from 'node:child_process'

/** The tag from which on migrations are never edited. */
export const FIRST_RELEASE = 'v0.1.0'

/** Whether there is that tag. Undefined where nobody can know: in a shallow clone and in a folder without git. */
export function isReleased() {
  try {
    if (git('rev-parse', '--is-shallow-repository') === 'true') return undefined
    return git('tag', '--list', FIRST_RELEASE) !== ''
  } catch {
    return undefined
  }
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
