import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const read = (name: string) => readFileSync(new URL(name, import.meta.url))

/** A module and all that it imports, each once. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  const text = read(name).toString()
  for (const [, imported] of text.matchAll(/from '\.\/([\w-]+\.js)'/g)) withImports(imported!, found)
  return found
}

/** The bytes of modules with their imports, each compressed by itself as it is sent. */
function weigh(modules: readonly string[]): { files: Set<string>; bytes: number } {
  const files = new Set(modules.flatMap((name) => [...withImports(name)]))
  const sizes = [...files].map((name) => gzipSync(read(name), { level: 9 }).length)
  return { files, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

test('all scripts of the wall together weigh at most 25 kB, compressed one by one', () => {
  const { files, bytes } = weigh(['wall.js'])
  for (const name of ['core.js', 'wall-sheets.js', 'frame-dialog.js']) expect(files).toContain(name)
  expect(bytes).toBeLessThanOrEqual(25_000)
})

test('all scripts of the operator’s pages together weigh at most 40 kB, compressed one by one', () => {
  const { files, bytes } = weigh(['console.js', 'uploads.js', 'review.js', 'system.js'])
  expect(files).toContain('core.js')
  expect(bytes).toBeLessThanOrEqual(40_000)
})
