import { DrizzleQueryError } from 'drizzle-orm'
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

test('a failed query is logged without its values', () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const cause = Object.assign(new Error('duplicate key'), { detail: 'Key (email)=(ann@example.org) already exists.' })
  const failed = new DrizzleQueryError('insert into accounts values ($1, $2)', ['ann@example.org', 'Ann'], cause)
  logger.error({ err: failed }, 'request failed')
  logger.error({ err: new Error('page failed', { cause: failed }) }, 'request failed')
  logger.error({ err: cause }, 'request failed')
  logger.error({ err: new AggregateError([new Error('one', { cause: failed }), failed], 'not all') }, 'sweep failed')
  expect(JSON.parse(lines[0]!).err.message).toMatch(/^Failed query: insert into accounts values \(\$1, \$2\)/)
  expect(JSON.parse(lines[0]!).err.stack).toContain('logger.test.ts')
  for (const line of lines) expect(line).not.toMatch(/\bann\b/i)
})
