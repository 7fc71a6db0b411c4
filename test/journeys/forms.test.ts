import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createBoard, listBoards } from '../../src/library/collections/boards.ts'
import { pinFrame } from '../../src/library/collections/pins.ts'
import { addTechnique } from '../../src/library/techniques/techniques.ts'
import { useLaunch } from '../library/support.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'

const OP = 'op@example.org'
const OFFLINE = 'You are offline. Not saved.'

describe.skipIf(noChromium)(`forms of pages${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const { service, frameIds } = useLaunch()
  const browser = useBrowser(service)
  let page: Page
  let accountId: string
  beforeAll(async () => {
    page = await browser.open()
    const { db } = service.stores
    accountId = (await ensureAccount(db, { email: OP, role: 'operator', plan: 'pro' })).account.id
    for (let n = 0; n < 30; n++) await ensureAccount(db, { email: `member${n}@example.org`, plan: 'free' })
    await signIn(page, db, service.config.publicUrl, OP)
  })
  // What failed offline leaves the next one online.
  beforeEach(() => page.context().setOffline(false))

  const url = (path: string) => service.config.publicUrl + path
  const path = () => new URL(page.url()).pathname
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

  test('a duplicate technique is told in its form, and what was typed stays', async () => {
    const known = { slug: 'cursor-zoom', name: 'Cursor zoom', description: 'The picture grows.', aliases: [] }
    await addTechnique(service.stores.db, known)
    await page.goto(url('/operator/techniques'))
    await page.getByText('Add a technique').click()
    const form = page.locator('form[action="/web/techniques"]')
    await form.getByLabel('Name', { exact: true }).fill('Cursor zoom')
    await form.getByLabel('What it is').fill('The picture grows towards the pointer.')
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByRole('alert').waitFor()
    expect(path()).toBe('/operator/techniques')
    expect(await form.getByLabel('What it is').inputValue()).toBe('The picture grows towards the pointer.')
    await expectAccessible(page)
  })

  test('offline a form keeps what was typed, and Retry sends it', async () => {
    await page.goto(url('/boards'))
    await page.locator('summary', { hasText: 'New board' }).click()
    await page.locator('#name:focus').fill('Offline first')
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').getByText(OFFLINE).waitFor()
    expect(await page.getByLabel('New board').inputValue()).toBe('Offline first')
    await expectAccessible(page)
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('heading', { level: 1, name: 'Offline first' }).waitFor()
    expect((await listBoards(service.stores.db, accountId)).boards.map(({ name }) => name)).toEqual(['Offline first'])
  })

  test('offline a button without fields is told at the foot of the page', async () => {
    const { id: boardId } = await createBoard(service.stores.db, { accountId, name: 'Openings' })
    await page.goto(url(`/boards/${boardId}`))
    await page.getByText('Share', { exact: true }).click()
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Make a link' }).click()
    await page.locator('#toast').getByText(OFFLINE).waitFor()
    await page.context().setOffline(false)
    await page.locator('#toast').getByRole('button', { name: 'Retry' }).click()
    await page.locator('#share-link').waitFor()
    // Another press of Enter copies the new link: it does not end it.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Copy link')
  })

  test('an ended session keeps the note; signed in beside the page, it goes on', async () => {
    const { id: boardId } = await createBoard(service.stores.db, { accountId, name: 'Notes' })
    await pinFrame(service.stores.db, { accountId, boardId, frameId: frameIds[0]! })
    await page.goto(url(`/boards/${boardId}?note=${frameIds[0]}`))
    await page.getByLabel('Note').fill('A whole afternoon of thought.')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Keep the note' }).click()
    await page.getByRole('alert').getByText('You are no longer signed in. Not saved.').waitFor()
    expect(await page.getByRole('alert').getByRole('link', { name: 'Sign in' }).getAttribute('target')).toBe('_blank')
    const beside = await page.context().newPage()
    await signIn(beside, service.stores.db, service.config.publicUrl, OP)
    await beside.close()
    expect(await page.getByLabel('Note').inputValue()).toBe('A whole afternoon of thought.')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.locator(`#pin-${frameIds[0]} .note`).getByText('A whole afternoon of thought.').waitFor()
  })

  test('a key with a fault stays to be mended, a new key is shown here, and Back leads out of it', async () => {
    await page.goto(url('/boards'))
    await page.goto(url('/keys'))
    await page.getByLabel('Name', { exact: true }).fill('Laptop')
    const chosen = page.locator('input[name="scope"]:checked')
    while ((await chosen.count()) > 0) await chosen.first().uncheck()
    await page.getByRole('button', { name: /^Create/ }).click()
    await page.getByText('Choose at least one thing that it may do.').waitFor()
    expect([path(), await page.getByLabel('Name', { exact: true }).inputValue()]).toEqual(['/keys', 'Laptop'])
    await page.locator('input[name="scope"]').first().check()
    await page.getByRole('button', { name: /^Create/ }).click()
    await page.getByRole('heading', { name: '“Laptop” is ready' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('made')
    expect(await page.locator('#made').getByRole('button', { name: 'Copy Key' }).count()).toBe(1)
    // A link within the page leaves the key where it is.
    await page.locator('.skip').press('Enter')
    await page.goBack()
    expect(await page.locator('#made').count()).toBe(1)
    await page.getByLabel('Name', { exact: true }).fill('Desk')
    await page.getByRole('button', { name: /^Create/ }).click()
    await page.getByRole('heading', { name: '“Desk” is ready' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Your keys' }).waitFor()
    expect(await page.locator('#made').count()).toBe(0)
  })

  test('after an action the page and the focus are where they were, and what was done is told', async () => {
    await page.goto(url('/operator/accounts'))
    const who = 'member3@example.org'
    const button = page.getByRole('button', { name: `Save the plan of ${who}` })
    const plan = page.getByLabel(`Plan of ${who}`, { exact: true })
    await plan.selectOption('pro')
    await button.focus()
    const top = await page.evaluate(() => scrollY)
    expect(top).toBeGreaterThan(0)
    await Promise.all([page.waitForEvent('load'), button.press('Enter')])
    await expect.poll(focused).toBe(`Save the plan of ${who}`)
    expect(await page.evaluate(() => scrollY)).toBe(top)
    expect(await plan.inputValue()).toBe('pro')
    await page.locator('#live').getByText('Done.').waitFor()
  })

  test('offline a frame does not open: the wall stays and says so', async () => {
    await page.goto(url('/'), { waitUntil: 'networkidle' })
    await page.context().setOffline(true)
    // Look-alikes stand behind the first of them.
    await page.locator('#wall .card-link:visible').first().click()
    await page.locator('body > #toast').getByText('You are offline.').waitFor()
    expect(path()).toBe('/')
    await page.context().setOffline(false)
    await page.locator('#toast').getByRole('button', { name: 'Retry' }).click()
    await page.locator('dialog.over article').waitFor()
  })
})
