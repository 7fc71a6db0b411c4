import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** What each of these packages holds in memory is paid by every idle process that imports it. */
const ONLY_WITH_SOME_SETTINGS = [
  'undici',
  'NativeModule',
  '@aws-sdk',
  'openai',
  'nodemailer',
  'tesseract.js',
  '@vladmandic',
  'sharp',
]

test.each([
  ['the API with npm start', 'express', ['server/main', 'cli/start']],
  ['a worker', 'bullmq', ['workers/main']],
])('%s loads no package that only some settings or the first video need', (_, needed, files) => {
  const look = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({ load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]
      if (name) loaded.add(name)
      return next(url, context)
    } })
    for (const file of ${JSON.stringify(files)}) await import('./src/' + file + '.ts')
    const builtin = process.moduleLoadList.filter((name) => name.includes('internal/deps/undici'))
    console.log(JSON.stringify([...loaded, ...builtin]))
    process.exit(0)`
  const cwd = new URL('../..', import.meta.url).pathname
  const options = { cwd, encoding: 'utf8' as const }
  const loaded = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', look], options)) as string[]
  expect(loaded).toContain(needed)
  expect(loaded.filter((name) => ONLY_WITH_SOME_SETTINGS.some((other) => name.startsWith(other)))).toEqual([])
})

test('once the code is compiled, neither the API nor the worker of a first start loads what strips types', () => {
  const cwd = new URL('../..', import.meta.url).pathname
  const options = {
    cwd,
    encoding: 'utf8' as const,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: `${cwd}node_modules/.cache/frames` },
  }
  // As `npm start` does before it starts.
  execFileSync(process.execPath, ['scripts/compile.mjs'], options)
  const look = `
    const { startQuickly } = await import('./src/quick-start.ts')
    startQuickly()
    for (const file of ['cli/program', 'cli/start', 'server/main', 'workers/main'])
      await import('./src/' + file + '.ts')
    process.stdout.write(process.moduleLoadList.join(), () => process.exit(0))`
  const loaded = execFileSync(process.execPath, ['--input-type=module', '-e', look], options)
  expect(loaded).toContain('NativeModule http')
  expect(loaded).not.toContain('internal/deps/amaro')
})
