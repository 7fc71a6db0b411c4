import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { expectAccessible, noChromium, useBrowser } from '../support/browser.ts'
import { expectOverlay } from '../support/overlay.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

describe.skipIf(noChromium)(`a frame over the wall${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({ pages: true })
  const browser = useBrowser(service)

  test('a frame opens over every place; Back leads there also after a reload, and Forward opens it again', async () => {
    const { db } = service.stores
    const frames = Array.from({ length: 4 }, (_, tSec) => ({ tSec, technique: 'whip-pan', caption: 'Tea is poured' }))
    // The page of a frame shows those of other films that are alike.
    for (let n = 0; n < 2; n++) await seedVideo(db, { frames: frames.slice(0, 1) })
    const { id, frameIds } = await seedVideo(db, { title: 'Tea', author: 'Teahouse', frames })
    await service.drain()
    const places = [
      '/',
      '/?q=tea',
      `/videos/${id}`,
      '/brands/Teahouse',
      '/techniques/whip-pan',
      `/frames/${frameIds[0]}`,
    ]
    const page = await browser.open()
    for (const place of places) {
      await expectOverlay(page, { url: service.url, place, comesBack: place === '/' })
      await page.goBack()
      await page.waitForURL(/privacy/)
    }
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('an open frame tells its place among all, and turns beside the picture as far as there are frames', async () => {
    await seedVideo(service.stores.db, { frames: Array.from({ length: 130 }, (_, tSec) => ({ tSec })) })
    await service.drain()
    for (const width of [390, 1280]) {
      const page = await browser.open({ viewport: { width, height: 800 }, hasTouch: width === 390 })
      const dialog = page.locator('dialog')
      const box = async (name: string) => (await dialog.getByRole('button', { name }).boundingBox())!
      await page.goto(`${service.url}/?page=2`)
      await page.locator('#sheet-2 .card-link').nth(3).click()
      await dialog.getByText('124 of 136', { exact: true }).waitFor()
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
      await dialog.getByText('125 of 136', { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'Previous frame' }).click()
      await dialog.getByText('124 of 136', { exact: true }).waitFor()

      // The next page of the wall comes whole, also the frames that the dialog shows as similar.
      await page.goto(service.url)
      await page.locator('#sheet-1 .card-link').last().dispatchEvent('click')
      await dialog.getByText('120 of 136', { exact: true }).waitFor()
      expect(await dialog.locator('.similar .card-link').count()).toBeGreaterThan(0)
      expect(await page.locator('#sheet-2').count()).toBe(0)
      await dialog.getByRole('button', { name: 'Next frame' }).click()
      await dialog.getByText('121 of 136', { exact: true }).waitFor()
      expect(await page.locator('#sheet-2 .card-link').count()).toBe(16)

      await page.goto(`${service.url}/?q=tea`)
      await page.locator('#wall .card-link').first().click()
      await dialog.getByText('1 of 6', { exact: true }).waitFor()
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
    await page.goto(`${service.url}/?video=${frameIds[0]!.slice(0, -2)}`)
    await page.locator('#wall .card-link').first().tap()
    const dialog = page.locator('dialog')
    await dialog.getByText('1 of 2', { exact: true }).waitFor()
    const picture = await dialog.locator('.picture img').evaluate((image) => image.getBoundingClientRect().toJSON())
    expect(picture.width / picture.height).toBeCloseTo(720 / 1280, 1)
    expect(await page.title()).toMatch(/ · Upright · 0:00: A phone/)
    const more = dialog.getByText('2 more lines')
    expect(await dialog.getByText('five').isVisible()).toBe(false)
    await more.tap()
    await dialog.getByText('five').waitFor()
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

  test('the box of a picture has its proportions at every width, and its play button lies within', async () => {
    const sizes = [
      [640, 480],
      [720, 1280],
      [1280, 714],
      [1280, 536],
      [1, 4000],
    ].map(([width, height], tSec) => ({ width: width!, height: height!, tSec, loop: true }))
    const { frameIds } = await seedVideo(service.stores.db, { title: 'Shapes', frames: sizes })
    await service.drain()
    const page = await browser.open()
    for (const [n, { width, height }] of sizes.entries()) {
      await page.goto(`${service.url}/frames/${frameIds[n]}`)
      for (const viewport of [
        { width: 390, height: 844 },
        { width: 1280, height: 900 },
        { width: 1920, height: 1080 },
      ]) {
        await page.setViewportSize(viewport)
        const boxOf = async (part: string) => (await page.locator(`.picture ${part}`).boundingBox())!
        const [image, play] = [await boxOf('img'), await boxOf('.play')]
        const told = { viewport: viewport.width, width, height }
        expect({ ...told, fits: image.height <= 0.75 * viewport.height }).toEqual({ ...told, fits: true })
        if (height < 4000) expect(Math.abs((image.width * height) / width - image.height), String(n)).toBeLessThan(1)
        const within = play.x >= image.x && play.x + play.width <= image.x + image.width && play.y >= image.y
        expect({ ...told, within }).toEqual({ ...told, within: true })
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
      }
    }
    await page.context().close()
  })

  test('an image is copied as other programs paste it, and downloaded by its film', async () => {
    const { frameIds } = await seedVideo(service.stores.db, { title: 'Tea & <b>more</b>', frames: [{ tSec: 65 }] })
    await service.drain()
    const page = await browser.open()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const picture = sharp({ create: { width: 1280, height: 720, channels: 3, background: '#336699' } })
    const body = await picture.webp().toBuffer()
    await page.route('**/media/**', (route) => route.fulfill({ contentType: 'image/webp', body }))
    await page.goto(`${service.url}/frames/${frameIds[0]}`)
    await page.getByRole('button', { name: 'Copy image' }).click()
    await page.locator('#toast').getByText('Image copied.').waitFor()
    const types = await page.evaluate(async () => (await navigator.clipboard.read()).flatMap(({ types }) => types))
    expect(types).toContain('image/png')
    await page.locator('summary', { hasText: 'More' }).click()
    const link = page.getByRole('link', { name: 'Download' })
    expect(await link.getAttribute('download')).toBe('tea-b-more-b-1-05.webp')
    await expectAccessible(page)
    await page.context().close()
  })
})
