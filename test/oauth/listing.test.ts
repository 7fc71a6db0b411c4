import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillAccount, writePack } from '../../src/cli/listing.ts'
import { seedVideo } from '../support/seed.ts'
import { openSignInService, type SignInService } from './support.ts'

/** `frames connect pack`: what directories of tool servers ask for. */

let service: SignInService
let folder: string
beforeAll(async () => {
  service = await openSignInService({ OPENAI_APPS_CHALLENGE: 'token-of-the-directory' })
  folder = mkdtempSync(join(tmpdir(), 'listing-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await service[Symbol.asyncDispose]()
})

const pack = (over: object = {}) =>
  writePack({ folder, publicUrl: service.url, name: 'org.example/frames', key: service.operatorKey, ...over })

test('the folder says what this server is, what its tools do to data, and how to try them', async () => {
  const image = 'ghcr.io/example/frames:0.1.0'
  expect(await pack({ image })).toEqual(['server.json', 'tools.json', 'cases.json', 'listing.md'])
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const server = read('server.json')
  expect(server).toMatchObject({
    name: 'org.example/frames',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    remotes: [{ type: 'streamable-http', url: `${service.url}/mcp` }],
    packages: [{ registryType: 'oci', identifier: image }],
  })
  expect(server.description.length).toBeLessThanOrEqual(100)
  const { tools } = read('tools.json')
  const names = tools.map(({ name }: { name: string }) => name)
  const { positive, negative } = read('cases.json')
  expect([positive.length, negative.length]).toEqual([5, 3])
  for (const { tool } of [...positive, ...negative]) expect(names).toContain(tool)
  const listing = readFileSync(join(folder, 'listing.md'), 'utf8')
  for (const name of names) expect(listing).toContain(`\`${name}\``)
})

test('what a directory would refuse stops it with what to do', async () => {
  await expect(pack({ name: 'frames' })).rejects.toThrow(/reverse DNS/)
  await expect(pack({ key: 'nonsense' })).rejects.toThrow(/key does not work/)
  await expect(pack({ publicUrl: 'http://127.0.0.1:9' })).rejects.toThrow(/connect check/)
})

test('reviewers find an account that is filled, a privacy page, and the token of the domain', async () => {
  await expect(fillAccount(service.stores.db, 'review@example.com')).rejects.toThrow(/no frames yet/)
  for (let n = 0; n < 3; n++) await seedVideo(service.stores.db)
  expect(await fillAccount(service.stores.db, 'review@example.com')).toEqual({ saves: 3, board: 'Openings' })
  expect(await fillAccount(service.stores.db, 'review@example.com')).toEqual({ saves: 3, board: 'Openings' })
  const page = await fetch(`${service.url}/privacy`)
  const text = await page.text()
  expect([page.status, text]).toEqual([200, expect.stringContaining('Until your account is deleted')])
  const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const kept = operations
    .split('## Personal data')[1]!
    .split('\n## ')[0]!
    .match(/^\| (?!What \|)/gm)!
  expect(text.match(/<tr><td>/g)).toHaveLength(kept.length)
  const token = await fetch(`${service.url}/.well-known/openai-apps-challenge`)
  expect(await token.text()).toBe('token-of-the-directory')
})

test('a library for members shows the token of the domain too', async () => {
  await using members = await openSignInService({ READS: 'members', OPENAI_APPS_CHALLENGE: 'token-of-members' })
  const token = await fetch(`${members.url}/.well-known/openai-apps-challenge`)
  expect([token.status, await token.text()]).toEqual([200, 'token-of-members'])
})
