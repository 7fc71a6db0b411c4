import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

describe.skipIf(noChromium)(`where nothing is yet${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({ pages: true })
  const browser = useBrowser(service)
  let page: Page
  let accountId: string
  beforeAll(async () => {
    const { db } = service.stores
    await seedVideo(db, {
      title: 'Coffee at dawn',
      author: 'Northwind',
      durationSec: 60,
      frames: Array.from({ length: 12 }, (_, n) => ({ tSec: n, caption: 'Coffee is poured', technique: 'whip-pan' })),
    })
    await service.drain()
    page = await browser.open()
    accountId = (await ensureAccount(db, { email: 'ada@example.org', plan: 'pro' })).account.id
    await signIn(page, db, service.config.publicUrl, 'ada@example.org')
  })
  const url = (path: string) => service.config.publicUrl + path

  test('saves, boards and a board say what will be there and how to begin', async () => {
    const { id } = await createBoard(service.stores.db, { accountId, name: 'Openings' })
    const other = await browser.open()
    await ensureAccount(service.stores.db, { email: 'new@example.org', plan: 'pro' })
    await signIn(other, service.stores.db, service.config.publicUrl, 'new@example.org')
    for (const [reader, path, heading] of [
      [page, '/saves', 'What you save will be here'],
      [page, `/boards/${id}`, 'The frames of this board will be here'],
      [other, '/boards', 'Your boards will be here'],
    ] as const) {
      await reader.goto(url(path))
      await reader.getByRole('heading', { level: 2, name: heading }).waitFor()
      await expectAccessible(reader)
      await reader.getByRole('link', { name: 'To the wall' }).click()
      await reader.locator('#wall .card-link').first().waitFor()
    }
  })

  test('nothing found: the spelling, and where to begin instead', async () => {
    await page.goto(url('/?q=xyzzyqq'))
    await page.getByText('Check the spelling').waitFor()
    await expectAccessible(page)
    await page
      .locator('.ways')
      .getByRole('link', { name: /Whip.pan/ })
      .click()
    await expect.poll(() => page.locator('#count').textContent()).toBe('12 frames')
  })

  test('a misspelt word is told as a person would', async () => {
    await page.goto(url('/?q=cofee'))
    await page.getByText('Showing coffee.').waitFor()
  })

  test('names that begin with what is typed stand above the frames and cover none', async () => {
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(url('/'))
      await page.locator('#q').pressSequentially('cof')
      await page.waitForURL(/q=cof/)
      const named = page.locator('#named').getByRole('link', { name: 'Coffee at dawn film' })
      const line = (await named.boundingBox())!
      const frame = (await page.locator('#wall .card-link').first().boundingBox())!
      expect(line.y + line.height, `at ${width}`).toBeLessThanOrEqual(frame.y)
      await expectAccessible(page)
      await named.click()
      await page.getByRole('heading', { level: 1, name: 'Coffee at dawn' }).waitFor()
    }
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  test('Back takes the words back with the wall, also while their field has the focus', async () => {
    await page.goto(url('/'))
    await page.locator('#q').fill('coffee')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=coffee/)
    await page.goBack()
    await expect.poll(() => page.locator('#q').inputValue()).toBe('')
    await page.goForward()
    await expect.poll(() => page.locator('#q').inputValue()).toBe('coffee')
    // A press in the field takes them back too, and the next ones can be typed.
    await page.getByRole('link', { name: 'Clear the search' }).click()
    await page.locator('#clear').waitFor({ state: 'detached' })
    expect([new URL(page.url()).search, await page.locator('#q:focus').inputValue()]).toEqual(['', ''])
  })

  test('no menu leaves its place among frames that leave no choice', async () => {
    await page.goto(url('/?tone=dark'))
    const menus = () =>
      page
        .locator('#filters summary')
        .evaluateAll((all) => all.map(({ firstChild }) => firstChild?.textContent?.trim()))
    const before = await menus()
    await page.goto(url('/?orientation=portrait'))
    await page.locator('#chosen').getByText('Orientation: Portrait').first().waitFor()
    expect(await menus()).toEqual(before)
    await page.locator('#menu-more summary').click()
    await page.locator('#menu-more').getByText('These frames leave no choice.').waitFor()
    await expectAccessible(page)
  })

  test('at 200 % zoom what stays at the top takes a tenth of the height at most', async () => {
    await page.setViewportSize({ width: 640, height: 450 })
    await page.goto(url('/'))
    const share = await page.evaluate(() => {
      scrollTo(0, 200)
      const held = [...document.querySelectorAll('header, .wall-tools')].map(
        (one) => one.getBoundingClientRect().bottom,
      )
      return Math.max(0, ...held) / innerHeight
    })
    expect(share).toBeLessThanOrEqual(0.1)
    await page.setViewportSize({ width: 1280, height: 900 })
  })
})
