import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readAssets } from '../assets.ts'

const sent = new Map(readAssets())

/** A module and all that it imports, each once. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const [, imported] of String(sent.get(name)).matchAll(/from '\.\/([\w-]+\.js)'/g)) withImports(imported!, found)
  return found
}

/** The bytes of files and of what they import, each compressed by itself as it is sent. */
function weigh(...names: readonly string[]): { files: Set<string>; bytes: number } {
  const files = new Set(names.flatMap((name) => [...withImports(name)]))
  const sizes = [...files].map((name) => gzipSync(sent.get(name)!, { level: 9 }).length)
  return { files, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

test('scripts and styles of the wall together weigh at most 26 kB', () => {
  const { files, bytes } = weigh('wall.js', 'wall-look.js', 'style.css')
  for (const name of ['core.js', 'endless.js', 'frame-dialog.js']) expect(files).toContain(name)
  expect(bytes).toBeLessThanOrEqual(26_000)
})

test('all scripts of the operator’s pages together weigh at most 40 kB', () => {
  expect(weigh('console.js', 'uploads.js', 'review.js', 'system.js').bytes).toBeLessThanOrEqual(40_000)
})

test('comments stay here, and the code around them is whole', () => {
  const code = String(sent.get('frame-dialog.js'))
  expect(code).not.toMatch(/^ *(\/\/|\/\*\*? (?!@type))/m)
  expect(code).toContain("from './core.js'")
  expect(String(sent.get('style.css'))).not.toContain('/*')
})
