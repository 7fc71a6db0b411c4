import { execFileSync } from 'node:child_process'

/** The tag from which on migrations are never edited. */
export const FIRST_RELEASE = 'v0.1.0'

/** Whether this checkout knows the tag of the first release. A shallow clone and a folder without git do not. */
export function isReleased() {
  try {
    return execFileSync('git', ['tag', '--list', FIRST_RELEASE], { encoding: 'utf8' }).trim() !== ''
  } catch {
    return false
  }
}
