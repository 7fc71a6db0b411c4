import { existsSync, mkdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount, findAccountByEmail } from '../../src/library/accounts/accounts.ts'
import { authenticate, createKey, listKeys } from '../../src/library/accounts/keys.ts'
import { createSignInCode, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { createBoard, shareBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { type Mailer, openMailer } from '../../src/web/mailer.ts'
import { signInUrl } from '../../src/web/sign-in.ts'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const links: string[] = []

function withPages({
  scale = 1_000,
  signup = true,
  mailer,
}: {
  scale?: number
  signup?: boolean
  mailer?: Mailer
} = {}) {
  return openTestApi({
    scale,
    env: { SIGNUP: signup ? 'on' : 'off' },
    overrides: { mailer, printLink: (line) => void links.push(line) },
  })
}

let api: TestApi
beforeAll(async () => {
  api = await withPages()
})
afterAll(() => api[Symbol.asyncDispose]())

const form = (fields: Record<string, string>, headers: Record<string, string> = {}) => ({
  method: 'POST',
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
})
async function linkFor(email: string): Promise<string> {
  const line = () => links.find((one) => one.includes(`${email}: `))
  await expect.poll(line).toBeDefined()
  return line()!.split('#')[1]!
}
async function signIn(email: string): Promise<{ cookie: string }> {
  const made = await createSignInCode(api.db, { email, signup: true })
  const answer = await api.call('/web/sign-in/confirm', form({ code: made!.code }))
  expect(answer.status).toBe(303)
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]! }
}
const formOf = (page: string) => /name="form" value="([^"]+)"/.exec(page)![1]!

describe('sign-in', () => {
  test('a mailed link signs in once, and the address becomes a free member', async () => {
    const asked = await api.call('/web/sign-in', form({ email: 'New@Example.org' }))
    expect(asked.status).toBe(200)
    const code = await linkFor('new@example.org')
    expect(await findAccountByEmail(api.db, 'new@example.org')).toBeUndefined()
    const answers = await Promise.all(Array.from({ length: 5 }, () => api.call('/web/sign-in/confirm', form({ code }))))
    expect(answers.map((answer) => answer.status).sort()).toEqual([303, 400, 400, 400, 400])
    const cookie = answers.find((answer) => answer.status === 303)!.headers.get('set-cookie')!
    expect(cookie).toMatch(
      /^session=fls_[0-9A-Za-z]{43}; Max-Age=2592000; Path=\/; Expires=.*; HttpOnly; SameSite=Lax$/,
    )
    expect(await findAccountByEmail(api.db, 'new@example.org')).toMatchObject({ plan: 'free', role: 'member' })
    expect((await api.call('/keys', { headers: { cookie: cookie.split(';')[0]! } })).text).toContain('new@example.org')
  })

  test('with sign-up off a stranger gets the same answer and no link; an old or foreign code is refused', async () => {
    await using closed = await withPages({ signup: false })
    await ensureAccount(closed.db, { email: 'known@example.org' })
    links.length = 0
    const [stranger, known] = [
      await closed.call('/web/sign-in', form({ email: 'stranger@example.org' })),
      await closed.call('/web/sign-in', form({ email: 'known@example.org' })),
    ]
    expect(stranger.status).toBe(200)
    expect(stranger.text.replaceAll('stranger', 'known')).toBe(known.text)
    await linkFor('known@example.org')
    expect(links.some((line) => line.includes('stranger'))).toBe(false)
    const made = await createSignInCode(api.db, { email: 'late@example.org', signup: true, lifetimeSec: 0 })
    for (const code of [made!.code, 'fll_nope', ''])
      expect((await api.call('/web/sign-in/confirm', form({ code }))).status).toBe(400)
    expect(await findAccountByEmail(api.db, 'late@example.org')).toBeUndefined()
  })

  test('forms of other sites and forms without the session’s token do nothing', async () => {
    const { cookie } = await signIn('forms@example.org')
    const page = await api.call('/keys', { headers: { cookie } })
    const token = formOf(page.text)
    const fields = { form: token, name: 'x', scope: 'saves:read', expires: '0' }
    const refused = [
      form(fields, { cookie, 'sec-fetch-site': 'cross-site' }),
      form(fields, { cookie, 'sec-fetch-site': 'same-site' }),
      form(fields, { cookie, origin: 'https://evil.example' }),
      form(fields, { cookie, origin: 'null' }),
      form({ ...fields, form: 'wrong' }, { cookie }),
      form({ ...fields, form: '' }, { cookie }),
    ]
    for (const attempt of refused) expect((await api.call('/web/keys', attempt)).status).toBe(403)
    const other = await signIn('other@example.org')
    expect((await api.call('/web/keys', form(fields, other))).status).toBe(403)
    expect((await api.call('/web/keys', form(fields))).headers.get('location')).toBe('/sign-in')
    const account = (await findAccountByEmail(api.db, 'forms@example.org'))!
    expect(await listKeys(api.db, account.id)).toEqual([])
    expect((await api.call('/web/keys', form(fields, { cookie, 'sec-fetch-site': 'same-origin' }))).status).toBe(201)
    for (const path of ['/web/sign-in', '/web/sign-in/confirm'])
      expect(
        (await api.call(path, form({ email: 'a@b.c', code: 'x' }, { 'sec-fetch-site': 'cross-site' }))).status,
      ).toBe(403)
    // A session is no credential for the API.
    expect((await api.call('/api/favourites', { headers: { cookie } })).status).toBe(401)
  })

  test('signing out ends this session, signing out everywhere ends all and the links under way', async () => {
    const [one, two] = [await signIn('many@example.org'), await signIn('many@example.org')]
    const page = (cookie: string) => api.call('/keys', { headers: { cookie } })
    await api.call('/web/sign-out', form({ form: formOf((await page(one.cookie)).text) }, one))
    expect((await page(one.cookie)).status).toBe(303)
    const three = await signIn('many@example.org')
    const pending = await createSignInCode(api.db, { email: 'many@example.org', signup: true })
    await api.call('/web/sign-out-everywhere', form({ form: formOf((await page(two.cookie)).text) }, two))
    for (const { cookie } of [two, three]) expect((await page(cookie)).status).toBe(303)
    expect(await redeemSignInCode(api.db, { code: pending!.code, signup: true })).toBeUndefined()
  })

  test('deleting the account needs its address, and ends everything', async () => {
    const { cookie } = await signIn('leaving@example.org')
    const account = (await findAccountByEmail(api.db, 'leaving@example.org'))!
    const { key } = await createKey(api.db, { accountId: account.id, name: 'k' })
    const token = formOf((await api.call('/keys', { headers: { cookie } })).text)
    expect(
      (await api.call('/web/account/delete', form({ form: token, email: 'wrong@example.org' }, { cookie }))).status,
    ).toBe(400)
    expect(await authenticate(api.db, key)).toBeDefined()
    expect(
      (await api.call('/web/account/delete', form({ form: token, email: 'Leaving@example.org' }, { cookie }))).status,
    ).toBe(200)
    expect(await findAccountByEmail(api.db, 'leaving@example.org')).toBeUndefined()
    expect(await authenticate(api.db, key)).toBeUndefined()
    expect((await api.call('/keys', { headers: { cookie } })).headers.get('location')).toBe('/sign-in')
  })

  test('links are not sent without end', async () => {
    await using small = await withPages({ scale: 0.5 })
    const statuses = []
    for (let n = 0; n < 4; n++)
      statuses.push(
        (
          await small.call(
            '/web/sign-in',
            form({ email: 'flood@example.org' }, { 'x-forwarded-for': `198.51.100.${n}` }),
          )
        ).status,
      )
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  test('mail goes out through SMTP with the link in it', async () => {
    const received: string[] = []
    const smtp = createServer((socket: Socket) => {
      let inData = false
      let message = ''
      socket.write('220 test ESMTP\r\n')
      socket.on('data', (chunk) => {
        for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
          if (inData) {
            if (line === '.') {
              inData = false
              received.push(message)
              socket.write('250 taken\r\n')
            } else message += `${line}\n`
          } else if (/^EHLO/i.test(line)) socket.write('250-test\r\n250 8BITMIME\r\n')
          else if (/^DATA/i.test(line)) {
            inData = true
            socket.write('354 go on\r\n')
          } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n')
          else socket.write('250 ok\r\n')
        }
      })
    })
    await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve))
    const mailer = openMailer({
      smtpUrl: `smtp://127.0.0.1:${(smtp.address() as AddressInfo).port}`,
      publicUrl: 'http://frames.example',
    })
    await using mailing = await withPages({ mailer })
    const before = links.length
    await mailing.call('/web/sign-in', form({ email: 'post@example.org' }))
    await expect.poll(() => received.length).toBeGreaterThan(0)
    const text = received[0]!.replace(/=\n/g, '')
    expect(text).toMatch(/^To: post@example\.org$/m)
    expect(text).toMatch(/^From: Frame Library <no-reply@frames\.example>$/m)
    const code = /#(fll_[0-9A-Za-z]{32})/.exec(text)![1]!
    expect((await mailing.call('/web/sign-in/confirm', form({ code }))).status).toBe(303)
    expect(links.length).toBe(before)
    smtp.close()
  })

  test('pages run no inline code and are never stored; assets may be kept for ever', async () => {
    const page = await api.call('/sign-in')
    expect(page.headers.get('content-security-policy')).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    )
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|<style| style=| on\w+=/)
    const asset = /href="(\/assets\/style-[0-9a-f]{8}\.css)"/.exec(page.text)![1]!
    expect((await api.call(asset)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await api.call('/assets/..%2flayout.ts')).status).toBe(404)
  })
})

const CHROMIUM = '/usr/bin/chromium'
const shots = process.env.SCREENSHOT_DIR

describe.skipIf(!existsSync(CHROMIUM))(
  `in a browser${existsSync(CHROMIUM) ? '' : ` (skipped: no ${CHROMIUM} here)`}`,
  () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: CHROMIUM,
        args: [
          '--no-sandbox',
          '--disable-gpu',
          '--disable-background-networking',
          '--disable-component-update',
          '--disable-sync',
          '--no-first-run',
        ],
      })
    })
    afterAll(() => browser?.close())

    async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
      const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options })
      const page = await context.newPage()
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => {
        if (/Content Security Policy|Refused/i.test(message.text())) faults.push(message.text())
      })
      return page
    }
    const faults: string[] = []
    async function picture(page: Page, name: string): Promise<void> {
      if (!shots) return
      mkdirSync(shots, { recursive: true })
      await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true })
    }
    async function fits(page: Page): Promise<void> {
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
      ).toBeLessThanOrEqual(0)
    }

    test('from the mailed link to a working key, a rotation and a revocation, by keyboard and eye', async () => {
      await ensureAccount(api.db, { email: 'ada@example.org', plan: 'pro' })
      const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] })
      await page.goto(`${api.url}/keys`)
      expect(new URL(page.url()).pathname).toBe('/sign-in')
      await picture(page, 'sign-in')
      await page.getByLabel('E-mail address').fill('ada@example.org')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Look at the terminal' }).waitFor()
      await page.goto(signInUrl(api.url, await linkFor('ada@example.org')))
      expect(page.url()).not.toContain('#')
      await picture(page, 'confirm')
      // The button has the focus: Enter is enough.
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
      await picture(page, 'keys-empty')

      await page.getByLabel('Name', { exact: true }).fill('Claude <b>on</b> my laptop')
      await page.getByLabel(/boards:write/).uncheck()
      await page.getByLabel('Expires').selectOption({ label: 'In 90 days' })
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('heading', { name: /is ready/ }).waitFor()
      // By a script of the page, after it can be seen.
      await page.locator('#made:focus').waitFor()
      const key = (await page.locator('#new-key').textContent())!
      // It says so for a while only.
      const copied = page.evaluate(
        () =>
          new Promise<void>((resolve) => {
            const look = () =>
              [...document.querySelectorAll('.copy')].some((one) => one.textContent?.startsWith('Copied')) && resolve()
            new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true })
          }),
      )
      await page.getByRole('button', { name: 'Copy Key' }).click()
      await copied
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)
      expect(await page.locator('#curl').textContent()).toBe(
        `curl -s ${api.url}/api/favourites -H 'Authorization: Bearer ${key}'`,
      )
      await page.locator('summary').getByText('VS Code').click()
      expect(JSON.parse((await page.locator('#vs-code').textContent())!)).toMatchObject({
        servers: { 'frame-library': { url: `${api.url}/api/mcp`, headers: { Authorization: `Bearer ${key}` } } },
      })
      await picture(page, 'key-made')
      expect((await api.call('/api/favourites', { key })).status).toBe(200)
      expect((await api.call('/api/boards', { key, method: 'POST', body: { name: 'x' } })).status).toBe(403)

      // Shown once: a reload shows the list only, and makes no second key.
      await page.reload()
      expect(await page.content()).not.toContain(key)
      expect(await page.locator('.keys > li').count()).toBe(1)
      await page.getByText('2 of 6,000,000 points').or(page.getByText('6 of 6,000,000 points')).waitFor()
      expect(await page.getByRole('heading', { level: 3 }).textContent()).toBe('Claude <b>on</b> my laptop')

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
      await picture(page, 'keys-revoked')
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await page.context().close()
      expect(faults).toEqual([])
    })

    test('faults in a form are told at the field, and what was typed stays', async () => {
      const page = await open()
      const { cookie } = await signIn('bea@example.org')
      const [name, value] = cookie.split('=') as [string, string]
      await page.context().addCookies([{ name, value, url: api.url }])
      await page.goto(`${api.url}/keys`)
      await page.getByLabel('Name', { exact: true }).fill('   ')
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('alert').getByText('Give the key a name').waitFor()
      await page.locator('#name:focus').waitFor()
      await page.getByLabel('Name', { exact: true }).fill('kept')
      for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('alert').getByText('at least one scope').waitFor()
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('kept')
      await page.context().close()
    })

    test('narrow, dark and shared pages hold their shape', async () => {
      const { account } = await ensureAccount(api.db, {
        email: 'a.very.long.address.indeed@subdomain.example.org',
        plan: 'pro',
        role: 'operator',
      })
      for (const [n, name] of ['Claude', 'A key with quite a long name that has to wrap somewhere', 'CI'].entries())
        await createKey(api.db, {
          accountId: account.id,
          name,
          expiresAt: n === 1 ? new Date(Date.now() + 86_400_000) : undefined,
        })
      const { cookie } = await signIn(account.email)
      const [name, value] = cookie.split('=') as [string, string]
      const { frameIds } = await seedFrames(api.db, { count: 5 })
      const board = await createBoard(api.db, { accountId: account.id, name: 'Openings that work' })
      await pinFrames(api.db, { accountId: account.id, boardId: board.id, frameIds, note: 'hold the logo' })
      const { token } = await shareBoard(api.db, { accountId: account.id, boardId: board.id })
      for (const [label, options] of [
        ['390-light', { viewport: { width: 390, height: 844 } }],
        ['390-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
        ['wide-dark', { colorScheme: 'dark' }],
        ['wide-light', {}],
      ] as const) {
        const page = await open(options)
        await page.context().addCookies([{ name, value, url: api.url }])
        await page.goto(`${api.url}/keys`)
        await fits(page)
        await picture(page, `keys-${label}`)
        await page.getByLabel('Name', { exact: true }).fill('New')
        await page.getByRole('button', { name: 'Create key' }).click()
        await page.getByRole('heading', { name: /is ready/ }).waitFor()
        for (const details of await page.locator('.made details').all()) await details.locator('summary').click()
        await fits(page)
        await picture(page, `made-${label}`)
        await page.goto(`${api.url}/shared/${token}`)
        await fits(page)
        expect(await page.locator('.frames > li').count()).toBe(5)
        await page.getByText('A board of 5 frames').waitFor()
        await picture(page, `shared-${label}`)
        await page.context().close()
      }
      expect(faults).toEqual([])
    })
  },
)

test('a shared page is gone when its link is', async () => {
  const { account } = await seedAccount(api.db)
  const board = await createBoard(api.db, { accountId: account.id, name: '<script>alert(1)</script>' })
  const { token } = await shareBoard(api.db, { accountId: account.id, boardId: board.id })
  const page = await api.call(`/shared/${token}`)
  expect(page.status).toBe(200)
  expect(page.text).not.toContain('<script>alert')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('x-robots-tag')).toBe('noindex')
  await shareBoard(api.db, { accountId: account.id, boardId: board.id })
  expect((await api.call(`/shared/${token}`)).status).toBe(404)
})
