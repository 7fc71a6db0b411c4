import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

// The checks of `npm run check` that are scripts of ours, each against a small repository of its own.

let repository: string

beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), 'frames-checks-'))
  git('init', '--quiet')
})

afterEach(() => rmSync(repository, { recursive: true, force: true }))

function git(...args: string[]): void {
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org']
  const run = spawnSync('git', [...author, ...args], { cwd: repository, encoding: 'utf8' })
  expect(run.stderr).not.toMatch(/^(fatal|error)/m)
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true })
  writeFileSync(join(repository, path), content)
}

function check(name: string, ...args: string[]): { status: number | null; lines: string[] } {
  const { status, stdout } = spawnSync(process.execPath, [resolve('scripts', `${name}.mjs`), ...args], {
    cwd: repository,
    encoding: 'utf8',
  })
  return { status, lines: stdout.split('\n').filter(Boolean) }
}

test('an import that runs upward or sideways, and a room without a place, fail the layer check', () => {
  cpSync('src', join(repository, 'src'), { recursive: true })
  expect(check('check-layers')).toEqual({ status: 0, lines: [] })
  write('src/search/upward.ts', "import type { Db } from '../db/client.ts'\nexport type Upward = Db\n")
  write('src/api/sideways.ts', "export { pageRouter } from '../web/pages.ts'\n")
  write('src/attic/box.ts', "import '../errors.ts'\n")
  expect(check('check-layers')).toEqual({
    status: 1,
    lines: expect.arrayContaining([
      'src/search/upward.ts imports src/db/client.ts, but search may not import db.',
      'src/api/sideways.ts imports src/web/pages.ts, but api may not import web.',
      'src/attic/box.ts is in no room of the picture: add src/attic to MAY_IMPORT.',
    ]),
  })
})

test('private interfaces, memory steered by hand and a ninth file beside the rooms fail the layer check', () => {
  cpSync('src', join(repository, 'src'), { recursive: true })
  const refused = {
    setFlagsFromString: "import { setFlagsFromString } from 'node:v8'",
    runInNewContext: "import { runInNewContext } from 'node:vm'",
    registerHooks: "import { registerHooks } from 'node:module'",
    'prototype.end =': 'res.prototype.end = count',
    'router.stack': 'const { length } = router.stack',
    queryChunks: 'const { length } = sql``.queryChunks',
    "createRequire(import.meta.url)('": "const http = createRequire(import.meta.url)('node:http')",
    '.transfer(': 'chunk.buffer.transfer(0)',
    MALLOC_: "const env = { MALLOC_ARENA_MAX: '2' }",
  }
  const names = Object.entries(refused)
  for (const [n, [, code]] of names.entries()) write(`src/api/private-${n}.ts`, `${code}\n`)
  write('src/ninth.ts', "export { Param } from 'drizzle-orm'\n")
  const { status, lines } = check('check-layers')
  expect(status).toBe(1)
  for (const [n, [name]] of names.entries())
    expect(lines).toContain(`src/api/private-${n}.ts uses ${name}, which is no public interface.`)
  expect(lines.join('\n')).toContain('src/ holds 9 files, the limit is 8')
  expect(lines).toContain('src/ninth.ts imports drizzle-orm: take it from src/sql/orm.ts.')
})

test('a table that another room writes fails the layer check, by drizzle and in SQL', () => {
  cpSync('src', join(repository, 'src'), { recursive: true })
  write('src/workers/a.ts', 'await db.update(frames).set({})\n')
  write('src/api/b.ts', 'await db.execute(sql`delete from saves where true`)\n')
  write('src/workers/c.ts', 'await db.execute(sql`update read_models set ready = true`)\n')
  expect(check('check-layers').lines).toEqual(
    expect.arrayContaining([
      'src/workers/a.ts writes frames, but only library may.',
      'src/api/b.ts writes saves, but only library may.',
      'src/workers/c.ts writes read_models, but only projections and search may.',
    ]),
  )
})

test('a file of source or tests without a row, and a row that leads nowhere, fail the table of near tests', () => {
  write('src/attic/box.ts', '')
  write('src/web/html.ts', '')
  write('test/accounts/attic.test.ts', '')
  const { status, lines } = check('test-near', '--check')
  expect(status).toBe(1)
  const said = lines.map((line) => line.replace(' The table is in scripts/test-near.mjs.', ''))
  expect(said).toEqual(
    expect.arrayContaining([
      'src/attic/box.ts has no row: say which tests hold it.',
      'test/accounts/attic.test.ts is named by no row.',
      'There is no src/vocabulary.ts.',
      'src/events: there is no test/events.',
    ]),
  )
  expect(said.join()).not.toContain('src/web/html.ts')
})

test('a regular expression inside toMatchObject fails the linter, because it would match any string', () => {
  for (const file of ['biome.json', 'scripts/regexp-in-match-object.grit']) cpSync(file, join(repository, file))
  const refused = (shape: string) => {
    write('shape.test.ts', `await expect(given).rejects.toMatchObject(${shape})\n`)
    const run = spawnSync(resolve('node_modules/.bin/biome'), ['lint', 'shape.test.ts'], {
      cwd: repository,
      encoding: 'utf8',
    })
    return [run.status, run.stderr.includes('This pattern matches any string.')]
  }
  expect(refused('{ message: /no/ }')).toEqual([1, true])
  expect(refused('[{ reasons: [1, { text: given ? /no/ : null }] }]')).toEqual([1, true])
  expect(refused('{ message: expect.stringMatching(/no/) }')).toEqual([0, false])
})

test('a long file and a wide line fail the size check; a table row and a lone URL do not', () => {
  write('short.ts', '// fits\n'.repeat(400))
  write('notes.md', `| ${'x'.repeat(200)} |\n- https://example.org/${'x'.repeat(200)}\n`)
  write('drizzle/0000_first.sql', `${'x'.repeat(200)}\n`.repeat(500))
  expect(check('check-sizes')).toEqual({ status: 0, lines: [] })
  write('long.ts', '// fits\n'.repeat(401))
  write('wide.sql', `\n${'x'.repeat(121)}\n`)
  expect(check('check-sizes')).toEqual({
    status: 1,
    lines: [
      'long.ts has 401 lines, the limit is 400.',
      'wide.sql:2 has 121 columns, the limit is 120.',
      '2 findings. Split the files, wrap the lines, and take away what is over a ceiling.',
    ],
  })
})

test('what is over its ceiling fails the size check, and a folder without one', () => {
  write('src/api/tests-are-apart.test.ts', '\n'.repeat(300))
  write('src/attic/box.ts', '// old\n')
  for (const n of Array(30).keys()) write(`src/oauth/part-${n}.ts`, '// more\n'.repeat(400))
  for (const n of Array(9).keys()) write(`docs/page-${n}.md`, `${'a word '.repeat(10)}\n`.repeat(400))
  expect(check('check-sizes')).toEqual({
    status: 1,
    lines: [
      'src/attic has no ceiling. Give it one in scripts/check-sizes.mjs.',
      expect.stringMatching(/^src\/oauth has 12000, the ceiling is \d+\.$/),
      expect.stringMatching(/^words of docs has 72000, the ceiling is \d+\.$/),
      '3 findings. Split the files, wrap the lines, and take away what is over a ceiling.',
    ],
  })
})

test('a long commit subject fails the commit check from the commit on that brought the check', () => {
  git('commit', '--quiet', '--allow-empty', '-m', 'x'.repeat(90))
  expect(check('check-commits')).toEqual({ status: 0, lines: [] })
  write('scripts/check-commits.mjs', '')
  git('add', '.')
  git('commit', '--quiet', '-m', 'Add the check')
  git('commit', '--quiet', '--allow-empty', '-m', 'x'.repeat(65))
  expect(check('check-commits')).toEqual({ status: 0, lines: [] })
  git('commit', '--quiet', '--allow-empty', '-m', 'y'.repeat(66))
  expect(check('check-commits')).toEqual({
    status: 1,
    lines: [
      expect.stringMatching(/^Commit \w+ y{66} has 66 characters, the limit is 65\. Move the story to the body\.$/),
    ],
  })
})

test('there is one migration until the first release, and it is not edited from then on', () => {
  write('drizzle/0000_begin.sql', 'CREATE TABLE a ();')
  expect(check('check-migrations')).toEqual({ status: 0, lines: [] })
  write('drizzle/0001_change.sql', 'CREATE TABLE b ();')
  expect(check('check-migrations')).toEqual({
    status: 1,
    lines: ['drizzle/0001_change.sql: there is one migration until v0.1.0. Delete it and run npm run db:generate.'],
  })
  release()
  expect(check('check-migrations')).toEqual({ status: 0, lines: [] })
  write('drizzle/0000_begin.sql', 'CREATE TABLE a (id text);')
  expect(check('check-migrations')).toEqual({
    status: 1,
    lines: ['drizzle/0000_begin.sql was released with v0.1.0. Take the edit back and add a migration.'],
  })
  // Nobody can know the tags of a shallow clone.
  const { stdout: head } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: repository, encoding: 'utf8' })
  write('.git/shallow', head)
  expect(check('check-migrations')).toEqual({ status: 0, lines: [] })
})

/** Commits what there is, with the tag of the first release. */
function release(): void {
  write('drizzle/0000_begin.sql', 'CREATE TABLE a ();')
  git('add', '.')
  git('commit', '--quiet', '-m', 'Release 0.1.0')
  git('tag', 'v0.1.0')
}

test('a migration that the version before it cannot run on fails, unless it says why it is safe', () => {
  release()
  const refused = (sql: string) => {
    write('drizzle/0001_change.sql', sql)
    return check('check-migrations').lines.map((line) => /^\S+ (.*?)\. Leave/.exec(line)?.[1] ?? line)
  }
  for (const [statement, why] of [
    ['DROP TABLE "frames";', 'drops what older code may use'],
    ['ALTER TABLE "frames" DROP COLUMN "reason";', 'drops a column that older code may use'],
    ['ALTER TABLE "frames" RENAME COLUMN "luma" TO "light";', 'renames what older code calls by its name'],
    ['ALTER TABLE "frames" ALTER COLUMN "reason" SET NOT NULL;', 'refuses rows of older code'],
    ['ALTER TABLE "frames" ALTER COLUMN "luma" SET DATA TYPE integer;', 'changes a type'],
    ['ALTER TABLE "frames" ADD COLUMN "mood" text NOT NULL;', 'adds a column that older code does not fill'],
    ['CREATE INDEX "frames_mood" ON "frames" ("mood");', 'locks writes while it builds an index'],
    ['ALTER TABLE "frames" ADD CONSTRAINT "c" CHECK (luma > 0);', 'locks writes while it checks every row'],
  ] as const)
    expect(refused(statement), statement).toEqual([why])
  expect(
    refused(`
      ALTER TABLE "frames" ADD COLUMN "mood" text;--> statement-breakpoint
      ALTER TABLE "frames" ADD COLUMN "kept" boolean DEFAULT false NOT NULL;--> statement-breakpoint
      CREATE TABLE "moods" ("name" text PRIMARY KEY NOT NULL);--> statement-breakpoint
      CREATE INDEX "moods_name" ON "moods" ("name");--> statement-breakpoint
      ALTER TABLE "frames" ADD CONSTRAINT "c" CHECK (luma > 0) NOT VALID;--> statement-breakpoint
      -- locks writes: a worker alone writes it, and waits
      CREATE INDEX "frames_mood" ON "frames" ("mood");--> statement-breakpoint
      -- contracts: no code names frames.reason since 0.3.0
      ALTER TABLE "frames" DROP COLUMN "reason";`),
  ).toEqual([])
  write('drizzle/0001_change.sql', '-- first\n\nDROP VIEW a;\nALTER TABLE "b" RENAME TO "c";\n')
  expect(check('check-migrations')).toMatchObject({
    status: 1,
    lines: [3, 4].map((line) => expect.stringMatching(new RegExp(`^drizzle/0001_change\\.sql:${line} `))),
  })
})
