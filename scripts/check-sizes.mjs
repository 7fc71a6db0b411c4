// Lists the files and lines that are longer than CONTRIBUTING.md allows, and what is over its ceiling. Fails if there
// are any. The limit for functions is a rule of the linter (biome.json). With --figures it prints the figures that the
// ceilings hold as JSON.
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

/**
 * Ceilings: lines, and words of documents. They come down with what goes. A commit that raises a row says why the lines
 * are worth inheriting. Lines that move into data or into other kinds of files are no saving, denser lines neither.
 */
const CEILINGS = {
  'src/.': 1_353,
  'src/api': 3_023,
  'src/backup': 901,
  'src/cli': 4_091,
  'src/db': 1_266,
  'src/events': 1_507,
  'src/http': 2_747,
  'src/library': 6_745,
  'src/local': 492,
  'src/meaning': 172,
  'src/mcp': 4_298,
  'src/media': 602,
  'src/oauth': 545,
  'src/outbound': 200,
  'src/processes': 180,
  'src/projections': 1_363,
  'src/queue': 584,
  'src/search': 5_917,
  'src/server': 546,
  'src/sql': 19,
  'src/timeline': 560,
  'src/video': 5_118,
  'src/views': 2_097,
  'src/vision': 4_245,
  'src/web': 7_138,
  'src/webhooks': 1_479,
  'src/workers': 1_514,
  'TypeScript of src': 58_702,
  'text of src': 66_181,
  tests: 42_535,
  bench: 6_880,
  'words of docs': 21_582,
  'words of decisions': 6_000,
}

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
const files = listed.split('\0').filter((file) => file && !EXEMPT.test(file) && existsSync(file))
const figures = countAll()
if (process.argv.includes('--figures')) {
  console.log(JSON.stringify(figures, null, 1))
  process.exit()
}
const findings = [...files.flatMap((file) => tooLong(file, readFileSync(file))), ...overCeiling(figures)]
for (const finding of findings) console.log(finding)
if (findings.length > 0) {
  console.log(`${findings.length} findings. Split the files, wrap the lines, and take away what is over a ceiling.`)
  process.exitCode = 1
}

/** Today's figure of each ceiling. A folder of `src` that has no row yet is there too. */
function countAll() {
  const isTest = (file) => file.startsWith('test/') || /^src\/.*\.test\.[^/]+$/.test(file)
  const sources = files.filter((file) => file.startsWith('src/') && !isTest(file))
  const typeScript = sources.filter((file) => file.endsWith('.ts'))
  const folders = Map.groupBy(typeScript, (file) => (file.split('/').length > 2 ? file.split('/')[1] : '.'))
  return {
    ...Object.fromEntries([...folders].sort().map(([name, those]) => [`src/${name}`, linesOf(those)])),
    'TypeScript of src': linesOf(typeScript),
    'text of src': linesOf(sources),
    tests: linesOf(files.filter(isTest)),
    bench: linesOf(files.filter((file) => file.startsWith('bench/') && !file.startsWith('bench/results/'))),
    'words of docs': wordsOf(files.filter((file) => /^docs\/[^/]+\.md$/.test(file))),
    'words of decisions': wordsOf(files.filter((file) => /^docs\/decisions\/[^/]+\.md$/.test(file))),
  }
}

function linesOf(those) {
  return sum(those, (file) => {
    const content = readFileSync(file)
    return content.includes(0) ? 0 : content.toString('utf8').split('\n').length - 1
  })
}

function wordsOf(those) {
  return sum(those, (file) => readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).length)
}

function sum(those, toNumber) {
  return those.reduce((total, file) => total + toNumber(file), 0)
}

function overCeiling(now) {
  return Object.entries(now).flatMap(([what, figure]) => {
    const ceiling = CEILINGS[what]
    if (ceiling === undefined) return [`${what} has no ceiling. Give it one in scripts/check-sizes.mjs.`]
    return figure > ceiling ? [`${what} has ${figure}, the ceiling is ${ceiling}.`] : []
  })
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
