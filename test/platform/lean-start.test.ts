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

test('the API and npm start load no package that only some settings or the first video need', () => {
  const look = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({ load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]
      if (name) loaded.add(name)
      return next(url, context)
    } })
    await import('./src/server/main.ts')
    await import('./src/cli/start.ts')
    const builtin = process.moduleLoadList.filter((name) => name.includes('internal/deps/undici'))
    console.log(JSON.stringify([...loaded, ...builtin]))
    process.exit(0)`
  const cwd = new URL('../..', import.meta.url).pathname
  const options = { cwd, encoding: 'utf8' as const }
  const loaded = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', look], options)) as string[]
  expect(loaded).toContain('express')
  expect(loaded.filter((name) => ONLY_WITH_SOME_SETTINGS.some((other) => name.startsWith(other)))).toEqual([])
})
