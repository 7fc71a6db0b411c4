import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { listSaves, saveFrames, unsaveFrames } from '../../src/library/collections/saves.ts'
import { useLaunch } from '../library/support.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'

const ADA = 'ada@example.org'

describe.skipIf(noChromium)(`what interrupts a person${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const { service, frameIds } = useLaunch()
  const browser = useBrowser(service)
  let page: Page
  let accountId: string
  beforeAll(async () => {
    page = await browser.open()
    accountId = (await ensureAccount(service.stores.db, { email: ADA, plan: 'pro' })).account.id
    await signIn(page, service.stores.db, service.config.publicUrl, ADA)
  })

  // What failed offline leaves the next one online.
  beforeEach(() => page.context().setOffline(false))

  const url = (path: string) => service.config.publicUrl + path
  const saved = async () => (await listSaves(service.stores.db, accountId)).saves.map(({ frameId }) => frameId)
  const card = (n: number) => page.locator(`#f-${frameIds[n]}`)
  const savedCards = () => page.locator('#wall [data-saved]')
  const pickedCards = () => page.locator('#wall [data-picked]')
  async function openWall() {
    // It has asked who is there, so that a key that comes now finds everything but the connection.
    await page.goto(url('/'), { waitUntil: 'networkidle' })
    await card(0).waitFor()
  }

  /** On the wall, as if the connection was lost just before a key. */
  async function pressOffline(n: number, key: string) {
    await openWall()
    await card(n).focus()
    await page.context().setOffline(true)
    await page.keyboard.press(key)
  }

  test('offline: a save is taken back, says so, and is tried again', async () => {
    await pressOffline(0, 's')
    await page.getByText('You are offline. Not saved.').first().waitFor()
    expect(await savedCards().count()).toBe(0)
    await expectAccessible(page)
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Frame saved.').first().waitFor()
    expect(await savedCards().count()).toBe(1)
    expect(await card(0).getAttribute('aria-description')).toBe('Saved')
    expect(await saved()).toEqual([frameIds[0]])
  })

  test('two presses in a row leave what was pressed last', async () => {
    await openWall()
    const { length } = await saved()
    await card(5).focus()
    await page.keyboard.press('s')
    await page.keyboard.press('s')
    await page.getByText('removed from your saves').first().waitFor()
    expect(await saved()).not.toContain(frameIds[5])
    expect(await savedCards().count()).toBe(length)

    // Both fail: the card shows what the library holds, not what the first press had shown.
    await openWall()
    await expect.poll(() => savedCards().count()).toBe(length)
    await page.evaluate(() => {
      const told: string[] = []
      Object.assign(window, { told })
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const node of addedNodes) if (node instanceof HTMLElement && node.id === 'toast') told.push(node.id)
      }).observe(document.body, { childList: true })
    })
    await card(5).focus()
    await page.context().setOffline(true)
    await page.keyboard.press('s')
    await page.keyboard.press('s')
    await page.waitForFunction(() => (window as unknown as { told: string[] }).told.length === 2)
    expect(await savedCards().count()).toBe(length)
    await page.context().setOffline(false)
  })

  test('offline: a search says that the wall is the one of before, and Retry finds', async () => {
    await openWall()
    await page.context().setOffline(true)
    await page.locator('#q').fill('ui')
    await page.getByText('You are offline. This page was not updated.').first().waitFor()
    expect(new URL(page.url()).search).toBe('')
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.waitForURL(/q=ui/)
  })

  test('offline: boards cannot be asked for, and the page says so', async () => {
    await pressOffline(1, 'b')
    await page.getByText('You are offline.').first().waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByLabel('New board').fill('Openings')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).search))
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('On “Openings”.').first().waitFor()
    expect(asked.filter((search) => search.includes('name='))).toEqual([])
  })

  test('an ended session: sign in beside the page, and go on here', async () => {
    await openWall()
    await page.context().clearCookies()
    await card(2).focus()
    await page.keyboard.press('s')
    await page.getByText('You are no longer signed in. Not saved.').first().waitFor()
    expect(await page.getByRole('link', { name: 'Sign in', exact: true }).last().getAttribute('target')).toBe('_blank')
    const beside = await page.context().newPage()
    await signIn(beside, service.stores.db, service.config.publicUrl, ADA)
    await beside.close()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Frame saved.').first().waitFor()
    expect(await saved()).toContain(frameIds[2])
  })

  test('selecting is a mode: a click adds, Shift takes a range, Escape ends it, pinning clears', async () => {
    await openWall()
    const order = await page.locator('#wall .card-link').evaluateAll((all) => all.map(({ id }) => id.slice(2)))
    const at = (n: number) => page.locator(`#f-${order[n]}`)
    await at(0).focus()
    await page.keyboard.press('x')
    await at(1).click()
    expect(await pickedCards().count()).toBe(2)
    expect(await at(1).getAttribute('aria-description')).toMatch(/^Selected/)
    await at(4).click({ modifiers: ['Shift'] })
    expect(await pickedCards().count()).toBe(5)
    await at(1).click()
    expect(await pickedCards().count()).toBe(4)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    expect(await pickedCards().count()).toBe(0)
    await at(2).hover()
    await page.locator('#wall .tick input').click()
    await expect.poll(() => pickedCards().count()).toBe(1)
    // A tick takes no letters.
    await page.keyboard.press('b')
    await page.getByLabel('New board').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('#selection').getByRole('button', { name: 'All' }).click()
    expect(await pickedCards().count()).toBe(order.length)
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    expect(await focused()).toBe('All')
    await page.keyboard.press('Escape')
    expect(await pickedCards().count()).toBe(0)
    await at(3).focus()
    await page.keyboard.press('x')
    await page.keyboard.press('b')
    await page.getByRole('button', { name: 'Openings' }).click()
    await page.getByText('On “Openings”.').first().waitFor()
    expect(await pickedCards().count()).toBe(0)
    await at(3).click()
    await page.locator('dialog.over').waitFor()
  })

  test('an open frame stays behind a dialog, offline, and where Escape is pressed twice', async () => {
    await page.goto(url('/privacy'))
    await openWall()
    await card(0).click()
    const dialog = page.locator('dialog.over')
    await dialog.getByText(/^\d+ of \d+$/).waitFor()
    const shown = () => dialog.locator('article').getAttribute('data-id')
    await page.keyboard.press('b')
    await page.locator('#choices button:focus').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Escape')
    await page.context().setOffline(true)
    await dialog
      .getByRole('button', { name: /^(Next|Previous) frame$/, disabled: false })
      .first()
      .click()
    // Screen readers hear it: what is outside of the dialog is inert.
    await dialog.locator('#live').getByText('You are offline. This page was not updated.').waitFor()
    expect([await shown(), new URL(page.url()).pathname]).toEqual([frameIds[0], `/frames/${frameIds[0]}`])
    await page.context().setOffline(false)
    for (let n = 0; n < 2; n++) await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await card(0).waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
  })

  test('a pin is told at once, and taken back with its reason where it is refused', async () => {
    await openWall()
    const held = Promise.withResolvers<void>()
    await page.route('**/web/pins', async (route) => {
      await held.promise
      if (!route.request().postData()?.includes('name=Full')) await route.continue()
      else await route.fulfill({ status: 409, json: { code: 'conflict', message: 'The board is full.' } })
    })
    await card(3).focus()
    await page.keyboard.press('x')
    await page.keyboard.press('b')
    await page.getByLabel('New board').fill('Full')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.locator('#toast').getByText('On “Full”.').waitFor()
    expect(await pickedCards().count()).toBe(0)
    held.resolve()
    await page.locator('#toast').getByText('The board is full.').waitFor()
    expect(await pickedCards().count()).toBe(1)
    await page.unroute('**/web/pins')
  })

  test('a long press selects on a touch screen, a tap adds, and a press saves both', async () => {
    const phone = await browser.open({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } })
    await signIn(phone, service.stores.db, service.config.publicUrl, ADA)
    await phone.goto(url('/'))
    const links = phone.locator('#wall .card-link')
    await links.first().waitFor()
    // At rest pictures alone.
    expect(await phone.locator('#wall li > button:not(.alike)').count()).toBe(0)
    const box = (await links.first().boundingBox())!
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    const touch = await phone.context().newCDPSession(phone)
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
    await phone.locator('#wall [data-picked]').waitFor()
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    await links.nth(1).tap()
    // The click of a tap may come after the tap.
    await expect.poll(() => phone.locator('#wall [data-picked]').count()).toBe(2)
    const save = phone.locator('#selection').getByRole('button', { name: 'Save' })
    expect((await save.boundingBox())!.height).toBeGreaterThanOrEqual(44)
    await expectAccessible(phone)
    await save.tap()
    await phone.getByText('2 frames saved.').first().waitFor()
    const ids = await phone.locator('#wall [data-saved] > a').evaluateAll((all) => all.map(({ id }) => id.slice(2)))
    expect(await saved()).toEqual(expect.arrayContaining(ids))
    await phone.locator('#toast').getByRole('button', { name: 'Undo' }).tap()
    await phone.getByText('removed from your saves.').first().waitFor()
    await phone.context().close()
  })

  test('an unknown address is a page for people, who stay signed in there, and data for programs', async () => {
    const response = await page.goto(url('/nope'))
    expect([response?.status(), response?.headers()['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    expect(await page.locator('body').getAttribute('data-viewer')).toBe('member')
    await expectAccessible(page)
    await page.goto(url('/frames/abcdefghijkl-0'))
    expect(await page.locator('body').getAttribute('data-viewer')).toBe('member')
    for (const [path, accept] of [
      ['/nope', '*/*'],
      ['/nope', 'application/json'],
      ['/api/nope', 'text/html'],
    ] as const) {
      const answer = await fetch(url(path), { headers: { accept } })
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([404, 'not_found'])
    }
    const posted = await fetch(url('/frames/abcdefghijkl-0'), { method: 'POST', headers: { accept: 'text/html' } })
    expect(posted.status).toBe(405)
  })

  test('the undo of a save leaves the saves that were there before', async () => {
    const { db } = service.stores
    await unsaveFrames(db, { accountId, frameIds })
    const older = frameIds[0]!
    await saveFrames(db, { accountId, frameIds: [older] })
    await openWall()
    for (const n of [0, 1]) {
      await card(n).focus()
      await page.keyboard.press('x')
    }
    const save = page.locator('#selection').getByRole('button', { name: 'Save' })
    await save.click()
    await page.locator('#toast').getByText('2 frames saved.').waitFor()
    await page.locator('#toast').getByRole('button', { name: 'Undo' }).click()
    await expect.poll(saved).toEqual([older])
    await page.locator('#toast').getByText('Frame removed from your saves.').waitFor()
    // What changed nothing has no undo.
    await card(1).focus()
    await page.keyboard.press('x')
    await save.click()
    await page.locator('#toast').getByText('Frame saved.').waitFor()
    expect(await page.locator('#toast').getByRole('button', { name: 'Undo' }).count()).toBe(0)
    expect(await saved()).toEqual([older])
  })
})
