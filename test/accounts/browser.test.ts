import { describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { signInUrl } from '../../src/web/sign-in.ts'
import { noChromium, useBrowser } from '../support/browser.ts'
import { usePageVisitor } from './page-visitor.ts'

const visitor = usePageVisitor()
const { api } = visitor

describe.skipIf(noChromium)(`in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const browser = useBrowser(api)

  test('from the mailed link to a working key, a rotation and a revocation, by keyboard and eye', async () => {
    await ensureAccount(api.db, { email: 'ada@example.org', plan: 'pro' })
    const page = await browser.open({ permissions: ['clipboard-read', 'clipboard-write'] })
    await page.goto(`${api.url}/keys`)
    expect(new URL(page.url()).pathname).toBe('/sign-in')
    await page.getByLabel('E-mail address').fill('ada@example.org')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Look at the terminal' }).waitFor()
    await page.goto(signInUrl(api.url, await visitor.linkFor('ada@example.org')))
    expect(page.url()).not.toContain('#')
    // The button has the focus: Enter is enough.
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()

    await page.getByLabel('Name', { exact: true }).fill('Claude <b>on</b> my laptop')
    await page.getByLabel('Create, fill, share and delete boards').uncheck()
    await page.getByLabel('Expires').selectOption({ label: 'In 90 days' })
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('heading', { name: /is ready/ }).waitFor()
    // By a script of the page, after it can be seen.
    await page.locator('#made:focus').waitFor()
    const key = (await page.locator('#new-key').textContent())!
    await page.getByRole('button', { name: 'Copy Key' }).click()
    await page.locator('#toast').getByText('Key copied.').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)
    expect(await page.locator('#curl').textContent()).toBe(
      `curl -s ${api.url}/api/favourites -H 'Authorization: Bearer ${key}'`,
    )
    await page.locator('summary').getByText('VS Code').click()
    expect(JSON.parse((await page.locator('#vs-code').textContent())!)).toMatchObject({
      servers: { 'frame-library': { url: `${api.url}/api/mcp`, headers: { Authorization: `Bearer ${key}` } } },
    })
    // All that it tells of the key fits a phone.
    await page.setViewportSize({ width: 390, height: 844 })
    await page.locator('.made details').evaluateAll((all) => {
      for (const one of all) one.toggleAttribute('open', true)
    })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await page.setViewportSize({ width: 1280, height: 900 })
    expect((await api.call('/api/favourites', { key })).status).toBe(200)
    expect((await api.call('/api/boards', { key, method: 'POST', body: { name: 'x' } })).status).toBe(403)

    // Shown once: a reload shows the list only, and makes no second key.
    await page.reload()
    expect(await page.content()).not.toContain(key)
    expect(await page.locator('.keys > li').count()).toBe(1)
    // Two looks at the page, the form, and the two calls with the key draw on the account's one budget.
    await page.getByText('14 of 6,000,000 points').waitFor()
    expect(await page.getByRole('heading', { level: 3 }).textContent()).toBe('Claude <b>on</b> my laptop')

    await page.getByLabel('Your name on boards').fill('Ada <i>L</i>')
    await page.getByRole('button', { name: 'Save the name' }).click()
    await page.getByRole('status').getByText('Your name is saved.').waitFor()
    expect(await page.getByLabel('Your name on boards').inputValue()).toBe('Ada <i>L</i>')

    await page.locator('.actions summary').getByText('Rotate').click()
    await page.getByLabel('The old key stops').selectOption({ label: 'at once' })
    await page.getByRole('button', { name: 'Create its replacement' }).click()
    await page.getByRole('heading', { name: /is ready/ }).waitFor()
    // By then the address no longer makes a reload send the form again.
    await page.locator('#made:focus').waitFor()
    const successor = (await page.locator('#new-key').textContent())!
    expect((await api.call('/api/favourites', { key })).status).toBe(401)
    expect((await api.call('/api/favourites', { key: successor })).status).toBe(200)
    await page.reload()
    await page.locator('.actions summary').getByText('Revoke').click()
    await page.getByRole('button', { name: 'Revoke now' }).click()
    await page.getByRole('status').getByText('The key is revoked').waitFor()
    expect((await api.call('/api/favourites', { key: successor })).status).toBe(401)
    await page.getByText('Revoked and expired (2)').waitFor()
    await page.locator('summary').getByText('Account', { exact: true }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})
