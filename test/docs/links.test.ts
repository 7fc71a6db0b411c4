import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const GENERATED = ['node_modules', '.git', '.data']

function listPages(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return GENERATED.includes(entry.name) ? [] : listPages(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

const pages = listPages(root).map((path) => ({ path, name: relative(root, path), text: readFileSync(path, 'utf8') }))
const scripts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts as Record<string, string>

function withoutCode(text: string): string {
  return text.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, '')
}

/** Anchors as GitHub makes them from headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading] of text.replace(/^```.*?^```/gms, '').matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading!.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    anchors.add(plain.replace(/[^\p{L}\p{N}\- _]/gu, '').replaceAll(' ', '-'))
  }
  return anchors
}

/** What is wrong with a link; undefined where it leads somewhere. */
function faultOf(page: (typeof pages)[number], target: string): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined
  const [file, anchor] = target.split('#') as [string, string?]
  const path = file === '' ? page.path : resolve(dirname(page.path), file)
  if (!existsSync(path)) return `${page.name}: no file ${target}`
  if (anchor === undefined) return undefined
  if (anchorsOf(readFileSync(path, 'utf8')).has(anchor)) return undefined
  return `${page.name}: no heading ${target}`
}

test('every link between documents leads to a file and a heading', () => {
  const links = pages.flatMap((page) =>
    [...withoutCode(page.text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => ({ page, target: target! })),
  )
  expect(links.length).toBeGreaterThan(50)
  expect(links.flatMap(({ page, target }) => faultOf(page, target) ?? [])).toEqual([])
})

test('every path that a document names exists', () => {
  const named = pages.flatMap(({ name, text }) =>
    [...text.matchAll(/`((?:src|test|docs|bench|scripts|drizzle|samples)\/[\w./-]*)`/g)].map(([, path]) => ({
      name,
      path: path!,
    })),
  )
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
})

test('every npm script that a document names exists', () => {
  const named = pages.flatMap(({ name, text }) =>
    [...text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, script]) => ({ name, script: script! })),
  )
  expect(named.filter(({ script }) => !(script in scripts))).toEqual([])
})

test('every page under docs begins with one sentence that says for whom it is', () => {
  const wrong = pages.filter(
    ({ name, text }) => name.startsWith('docs/') && !/^(<!--.*-->\n+)?# .+\n\nThis page is for /.test(text),
  )
  expect(wrong.map(({ name }) => name)).toEqual([])
})

test('the README is at most 130 lines, and no line of a document is over 120 columns', () => {
  expect(readFileSync(join(root, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(130)
  const long = pages.flatMap(({ name, text }) =>
    text.split('\n').flatMap((line, n) => ([...line].length > 120 ? `${name}:${n + 1}` : [])),
  )
  expect(long).toEqual([])
})

test('every document and section that the code cites exists', () => {
  const cited = ['src', 'test', 'bench', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs|js|css)$/.test(name))
      .flatMap((name) => {
        const text = readFileSync(join(root, folder, name), 'utf8')
        return [...text.matchAll(/\b(docs\/[\w/-]+\.md)(?: §(\d+(?:\.\d+)*))?/g)].map(([citation, page, section]) => ({
          file: join(folder, name),
          citation,
          page: page!,
          section,
        }))
      }),
  )
  const resolves = ({ page, section }: { page: string; section: string | undefined }) => {
    if (!existsSync(join(root, page))) return false
    const heading = new RegExp(`^#{2,3} ${section?.replaceAll('.', '\\.')}\\.? `, 'm')
    return section === undefined || heading.test(readFileSync(join(root, page), 'utf8'))
  }
  expect(cited.length).toBeGreaterThan(0)
  expect(cited.filter((one) => !resolves(one))).toEqual([])
})
