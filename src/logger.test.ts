import { expect, test } from 'vitest'
import { createLogger, scrub } from './logger.ts'

test('a password in a URL is removed, whatever the length of its scheme, and an address without one stays', () => {
  const scheme = `${'x'.repeat(40)}postgres`
  expect(scrub(`at ${scheme}://user:pa@localhost:5432/frames`)).toBe(`at ${scheme}://…@localhost:5432/frames`)
  expect(scrub('https://frames.example/a@b')).toBe('https://frames.example/a@b')
})

test('a logged path ends after 256 characters', () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  logger.info({ path: `/${'a'.repeat(15_000)}` }, 'request refused')
  expect(JSON.parse(lines[0]!)).toMatchObject({ path: `/${'a'.repeat(255)}`, msg: 'request refused' })
})
