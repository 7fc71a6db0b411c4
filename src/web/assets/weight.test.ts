import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

/** A module and all that it imports, each once. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  const text = readFileSync(new URL(name, import.meta.url), 'utf8')
  for (const [, imported] of text.matchAll(/from '\.\/([\w-]+\.js)'/g)) withImports(imported!, found)
  return found
}

test('all scripts of the operator’s pages together weigh at most 40 kB, compressed one by one', () => {
  const modules = ['console.js', 'uploads.js', 'hash-worker.js', 'review.js', 'system.js']
  const files = new Set(modules.flatMap((name) => [...withImports(name)]))
  const bytes = [...files].reduce(
    (sum, name) => sum + gzipSync(readFileSync(new URL(name, import.meta.url)), { level: 9 }).length,
    0,
  )
  expect(files).toContain('core.js')
  expect(bytes).toBeLessThanOrEqual(40_000)
})
