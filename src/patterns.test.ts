import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { analyse } from 'scslre'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'

const SRC = import.meta.dirname

/** Patterns that are not linear, and why no long text reaches them. */
const BOUNDED: Record<string, string> = {
  '\\/+$': 'a variable that the operator sets, and our own address',
  '^s3:\\/\\/([^/]+)(?:\\/(.*?))?\\/*$': 'an argument of the operator',
  '^[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?(?:\\/[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?)*$': 'refuses a longer key first',
  '\\.?0+$': 'three digits behind a dot',
}

function patternsOf(file: string): RegExp[] {
  const found: RegExp[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { regex } = node as { regex?: { pattern: string; flags: string } }
    if (regex) found.push(new RegExp(regex.pattern, regex.flags))
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(readFileSync(join(SRC, file), 'utf8'), { lang: 'ts' }))
  return found
}

test('every pattern of the source takes time in proportion to the length of a hostile text', () => {
  const patterns = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|js)$/.test(file) && !file.endsWith('.test.ts'))
    .flatMap((file) => patternsOf(file).map((pattern) => ({ file, pattern })))
  expect(patterns.length).toBeGreaterThan(100)
  const slow = patterns.filter(({ pattern }) => !(pattern.source in BOUNDED) && analyse(pattern).reports.length > 0)
  expect(slow.map(({ file, pattern }) => `${file}: ${pattern}`)).toEqual([])
})
