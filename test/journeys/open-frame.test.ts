import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAccessible, noChromium, openBrowser, type TestBrowser } from '../support/browser.ts'
import { seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'

describe.skipIf(noChromium)(`a frame over the wall${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  let service: Service
  let browser: TestBrowser
  let url: string
  beforeAll(async () => {
    service = await openService({ pages: true })
    await seedVideo(service.stores.db, { frames: Array.from({ length: 130 }, (_, tSec) => ({ tSec })) })
    await service.drain()
    url = service.config.publicUrl
    browser = await openBrowser(url)
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  test('an open frame tells its place among all, and turns beside the picture as far as there are frames', async () => {
    for (const width of [390, 1280]) {
      const page = await browser.open({ viewport: { width, height: 800 }, hasTouch: width === 390 })
      const dialog = page.locator('dialog')
      const box = async (name: string) => (await dialog.getByRole('button', { name }).boundingBox())!
      await page.goto(`${url}/?page=2`)
      await page.locator('#sheet-2 .card-link').nth(3).click()
      await dialog.getByText('124 of 130', { exact: true }).waitFor()
      const picture = (await dialog.locator('.picture img').boundingBox())!
      for (const name of ['Previous frame', 'Next frame']) {
        const { x, y, height, width } = await box(name)
        expect([name, x > picture.x, x + width < picture.x + picture.width]).toEqual([name, true, true])
        expect([name, y > picture.y, y + height < picture.y + picture.height]).toEqual([name, true, true])
      }
      const close = await box('Close')
      const edge = (await dialog.boundingBox())!
      expect(edge.x + edge.width - close.x - close.width).toBeLessThan(50)
      await dialog.getByRole('button', { name: 'Next frame' }).click()
      await dialog.getByText('125 of 130', { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'Previous frame' }).click()
      await dialog.getByText('124 of 130', { exact: true }).waitFor()

      await page.goto(url)
      await page.locator('#wall .card-link').first().click()
      await dialog.getByText('1 of 130', { exact: true }).waitFor()
      expect(await dialog.getByRole('button', { name: 'Next frame' }).isVisible()).toBe(true)
      expect(await dialog.getByRole('button', { name: 'Previous frame' }).isVisible()).toBe(false)
      await expectAccessible(page)
      await page.context().close()
    }
    expect(browser.faults).toEqual([])
  })

  test('a finger turns the frames, a tall picture has nothing beside it, and long text folds', async () => {
    const tall = { width: 720, height: 1280, caption: 'A phone', onScreenText: 'one\ntwo\nthree\nfour\nfive' }
    const { frameIds } = await seedVideo(service.stores.db, { title: 'Upright', frames: [tall, { tSec: 3 }] })
    await service.drain()
    const page = await browser.open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    await page.goto(`${url}/?video=${frameIds[0]!.slice(0, -2)}`)
    await page.locator('#wall .card-link').first().tap()
    const dialog = page.locator('dialog')
    await dialog.getByText('1 of 2', { exact: true }).waitFor()
    const picture = await dialog.locator('.picture img').evaluate((image) => image.getBoundingClientRect().toJSON())
    expect(picture.width / picture.height).toBeCloseTo(720 / 1280, 1)
    expect(await page.title()).toMatch(/ · Upright · 0:00: A phone/)
    const more = dialog.getByText('2 more lines')
    expect(await dialog.getByText('five').isVisible()).toBe(false)
    await more.tap()
    expect(await dialog.getByText('five').isVisible()).toBe(true)
    const touch = await page.context().newCDPSession(page)
    const swipe = async (from: number, to: number) => {
      const at = (x: number) => [{ x, y: picture.y + 60 }]
      await dialog.evaluate((one) => one.scrollTo(0, 0))
      // Input goes to what the last painted frame showed.
      await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))))
      await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(from) })
      await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(to) })
      await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    }
    await swipe(300, 120)
    await dialog.getByText('2 of 2', { exact: true }).waitFor()
    await swipe(100, 300)
    await dialog.getByText('1 of 2', { exact: true }).waitFor()
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})
