import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, Script } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { parseAst } from 'vitest/node'

/*
 * Every regular expression of `src/` meets long hostile texts. A linear pattern needs a millisecond for one of them.
 * A quadratic pattern needs tens of seconds, because its work grows with the square of SIZE. The deadline in between
 * is no measurement: no machine is slow enough for the first, and none fast enough for the second.
 */
const SIZE = 128 * 1024
const DEADLINE_MS = 5_000

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))

/** Patterns that are not linear, and the length of their longest text: the code cuts or refuses a longer one. */
const BOUNDED: Record<string, number> = {
  // config.ts: a variable that the operator sets.
  '\\/+$': 4_000,
  // http/openapi.ts: the paths of our own endpoints.
  '[/:.-]+(\\w)': 200,
  // media/media-store.ts: refuses a longer key first.
  '^[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?(?:\\/[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?)*$': 300,
  // views/export.ts: three digits behind a dot.
  '\\.?0+$': 4,
}

/** Patterns that are put together while the program runs, and what they match. A new one is written with a bound. */
const BUILT: Record<string, string> = {
  'mcp/tools/frame-arguments.ts': 'an anchored colour: six digits at most, or one of our names',
  'search/text/function-words.ts': 'one word of a question, of 2,000 characters at most',
  'search/text/query.ts': 'one word of a question, of 2,000 characters at most',
  'search/text/tokens.ts': 'one character',
  'views/parameter-values.ts': 'anchored digits, at most 9',
  'video/source/source.ts': 'an anchored path of an address of at most 2,000 characters',
  'web/guard.ts': 'a session token of a fixed length',
}

interface Pattern {
  file: string
  source: string
  flags: string
}

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js)$/.test(entry.name) && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(SRC, join(entry.parentPath, entry.name)))
    .sort()
}

interface Found {
  patterns: Pattern[]
  built: string[]
}

function find(): Found {
  const found: Found = { patterns: [], built: [] }
  for (const file of sourceFiles()) {
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return
      const { type, regex, callee } = node as { type?: string; regex?: RegexLiteral; callee?: { name?: string } }
      if (type === 'Literal' && regex) found.patterns.push({ file, source: regex.pattern, flags: regex.flags })
      const isBuilt = (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp'
      if (isBuilt && !found.built.includes(file)) found.built.push(file)
      for (const child of Object.values(node)) visit(child)
    }
    visit(parseAst(readFileSync(SRC + file, 'utf8'), { lang: 'ts' }))
  }
  return found
}

interface RegexLiteral {
  pattern: string
  flags: string
}

const SEEDS = [
  'a',
  'A',
  '0',
  'é',
  '字',
  'a.',
  'a-',
  'a/',
  'a:',
  'a://',
  'a@',
  'a ',
  ' ',
  '\n',
  '\t',
  ' \n',
  '\r\n',
  '"',
]

/** Texts of one repeated piece: of common pieces, of the pattern's own signs, and of its own words. */
function hostileTexts({ source }: Pattern, size: number): string[] {
  const signs = source.match(/[^\p{L}\p{N}]/gu) ?? []
  const words = source.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1)
  const pieces = new Set([...SEEDS, ...signs, ...words, ...words.map((word) => `${word} `)])
  return [...pieces].flatMap((piece) => {
    const text = piece.repeat(Math.ceil(size / piece.length))
    // What ends a run decides whether the pattern goes back: its end, a sign, a letter.
    return [text, `${text}\u0000`, `x${text}x`]
  })
}

/** The first text that keeps the pattern busy beyond the deadline. */
function tooLongFor(pattern: Pattern): string | undefined {
  const re = new RegExp(pattern.source, pattern.flags)
  const sandbox = createContext({ re, text: '' })
  return hostileTexts(pattern, BOUNDED[pattern.source] ?? SIZE).find((text) => {
    sandbox.text = text
    try {
      REPLACE.runInContext(sandbox, { timeout: DEADLINE_MS })
      return false
    } catch {
      return true
    }
  })
}

const REPLACE = new Script('text.replace(re, "")')

describe('every pattern of the source', () => {
  const { patterns, built } = find()

  test('takes time in proportion to the length of a hostile text', () => {
    expect(patterns.length).toBeGreaterThan(100)
    const slow = patterns.flatMap((pattern) => {
      const text = tooLongFor(pattern)
      if (text === undefined) return []
      return [`${pattern.file}: /${pattern.source}/${pattern.flags} on ${JSON.stringify(text.slice(0, 12))} …`]
    })
    expect(slow).toEqual([])
  })

  test('is a literal, or built of bounded parts and listed here', () => {
    expect(built).toEqual(Object.keys(BUILT).sort())
  })
})
