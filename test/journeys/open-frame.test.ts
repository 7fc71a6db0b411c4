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
})
