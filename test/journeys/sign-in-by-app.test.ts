import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { askForAccess, callTool, openSignInService, post, register } from '../oauth/support.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'
import { useOpened } from '../support/closing.ts'
import { listenOn } from '../support/listening.ts'

/** An app asks a designer in a real browser, whose content security policy follows the redirects of the form. */

describe.skipIf(noChromium)('in a browser', () => {
  const service = useOpened(() => openSignInService())
  const browser = useBrowser(service)
  beforeAll(async () => {
    await ensureAccount(service.stores.db, { email: 'designer@example.com', plan: 'pro' })
  })

  test('a designer lets an app in, sees it on the keys page, and ends it', async () => {
    await using app = await listenOn(createServer((_request, response) => response.end('Back in the app.')))
    const redirectUri = `http://localhost:${app.port}/callback`
    const { json } = await register(service, { client_name: 'Studio <b>assistant</b>', redirect_uris: [redirectUri] })
    const asked = askForAccess(service, { clientId: json.client_id, redirectUri })
    const page = await browser.open()
    await page.goto(asked.address)
    expect(new URL(page.url()).pathname).toBe('/sign-in')
    await signIn(page, service.stores.db, service.url, 'designer@example.com')
    await page.goto(asked.address)
    await expect.poll(() => page.locator('h1').textContent()).toBe('Allow “Studio <b>assistant</b>”?')
    expect(await page.locator('main').textContent()).toContain('Any program there can pretend to be it')
    await expectAccessible(page)
    for (const box of await page.locator('input[name=scope]').all()) await box.uncheck()
    await page.getByRole('button', { name: 'Allow' }).click()
    await expect.poll(() => page.getByRole('alert').textContent()).toBe('Choose at least one, or refuse.')
    await expectAccessible(page)
    await page.getByLabel('see your saved frames').uncheck()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Back in the app.').waitFor()
    const back = new URL(page.url())
    const tokens = await post(`${service.url}/oauth/token`, {
      grant_type: 'authorization_code',
      client_id: json.client_id,
      redirect_uri: redirectUri,
      code: back.searchParams.get('code')!,
      code_verifier: asked.verifier,
    })
    const token: string = tokens.json.access_token
    expect((await callTool(service, token)).json.result.isError).toBeFalsy()
    expect((await callTool(service, token, 'list_saves')).status).toBe(403)

    await page.goto(`${service.url}/connect`)
    await page.locator('summary', { hasText: 'claude.ai' }).click()
    expect(await page.locator('#claude-ai').textContent()).toBe(service.mcp)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'build-a-moodboard.zip' }).click(),
    ])
    const zip = await readFile(await file.path())
    const skill = await readFile(new URL('../../skills/build-a-moodboard/SKILL.md', import.meta.url))
    // Nothing in it is compressed.
    expect([zip.includes('build-a-moodboard/SKILL.md'), zip.includes(skill)]).toEqual([true, true])
    expect((await fetch(`${service.url}/connect/skills/..%2f..%2fpackage.json`)).status).toBe(404)
    await expectAccessible(page)

    await page.goto(`${service.url}/keys`)
    const card = page.getByRole('listitem', { name: 'Studio <b>assistant</b>' })
    expect(await card.textContent()).toContain(new URL(redirectUri).host)
    await expectAccessible(page)
    await card.getByText('Disconnect', { exact: false }).first().click()
    await card.getByRole('button', { name: 'Disconnect now' }).click()
    await expect.poll(() => page.getByRole('status').textContent()).toContain('The app is disconnected')
    expect((await callTool(service, token)).status).toBe(401)
  })
})
