// Fails for commit subjects that are longer than CONTRIBUTING.md allows, from the commit on that added this file.
// A shallow clone holds fewer commits to check, and a folder without git none.
import { spawnSync } from 'node:child_process'

const MAX_SUBJECT = 65

const [base] = git('log', '--format=%H', '--diff-filter=A', '--', 'scripts/check-commits.mjs')
const commits = base === undefined ? [] : git('log', '--no-merges', '--format=%h %s', `${base}..HEAD`)
for (const commit of commits) {
  const subject = commit.slice(commit.indexOf(' ') + 1)
  const length = [...subject].length
  if (length <= MAX_SUBJECT) continue
  console.log(`Commit ${commit} has ${length} characters, the limit is ${MAX_SUBJECT}. Move the story to the body.`)
  process.exitCode = 1
}

/** The lines that git prints, none where this is no repository. */
function git(...args) {
  const { stdout } = spawnSync('git', args, { encoding: 'utf8' })
  return (stdout ?? '').split('\n').filter(Boolean)
}
