// `npm run test:near`: all of `unit`, which takes seconds, and the tests that hold what changed since main.
// The imports of tests do not say that: most start a whole service. So each room says which tests hold it.
// With --list the files are only listed. --check holds the table against the folders; `npm run check` runs that.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Files and folders, and what holds them: folders of test/, or files there without their ending. Every row that names
 * the path of a change counts: that of its room and that of its file. Pages, commands and pictures take their slow
 * tests along.
 */
const HELD_BY = {
  'src/cli/main.ts': ['platform/command-line'],
  'src/cli': ['platform/command-line', 'library/cli'],
  'src/cli/accounts.ts': ['accounts/cli'],
  'src/cli/connect.ts': ['oauth/connect'],
  'src/cli/events.ts': ['events/command'],
  'src/cli/keys.ts': ['accounts/cli'],
  'src/cli/lines.ts': ['webhooks/cli', 'events/command'],
  'src/cli/operations.ts': ['webhooks/cli', 'events/command', 'accounts/cli'],
  'src/cli/reannotate.ts': ['library/cli-reannotate'],
  'src/cli/techniques.ts': ['library/cli', 'accounts/cli'],
  'src/cli/findings.ts': ['library/cli-vision', 'oauth/connect'],
  'src/cli/vision.ts': ['library/cli-vision'],
  'src/cli/webhooks.ts': ['webhooks/cli'],
  'src/clean-text.ts': ['contract/bad-input', 'mcp/quotations'],
  'src/config.ts': ['accounts/members-only', 'oauth/sign-in'],
  'src/errors.ts': ['contract/bad-input', 'contract/spec-reads', 'mcp/first-guesses'],
  'src/logger.ts': ['accounts/secrets'],
  'src/turns.ts': ['contract/edge', 'events/stream', 'webhooks/lanes'],
  'src/metrics.ts': ['contract/edge', 'platform/metrics'],
  'src/parameters.ts': ['contract/bad-input', 'contract/spec-frames', 'contract/spec-reads'],
  'src/vocabulary.ts': [
    ...['contract/openapi', 'contract/spec-frames', 'contract/examples', 'db', 'library/annotations'],
    ...['mcp/films', 'mcp/tool-definitions', 'mcp/tools', 'projections/search', 'search'],
  ],

  'src/sql': ['db', 'search/postgres'],
  'src/db': ['db', 'backup/drill'],
  'src/db/client.ts': ['accounts/at-once', 'events/log'],
  'src/db/schema/accounts.ts': ['accounts/export', 'accounts/keys-and-accounts', 'accounts/secrets', 'oauth/tokens'],
  'src/db/schema/collections.ts': ['accounts/boards', 'accounts/export', 'accounts/undo'],
  'src/db/schema/events.ts': ['events', 'projections/analytics'],
  'src/db/schema/frames.ts': ['library/annotations', 'library/record-extraction', 'projections', 'search/postgres'],
  'src/db/schema/techniques.ts': ['library/vocabulary', 'projections/search'],
  'src/db/schema/videos.ts': ['library/record-extraction', 'library/submit', 'library/video-status', 'projections'],
  'src/db/schema/vision.ts': ['library/paid-answers', 'library/reannotate'],
  'src/db/schema/webhooks.ts': ['webhooks'],
  drizzle: ['db', 'backup/drill', 'events/log', 'search/postgres'],

  'src/local': ['events/move', 'platform/local'],
  'src/events': ['events', 'accounts/analytics-api'],
  'src/queue': ['library/job-order', 'library/jobs', 'library/reextract', 'library/vision'],
  'src/meaning': ['library/vectors', 'library/text-models', 'search/meaning'],
  'src/media': ['backup/places', 'contract/image-ranges', 'library/uploads', 'library/video-files', 'media'],
  'src/backup': ['backup'],
  'src/outbound': ['accounts/invitations', 'video/fetch-source', 'webhooks/api', 'webhooks/receivers'],
  'src/processes': ['video/extract', 'video/orphans', 'video/starved-host', 'vision/measure-in-child'],
  'src/webhooks': ['webhooks'],
  'src/timeline': ['library/timelines'],

  'src/search': ['contract/examples', 'contract/spec-frames', 'mcp/tools', 'projections/search', 'search'],
  'src/search/open-search.ts': ['contract/caching', 'contract/slow-engine'],
  'src/search/breaker.ts': ['contract/caching', 'contract/slow-engine'],
  'src/search/meilisearch': ['contract/slow-engine'],
  'src/search/postgres/sequences.ts': ['library/sequences'],
  'src/projections': ['projections', 'search'],
  'src/projections/analytics.ts': ['accounts/analytics-api', 'mcp/report'],

  'src/video/extract': [
    ...['video/extract', 'video/hostile-media', 'video/loops', 'video/orphans', 'video/pixel-formats'],
    ...['video/sound', 'video/starved-host'],
  ],
  'src/video/shots': ['video/extract'],
  'src/video/source': ['video/fetch-source', 'video/yt-dlp', 'library/submit'],
  'src/video/programs.ts': ['video/fetch-source', 'video/yt-dlp'],
  'src/vision': ['vision', 'library/paid-answers'],

  'src/library/ids.ts': ['library/record-extraction', 'library/video-files'],
  'src/library/json-pieces.ts': ['contract/spec-reads', 'accounts/large'],
  'src/library/search-counts.ts': ['accounts/analytics-api', 'projections/analytics'],
  'src/library/settings.ts': ['backup/places', 'library/reannotate'],
  'src/library/accounts': [
    ...['accounts/authorisation', 'accounts/lock-out', 'accounts/shared-boards', 'accounts/export'],
    ...['accounts/invitations', 'accounts/keys-and-accounts', 'accounts/secrets'],
  ],
  'src/library/accounts/grants.ts': ['oauth'],
  'src/library/analytics': ['accounts/analytics-api', 'mcp/report', 'projections/analytics'],
  'src/library/annotator/progress.ts': ['library/cli-vision'],
  'src/library/annotator': ['library/annotations', 'library/paid-answers', 'library/reannotate', 'library/vision'],
  'src/library/collections': [
    ...['accounts/api', 'accounts/at-once', 'accounts/boards', 'accounts/shared-boards', 'accounts/large'],
    ...['accounts/moves', 'accounts/undo'],
    'mcp/account-tools',
  ],
  'src/library/films': ['library/films', 'library/sequences', 'library/timelines', 'mcp/films'],
  'src/library/frames': [
    ...['library/annotations', 'library/notes', 'library/reannotate', 'library/review-order', 'library/vocabulary'],
  ],
  'src/library/techniques': ['library/vocabulary', 'library/annotations'],
  'src/library/videos': [
    ...['library/hidden-addresses', 'library/record-extraction', 'library/reextract', 'library/submit'],
    ...['library/uploads', 'library/video-files', 'library/video-status', 'mcp/add-videos'],
  ],
  'src/workers': ['library', 'projections/search'],

  'src/views': ['contract/openapi', 'contract/spec-frames', 'contract/spec-reads', 'contract/typed-client'],
  'src/views/analytics.ts': ['accounts/analytics-api', 'mcp/report'],
  'src/views/collections.ts': ['accounts/api', 'accounts/api-shapes', 'accounts/boards', 'mcp/account-tools'],
  'src/views/export.ts': ['accounts/export', 'accounts/shared-boards'],
  'src/views/brief.ts': ['library/briefs', 'mcp/quotations'],
  'src/views/film.ts': ['library/films', 'mcp/films'],
  'src/views/film-list.ts': ['library/films', 'mcp/films', 'contract/examples'],
  'src/views/nearest.ts': ['contract/spec-frames', 'mcp/calls'],
  'src/views/parameters.ts': ['contract/bad-input', 'contract/examples', 'contract/wall-page', 'mcp/tool-definitions'],
  'src/views/rhythm.ts': ['library/films', 'mcp/films'],
  'src/views/sequences.ts': ['contract/examples', 'library/sequences', 'mcp/films'],
  'src/views/skills.ts': ['mcp/resources'],

  'src/views/timelines.ts': ['library/timelines'],
  skills: ['mcp/resources'],
  'src/http': [
    ...['accounts/api-limits', 'accounts/authorisation', 'contract/bad-input', 'contract/bodies'],
    ...['contract/caching', 'contract/edge', 'contract/openapi', 'contract/points'],
  ],
  'src/http/event-stream.ts': ['events/stream'],
  'src/http/rate-limit': ['accounts/prices', 'accounts/api-limits'],
  'src/oauth': ['oauth'],
  'src/server': ['accounts/authorisation', 'accounts/members-only', 'contract/edge', 'contract/openapi'],

  'src/api': ['accounts/authorisation', 'contract/bad-input', 'contract/openapi', 'contract/referees'],
  'src/api/accounts.ts': ['accounts/shared-boards', 'accounts/api'],
  'src/api/analytics.ts': ['accounts/analytics-api'],
  'src/api/boards.ts': ['accounts/absent-boards', 'accounts/api', 'accounts/api-shapes', 'accounts/shared-boards'],
  'src/api/documents.ts': ['accounts/front-door', 'contract/typed-client'],
  'src/api/events.ts': ['events/catalogue', 'events/consumers-api', 'events/stream'],
  'src/api/favourites.ts': ['accounts/api', 'accounts/api-shapes', 'contract/spec-reads'],
  'src/api/films.ts': ['contract/examples', 'library/films', 'library/sequences'],
  'src/api/frames.ts': ['contract/spec-frames', 'contract/spec-reads', 'library/annotations', 'library/vocabulary'],
  'src/api/health.ts': ['contract/edge'],
  'src/api/media.ts': ['contract/image-ranges', 'library/kept-videos', 'library/video-files'],
  'src/api/reads.ts': ['contract/caching', 'contract/spec-reads'],
  'src/api/search.ts': ['contract/examples', 'contract/spec-reads'],
  'src/api/shared-boards.ts': ['accounts/shared-boards', 'accounts/secrets'],
  'src/api/submit-video.ts': ['contract/bodies', 'library/submit', 'library/uploads'],
  'src/api/techniques.ts': ['library/vocabulary'],
  'src/api/timelines.ts': ['library/timelines', 'library/briefs'],
  'src/api/videos.ts': ['contract/spec-reads', 'library/video-status'],
  'src/api/webhooks.ts': ['webhooks/api', 'webhooks/secrets'],
  'src/mcp': ['mcp/tool-definitions', 'mcp/tools'],
  'src/mcp/arguments.ts': ['mcp/agent', 'mcp/first-guesses'],
  'src/mcp/dispatcher.ts': ['mcp'],
  'src/mcp/gallery': ['journeys/gallery', 'mcp/resources'],
  'src/mcp/present.ts': ['mcp/agent', 'mcp/quotations', 'mcp/calls'],
  'src/mcp/protocol.ts': ['mcp'],
  'src/mcp/resources.ts': ['mcp/resources'],
  'src/mcp/route.ts': ['mcp'],
  'src/mcp/server.ts': ['mcp'],
  'src/mcp/tasks.ts': ['mcp/add-videos'],
  'src/mcp/tool-call.ts': ['mcp'],
  'src/mcp/tool.ts': ['mcp'],
  'src/mcp/tools': ['mcp/agent', 'mcp/first-guesses', 'mcp/quotations', 'mcp/calls'],
  'src/mcp/tools/add-videos.ts': ['mcp/add-videos'],
  'src/mcp/tools/boards.ts': ['mcp/account-tools'],
  'src/mcp/tools/collection.ts': ['mcp/account-tools'],
  'src/mcp/tools/films.ts': ['mcp/films'],
  'src/mcp/tools/library.ts': ['mcp/calls'],
  'src/mcp/tools/report.ts': ['mcp/report'],
  'src/mcp/tools/saves.ts': ['mcp/account-tools'],
  'src/mcp/tools/sequences.ts': ['mcp/films'],
  'src/mcp/values.ts': ['mcp/calls', 'mcp/first-guesses'],

  'src/web': ['accounts/authorisation', 'contract/wall-page'],
  'src/web/assets': ['accounts/browser', 'journeys'],
  'src/web/collections': [
    'accounts/collection-pages',
    'accounts/page-forms',
    'accounts/prices',
    'accounts/undo',
    'journeys/boards',
  ],
  'src/web/connect-page.ts': ['accounts/front-door', 'oauth/connect'],
  'src/web/consent.ts': ['oauth/sign-in'],
  'src/web/crawlers.ts': ['accounts/members-only', 'accounts/secrets'],
  'src/web/docs-page.ts': ['contract/openapi'],
  'src/web/chart.ts': ['library/films', 'platform/analytics-page'],
  'src/web/film-panels.ts': ['library/films', 'journeys/films'],
  'src/web/films-pages.ts': ['library/films', 'journeys/films'],
  'src/web/frame-page.ts': ['accounts/prices', 'journeys/open-frame'],
  'src/web/guard.ts': ['accounts/secrets'],
  'src/web/keys-page.ts': ['accounts/keys-and-accounts', 'accounts/secrets', 'oauth/sign-in'],
  'src/web/operator': ['accounts/pages', 'accounts/invitations', 'accounts/page-uploads', 'journeys/operator'],
  'src/web/entity-pages.ts': ['journeys/pictures'],
  'src/web/frame-card.ts': ['journeys/pictures'],
  'src/web/layout.ts': ['accounts/members-only', 'accounts/pages', 'journeys/pictures'],
  'src/web/pages.ts': ['accounts/members-only', 'accounts/pages'],
  'src/web/privacy-page.ts': ['accounts/members-only'],
  'src/web/shared-board.ts': ['accounts/shared-boards', 'accounts/secrets'],
  'src/web/sign-in.ts': ['accounts/invitations', 'accounts/secrets', 'oauth/sign-in'],
  'src/web/player.ts': ['journeys/films'],
  'src/web/video-page.ts': ['accounts/prices', 'journeys/films'],

  'docs/interface.md': ['contract/examples', 'contract/openapi'],
  'docs/webhooks.md': ['webhooks/docs'],
  'README.md': ['contract/examples', 'journeys/readme'],
  samples: ['contract/examples'],
}

const TESTS = globSync('test/**/*.test.ts').sort()
const UNIT = [...globSync('src/**/*.test.ts'), ...globSync('test/docs/*.test.ts')].filter(
  (file) => !file.endsWith('.media.test.ts'),
)

const lies = (file, path) => file === path || file.startsWith(`${path}/`)
const testsOf = (name) => TESTS.filter((file) => lies(file, `test/${name}.test.ts`) || lies(file, `test/${name}`))

/** What holds a change. Beside the table: a changed test itself, the tests that use changed support, and pictures. */
function near(file) {
  if (/^test\/.*\.ts$/.test(file)) return usersOf(file)
  const beside = globSync(`${dirname(file)}/*.media.test.ts`)
  const rows = Object.keys(HELD_BY).filter((path) => lies(file, path))
  return [...rows.flatMap((path) => HELD_BY[path].flatMap(testsOf)), ...(file.startsWith('src/') ? beside : [])]
}

/** The tests that import a file of test/, through others too. */
function usersOf(file) {
  const all = globSync('test/**/*.ts').map((name) => ({ name, imports: importsOf(name) }))
  const users = new Set([file])
  // Grows while it is walked.
  for (const one of users) for (const { name, imports } of all) if (imports.includes(one)) users.add(name)
  return [...users].filter((name) => name.endsWith('.test.ts') && existsSync(name))
}

function importsOf(name) {
  const paths = [...readFileSync(name, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)]
  return paths.map(([, path]) => join(dirname(name), path))
}

/** Rows that lead nowhere, rooms without a row, and tests that no row names. */
function faults() {
  const rows = Object.entries(HELD_BY)
  const named = new Set(rows.flatMap(([, names]) => names.flatMap(testsOf)))
  const source = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
  const slow = /^test\/(docs|faults|journeys|platform)\//
  return [
    ...rows.flatMap(([path]) => (existsSync(path) ? [] : [`There is no ${path}.`])),
    ...rows.flatMap(([path, names]) =>
      names.flatMap((name) => (testsOf(name).length > 0 ? [] : [`${path}: there is no test/${name}.`])),
    ),
    ...source.flatMap((file) =>
      rows.some(([path]) => lies(file, path)) ? [] : [`${file} has no row: say which tests hold it.`],
    ),
    ...TESTS.flatMap((file) => (named.has(file) || slow.test(file) ? [] : [`${file} is named by no row.`])),
  ]
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)
}

if (process.argv.includes('--check')) {
  for (const fault of faults()) {
    console.log(`${fault} The table is in scripts/test-near.mjs.`)
    process.exitCode = 1
  }
} else {
  const [base] = git('merge-base', 'HEAD', 'main')
  const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
  const files = [...new Set([...UNIT, ...changed.flatMap(near)])].sort()
  console.log(
    `${changed.length} changed files, ${files.length} of ${new Set([...TESTS, ...UNIT]).size} files of tests.`,
  )
  if (process.argv.includes('--list')) console.log(files.join('\n'))
  else process.exit(spawnSync('vitest', ['run', ...files], { stdio: 'inherit', shell: false }).status ?? 1)
}
