// Lists the files and lines that are longer than CONTRIBUTING.md allows, and fails if there are any.
// The limit for functions is a rule of the linter (biome.json).
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const MAX_LINES = 400
const MAX_COLUMNS = 120

/** Files that people read from top to bottom. Other text only has its columns checked. */
const READ_WHOLE = /\.(ts|js|mjs|css|html|md|sql|ya?ml)$/
/** Generated files. */
const EXEMPT = /^(package-lock\.json$|drizzle\/(0|meta\/))/
/** A URL that stands alone behind a marker. */
const LONE_URL = /^\s*(\S+ )?\S*https?:\/\/\S+$/
const TABLE_ROW = /^\s*\|/

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
const files = listed.split('\0').filter((file) => file && !EXEMPT.test(file) && existsSync(file))
const findings = files.flatMap((file) => tooLong(file, readFileSync(file)))
for (const finding of findings) console.log(finding)
if (findings.length > 0) {
  console.log(`${findings.length} findings. Split the files and wrap the lines.`)
  process.exitCode = 1
}

function tooLong(file, content) {
  const isBinary = content.includes(0)
  if (isBinary) return []
  const lines = content.toString('utf8').replace(/\n$/, '').split('\n')
  const wide = lines.flatMap((line, index) => {
    const columns = [...line].length
    if (columns <= MAX_COLUMNS || cannotWrap(file, line)) return []
    return [`${file}:${index + 1} has ${columns} columns, the limit is ${MAX_COLUMNS}.`]
  })
  if (lines.length <= MAX_LINES || !READ_WHOLE.test(file)) return wide
  return [`${file} has ${lines.length} lines, the limit is ${MAX_LINES}.`, ...wide]
}

/** A text in JSON cannot be wrapped either. */
function cannotWrap(file, line) {
  return LONE_URL.test(line) || file.endsWith('.json') || (file.endsWith('.md') && TABLE_ROW.test(line))
}
