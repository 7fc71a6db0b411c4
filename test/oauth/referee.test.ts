import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../../src/local/processes.ts'
import { useOpened } from '../support/closing.ts'
import { useFolder } from '../support/folder.ts'
import { openSignInService, register } from './support.ts'

/** The protocol's own conformance suite for authorization servers, with a person who consents. */

const conformance = resolve(import.meta.dirname, '../../node_modules/.bin/conformance')
const service = useOpened(() => openSignInService())
const home = useFolder()

test('every check of the conformance suite passes', async () => {
  const person = await service.person('designer@example.com')
  const port = await freePort()
  const redirect = `http://127.0.0.1:${port}/callback`
  const { json } = await register(service, { client_name: 'Referee', redirect_uris: [redirect] })
  const child = spawn(
    conformance,
    [
      'authorization',
      ...['--url', service.url, '--client-id', json.client_id, '--resource', service.mcp, '--port', String(port)],
      '--verbose',
    ],
    { cwd: home, env: { HOME: home, PATH: process.env.PATH } },
  )
  let out = ''
  let asked = false
  const follow = (chunk: Buffer) => {
    out += chunk.toString()
    const address = /(http\S+\/oauth\/authorize\?\S+)/.exec(out)?.[1]
    if (!address || asked) return
    asked = true
    // The browser of the person ends at the suite's own address.
    person.decide(address).then(
      (back) => fetch(back),
      (error: unknown) => {
        out += String(error)
        child.kill()
      },
    )
  }
  child.stdout.on('data', follow)
  child.stderr.on('data', follow)
  const code = await new Promise((done) => child.on('close', done))
  expect([code, asked], out.slice(-3_000)).toEqual([0, true])
  expect(out).toContain('Total: 3 passed, 0 failed')
})
