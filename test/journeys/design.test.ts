import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { SHOTS, SURFACES } from '../../src/vocabulary.ts'
import { expectAccessible, noChromium, signIn, type TestBrowser, useBrowser } from '../support/browser.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'
import { sessionOf } from '../support/session.ts'

/** Layout shifts of a page until its pictures are there. */
async function shiftOf(page: Page): Promise<number> {
  await page.waitForLoadState('load')
  return page.evaluate(async () => {
    const seen: PerformanceEntry[] = []
    const observer = new PerformanceObserver((list) => seen.push(...list.getEntries()))
    observer.observe({ type: 'layout-shift', buffered: true })
    for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame)
    const entries = [...seen, ...observer.takeRecords()]
    return (entries as (PerformanceEntry & { value: number })[]).reduce((sum, { value }) => sum + value, 0)
  })
}

/** One design language on every page: a face that ships with us, sizes and controls of one kind, one menu. */
describe.skipIf(noChromium)(`the design language${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({ pages: true, workerOptions: { roles: ['events'] } })
  const browser = useBrowser(service)
  let url: string
  beforeAll(async () => {
    for (let n = 0; n < 3; n++)
      await seedVideo(service.stores.db, {
        title: `Film ${n}`,
        frames: Array.from({ length: 8 }, (_, tSec) => ({
          tSec,
          caption: 'Bright picture',
          surface: SURFACES[tSec % SURFACES.length]!,
          shot: SHOTS[tSec % SHOTS.length]!,
        })),
      })
    await service.drain()
    url = service.config.publicUrl
  })

  async function signedIn(options: Parameters<TestBrowser['open']>[0] = {}) {
    const page = await browser.open(options)
    const { name, value } = await sessionOf(service.stores.db, url, 'operator@localhost')
    await page.context().addCookies([{ name, value, url }])
    return page
  }

  const PAGES = ['/', '/films', '/saves', '/boards', '/keys', '/connect', '/privacy', '/operator', '/docs']

  test('the face is small, comes from here, and moves nothing', async () => {
    const page = await browser.open({ viewport: { width: 1280, height: 800 } })
    const faces: string[] = []
    page.on('response', (answer) => void (answer.url().endsWith('.woff2') && faces.push(answer.url())))
    await page.goto(`${url}/docs`)
    await page.evaluate(() => document.fonts.ready)
    expect(await page.evaluate(() => [...document.fonts].map(({ family }) => family.replaceAll('"', '')))).toEqual([
      'Inter',
    ])
    expect(faces).toHaveLength(1)
    expect((await (await fetch(faces[0]!)).arrayBuffer()).byteLength).toBeLessThanOrEqual(50_000)
    await page.goto(url)
    expect(await shiftOf(page)).toBeLessThanOrEqual(0.01)
    await page.evaluate(() => document.querySelector('main')!.prepend(document.createElement('hr')))
    expect(await shiftOf(page)).toBeGreaterThan(0)
    await page.context().close()
  })

  test('sizes of letters and weights are those of the scale', () => {
    const folder = new URL('../../src/web/assets/style/', import.meta.url)
    for (const part of ['base', 'page', 'forms', 'filters', 'grid', 'wall', 'frame', 'entities', 'collections']) {
      const text = readFileSync(new URL(`${part}.css`, folder), 'utf8')
      const sizes = [...text.matchAll(/font-size: ([^;]+);/g)].map(([, size]) => size!)
      for (const size of sizes) expect(size, part).toMatch(/^(var\(--text-\d\)|clamp\(.*\)|[\d.]+em)$/)
      const weights = [...text.matchAll(/font-weight: (\d+);/g)].map(([, weight]) => weight)
      for (const weight of weights) expect(['400', '500', '600'], part).toContain(weight)
    }
  })

  test('every page has the one menu of an account, by keyboard', async () => {
    const page = await signedIn({ viewport: { width: 1280, height: 800 } })
    for (const path of PAGES) {
      await page.goto(url + path)
      const menu = page.locator('details.account-menu')
      await menu.locator('summary').focus()
      await page.keyboard.press('Enter')
      await menu.getByRole('link', { name: 'Keys and apps' }).waitFor()
      expect(await menu.getByText('Sign out', { exact: true }).count(), path).toBe(1)
    }
    // Of the last one, /docs. The others are looked at for every reader.
    await expectAccessible(page)
    await page.goto(`${url}/boards`)
    await page.locator('details.account-menu summary').click()
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Account')
    expect(await page.locator('details.account-menu[open]').count()).toBe(0)
    await page.context().close()
  })

  test('what a menu folds out lies within the window', async () => {
    const page = await browser.open()
    const { db } = service.stores
    const { account } = await ensureAccount(db, { email: 'pro@example.org', role: 'operator', plan: 'pro' })
    await createBoard(db, {
      accountId: account.id,
      name: 'Everything that was worth taking from the films of this year',
    })
    await signIn(page, db, url, 'pro@example.org')
    await page.goto(url)
    const frame = await page.locator('#wall a').first().getAttribute('href')
    for (const path of ['/', frame!, '/boards', '/saves']) {
      await page.goto(url + path)
      for (const width of [390, 1024, 1280]) {
        await page.setViewportSize({ width, height: 844 })
        for (const menu of await page.locator('details.fold:has(> .panel):visible').all()) {
          const name = await menu.locator('> summary').textContent()
          await menu.locator('> summary').press('Enter')
          const { x, width: wide } = (await menu.locator('> .panel').boundingBox())!
          expect({ width, path, name, left: x >= 0, right: x + wide <= width }).toMatchObject({
            left: true,
            right: true,
          })
          const beyond = await menu.locator('> .panel').evaluate((one) => one.scrollWidth - one.clientWidth)
          expect({ width, path, name, beyond }).toMatchObject({ beyond: 0 })
          await page.keyboard.press('Escape')
        }
      }
    }
    await page.context().close()
  })

  test('the wall is as dense as a reader likes, its pictures are whole, and it stays so without a shift', async () => {
    const page = await browser.open({ viewport: { width: 1280, height: 800 } })
    await page.goto(url)
    const columns = () =>
      page.evaluate(
        () => getComputedStyle(document.querySelector('#wall .sheet')!).gridTemplateColumns.split(' ').length,
      )
    expect(await columns()).toBe(5)
    await page.locator('summary').getByText('View', { exact: true }).click()
    expect(await page.getByLabel('Medium', { exact: true }).isChecked()).toBe(true)
    await page.getByLabel('Small', { exact: true }).check()
    expect(await columns()).toBe(8)
    await page.reload()
    expect(await columns()).toBe(8)
    expect(await shiftOf(page)).toBeLessThanOrEqual(0.01)
    await page.locator('summary').getByText('View', { exact: true }).click()
    expect(await page.getByLabel('Small', { exact: true }).isChecked()).toBe(true)
    await page.getByLabel('Medium', { exact: true }).check()
    await page.reload()
    expect(await columns()).toBe(5)
    await page.context().close()
  })

  test('a hyphen in a table is as wide as elsewhere', async () => {
    const page = await browser.open()
    // The face that ships with us comes with the second page.
    for (const path of ['/docs', '/privacy']) {
      await page.goto(url + path)
      await page.evaluate(() => document.fonts.ready)
    }
    const widths = await page.evaluate(() =>
      ['main td', 'main > p'].map((place) => {
        const word = document.createElement('span')
        word.textContent = 'sign-in'
        document.querySelector(place)!.append(word)
        return word.getBoundingClientRect().width
      }),
    )
    expect(widths[0]).toBeCloseTo(widths[1]!, 1)
    await page.context().close()
  })

  test('under a finger the controls of a page are 44 pixels high', async () => {
    const page = await signedIn({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    for (const path of PAGES) {
      await page.goto(url + path)
      const low = await page.evaluate(() =>
        [...document.querySelectorAll('button, .button, select, main input, .fold > summary, .menu > summary')]
          .filter((one) => {
            const { width, height } = one.getBoundingClientRect()
            const isBox = one instanceof HTMLInputElement && ['checkbox', 'radio', 'hidden', 'color'].includes(one.type)
            // What is there for readers of screens alone is clipped.
            return width > 4 && height > 4 && height < 43.5 && !isBox && one.checkVisibility()
          })
          .map((one) => `${one.tagName} ${one.textContent?.trim().slice(0, 30)} ${one.getBoundingClientRect().height}`),
      )
      expect(low, path).toEqual([])
    }
    await page.context().close()
  })

  test('what is saved is a board: frames are added from within, and its pictures fill the cover', async () => {
    await ensureAccount(service.stores.db, { email: 'ada@example.org', plan: 'pro' })
    const page = await browser.open()
    await signIn(page, service.stores.db, url, 'ada@example.org')
    await page.goto(`${url}/saves`)
    await page.locator('summary', { hasText: 'Add frames' }).click()
    await page.locator('#add-search:focus').fill('bright')
    await page.keyboard.press('Enter')
    for (const [n, total] of [1, 2, 3, 4, 3].entries()) {
      await page
        .locator('#found button')
        .nth(n % 4)
        .click()
      await expect.poll(() => page.locator('#lead').textContent()).toContain(`${total} frame`)
      expect(await page.locator('#export').isVisible()).toBe(true)
    }
    await page.goto(`${url}/boards`)
    // With three pictures, with two and with one.
    const free = await page
      .locator('.covers')
      .first()
      .evaluate((box) => {
        const area = (one: Element) => one.getBoundingClientRect().width * one.getBoundingClientRect().height
        return [...box.children].map((first) => {
          const filled = [...box.children].reduce((sum, one) => sum + area(one), 0)
          first.remove()
          return Math.round(10 * (1 - filled / area(box)))
        })
      })
    expect(free).toEqual([0, 0, 0])
    await page.context().close()
  })

  test('frames of one caption are told apart by their alternative texts', async () => {
    const page = await browser.open({ viewport: { width: 1280, height: 800 } })
    await page.goto(url)
    const texts = await page
      .locator('#wall img')
      .evaluateAll((images) => images.map((image) => image.getAttribute('alt')))
    expect(texts).toHaveLength(24)
    expect(new Set(texts).size).toBe(24)
    await page.context().close()
  })
})
