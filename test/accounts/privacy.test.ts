import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openService } from '../support/service.ts'

test('the privacy page tells what is kept and for how long, as the manual of operators does', async () => {
  await using service = await openService({ worker: false })
  const page = await fetch(`${service.url}/privacy`)
  const text = await page.text()
  expect([page.status, text]).toEqual([200, expect.stringContaining('Until your account is deleted')])
  const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const kept = operations
    .split('## Personal data')[1]!
    .split('\n## ')[0]!
    .match(/^\| (?!What \|)/gm)!
  expect(text.match(/<tr><td>/g)).toHaveLength(kept.length)
})
