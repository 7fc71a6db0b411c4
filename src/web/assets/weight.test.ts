import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { STYLE_SHEETS } from '../assets.ts'
import { placeholderStyles } from '../frame-card.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url))

/** A module and all that it imports, each once. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  const text = read(name).toString()
  for (const [, imported] of text.matchAll(/from '\.\/([\w-]+\.js)'/g)) withImports(imported!, found)
  return found
}

/** As it is sent: each file compressed by itself. */
const sizeOf = (body: Buffer | string) => gzipSync(body, { level: 9 }).length

function weigh(modules: readonly string[]): { files: Set<string>; bytes: number } {
  const files = new Set(modules.flatMap((name) => [...withImports(name)]))
  return { files, bytes: [...files].reduce((sum, name) => sum + sizeOf(read(name)), 0) }
}

test('scripts and styles of the wall together weigh at most 31.5 kB', () => {
  const { files, bytes } = weigh(['wall.js', 'wall-look.js'])
  for (const name of ['core.js', 'endless.js', 'frame-dialog.js']) expect(files).toContain(name)
  const style = STYLE_SHEETS['style.css'].map((part) => read(`style/${part}.css`).toString()).join('')
  expect(bytes + sizeOf(style + placeholderStyles())).toBeLessThanOrEqual(31_500)
})

test('all scripts of the operator’s pages together weigh at most 40 kB', () => {
  const { files, bytes } = weigh(['console.js', 'uploads.js', 'review.js', 'system.js'])
  expect(files).toContain('core.js')
  expect(bytes).toBeLessThanOrEqual(40_000)
})
