import type { BrowserContextOptions, Page } from 'playwright-core'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toImageKey } from '../../src/media/image-name.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { expectAccessible, noChromium, useBrowser } from '../support/browser.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const NAME = 'Play the two-second loop'

describe.skipIf(noChromium)(`loops on the pages${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({ pages: true })
  const browser = useBrowser(service)
  let url: string
  let video: string
  /** The first three have loops; the file of the third is lost. */
  let ids: string[]
  beforeAll(async () => {
    const frames = [0, 1, 2, 3].map((tSec) => ({ tSec, loop: tSec < 3, caption: `frame ${tSec}` }))
    const seeded = await seedVideo(service.stores.db, { frames })
    await service.drain()
    video = seeded.id
    ids = seeded.frameIds
    const listed = (await service.get(`/api/videos/${video}/frames`)).json.frames
    const store = openMediaStore(service.config)
    for (const { loop_url } of listed.slice(0, 2)) {
      const key = toImageKey(new URL(loop_url).pathname.replace('/media/', ''))!
      await store.put(key, await animation(), 'image/webp')
    }
    url = service.config.publicUrl
  })
  afterAll(async () => {
    expect(browser.faults).toEqual([])
  })

  /** A page whose timers the test moves on, and the ids of frames whose loops it has asked for. */
  async function open(path: string, options: BrowserContextOptions = {}) {
    const page = await browser.open(options)
    await page.clock.install()
    const asked: string[] = []
    page.on('request', (request) => {
      const name = /\/media\/(.*)-[0-9a-f]{8}-loop\.webp$/.exec(request.url())?.[1]
      if (name !== undefined) asked.push(name)
    })
    await page.goto(url + path)
    await page.clock.pauseAt(new Date(Date.now() + 3_600_000))
    return { page, asked }
  }
  const card = (page: Page, n: number) => page.locator(`#f-${ids[n]}`)
  const playing = (page: Page) => page.locator('.loop')

  test('a loop starts after 200 ms under the mouse, moves nothing, and ends on leave and on Escape', async () => {
    for (const path of ['/', `/videos/${video}`]) {
      const { page, asked } = await open(path)
      await card(page, 0).scrollIntoViewIfNeeded()
      const boxes = () =>
        page.locator('.card-link').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().y))
      const before = await boxes()
      await card(page, 0).hover()
      await page.clock.runFor(150)
      await card(page, 3).hover()
      await page.clock.runFor(500)
      await card(page, 1).hover()
      await page.clock.runFor(199)
      expect(asked).toEqual([])
      await page.clock.runFor(1)
      await expect.poll(() => playing(page).evaluateAll(([one]) => (one as HTMLImageElement)?.naturalWidth)).toBe(32)
      expect(asked).toEqual([ids[1]])
      expect(await boxes()).toEqual(before)
      const [loop, link] = [await playing(page).boundingBox(), await card(page, 1).boundingBox()]
      expect(loop).toEqual(link)
      await card(page, 3).hover()
      expect(await playing(page).count()).toBe(0)
      await card(page, 0).hover()
      await page.clock.runFor(200)
      expect(await playing(page).count()).toBe(1)
      await page.keyboard.press('Escape')
      expect(await playing(page).count()).toBe(0)
      await page.context().close()
    }
  })

  test('a download that is under way is given up on leave', async () => {
    const { page } = await open('/')
    await page.route('**/*-loop.webp', () => undefined)
    const given = page.waitForEvent('requestfailed', (request) => request.url().endsWith('-loop.webp'))
    const begun = page.waitForRequest('**/*-loop.webp')
    await card(page, 0).hover()
    await page.clock.runFor(200)
    await begun
    await card(page, 3).hover()
    expect((await given).failure()?.errorText).toBe('net::ERR_ABORTED')
    await page.context().close()
  })

  test('an address that did not come is not asked again', async () => {
    const { page, asked } = await open('/')
    for (const _ of [1, 2]) {
      await card(page, 2).hover()
      await page.clock.runFor(200)
      await expect.poll(() => playing(page).count()).toBe(0)
      await card(page, 3).hover()
    }
    await page.clock.runFor(100_000)
    expect(asked).toEqual([ids[2]])
    await page.context().close()
  })

  test('a loop plays where the keys have put the focus, and ends with it', async () => {
    const { page, asked } = await open(`/videos/${video}`)
    await page.keyboard.press('Tab')
    await card(page, 0).focus()
    await page.clock.runFor(200)
    expect(await playing(page).count()).toBe(1)
    await page.keyboard.press('Tab')
    expect(await playing(page).count()).toBe(0)
    await page.clock.runFor(200)
    await expect.poll(() => asked).toEqual([ids[0], ids[1]])
    await page.context().close()
  })

  test('nothing is asked for under reduced motion, data saver, or a finger', async () => {
    const calm = await open('/', { reducedMotion: 'reduce' })
    await card(calm.page, 0).hover()
    await calm.page.clock.runFor(1000)
    const saver = await open('/')
    await saver.page.evaluate(() => Object.defineProperty(navigator, 'connection', { value: { saveData: true } }))
    await card(saver.page, 0).hover()
    await saver.page.clock.runFor(1000)
    const phone = await open('/', { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })
    await card(phone.page, 0).tap()
    await phone.page.locator('dialog h1').waitFor()
    await phone.page.clock.runFor(1000)
    for (const { page, asked } of [calm, saver, phone]) {
      expect(asked).toEqual([])
      await page.context().close()
    }
  })

  test('the large picture has a button, also under reduced motion and in the overlay', async () => {
    const { page, asked } = await open(`/frames/${ids[0]}`, { reducedMotion: 'reduce' })
    const button = page.getByRole('button', { name: NAME })
    const figure = () => page.locator('.picture').boundingBox()
    const before = await figure()
    await button.click()
    await expect.poll(() => asked).toEqual([ids[0]])
    expect(await button.getAttribute('aria-pressed')).toBe('true')
    const sizeOf = async (selector: string) => {
      const box = await page.locator(selector).boundingBox()
      return box && Object.values(box).map(Math.round)
    }
    await expect.poll(() => sizeOf('.picture .loop')).toEqual(await sizeOf('.picture img:not(.loop)'))
    expect(await figure()).toEqual(before)
    await page.clock.resume()
    await expectAccessible(page)
    await button.click()
    expect([await playing(page).count(), await button.getAttribute('aria-pressed')]).toEqual([0, 'false'])
    await page.goto(`${url}/frames/${ids[3]}`)
    expect(await button.count()).toBe(0)
    await page.goto(url)
    await card(page, 1).click()
    await button.click()
    await expect.poll(() => asked).toEqual([ids[0], ids[1]])
    expect(await playing(page).count()).toBe(1)
    await page.context().close()
  })
})

async function animation(): Promise<Buffer> {
  const raw = { width: 32, height: 36, channels: 3 as const, pageHeight: 18 }
  const pixels = Buffer.alloc(32 * 36 * 3, 40).fill(200, 32 * 18 * 3)
  return sharp(pixels, { raw })
    .webp({ loop: 0, delay: [100, 100] })
    .toBuffer()
}
