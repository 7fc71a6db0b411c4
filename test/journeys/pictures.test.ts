import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { addTechnique } from '../../src/library/techniques/techniques.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const EVIL = '<img src=x onerror="alert(1)">"\'</script><script>alert(2)</script>{{7*7}}'
/** The instant of a frame says its size. */
const SIZES: readonly [width: number, height: number][] = [
  [1280, 720],
  [640, 480],
  [720, 1280],
  [1, 4000],
  [4000, 1],
]
/** One picture, and three that differ from it by few bits. */
const SAME = ['0f0f0f0f0f0f0f0f', '0f0f0f0f0f0f0f0e', '0f0f0f0f0f0f0f0c', '0f0f0f0f0f0f0f08']

describe.skipIf(noChromium)(`pictures and places${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const images = new Map<string, Buffer>()
  const service = useService({ pages: true, overrides: { readImage: async (key) => images.get(instantOf(key))! } })
  const browser = useBrowser(service)
  let url: string
  beforeAll(async () => {
    const { db } = service.stores
    const same = SAME.map((phash, n) => ({ phash, luma: 200, tSec: 10 + n, caption: EVIL, technique: 'whip-pan' }))
    const sizes = SIZES.map(([width, height], tSec) => ({ tSec, width, height, technique: 'slow-push' }))
    const { frameIds } = await seedVideo(db, { author: 'Relay', title: EVIL, frames: [...sizes, ...same] })
    // The same picture is the strongest frame of another brand.
    await seedVideo(db, { author: EVIL, frames: same.slice(0, 1) })
    const third = await seedVideo(db, { author: 'Third', frames: [...same.slice(0, 1), { tSec: 30 }] })
    for (const [n, id] of frameIds.entries()) {
      const [width, height] = SIZES[n] ?? [480, 270]
      const least = Math.min(1, 480 / width)
      const [w, h] = [Math.max(1, Math.round(width * least)), Math.max(1, Math.round(height * least))]
      images.set(
        instantOf(id),
        await sharp({ create: { width: w, height: h, channels: 3, background: '#fff' } })
          .webp()
          .toBuffer(),
      )
    }
    images.set(instantOf(third.frameIds[1]!), images.get(instantOf(frameIds[0]!))!)
    await service.drain()
    url = service.config.publicUrl
  })

  const count = (page: Page) => page.locator('#wall > .sheet > li').count()

  test.each([true, false])(
    'what shows the same picture of a film stands as one that opens (script: %s)',
    async (on) => {
      const page = await browser.open({ javaScriptEnabled: on })
      await page.goto(url)
      expect([await page.locator('#count').textContent(), await count(page)]).toEqual(['12 frames', 9])
      const button = page.getByRole('button', { name: '3 more like it' })
      await button.press('Enter')
      const alike = page.locator('.over-page:popover-open')
      await alike.locator('.card-link').nth(2).waitFor()
      if (on) {
        await expectAccessible(page)
        // The arrows stay among them.
        await alike.locator('.card-link').first().press('ArrowRight')
        expect(
          await alike
            .locator('.card-link')
            .nth(1)
            .evaluate((one) => one === document.activeElement),
        ).toBe(true)
      }
      await page.keyboard.press('Escape')
      expect(await alike.count()).toBe(0)
      if (on) {
        // One stop of the tab key, with what opens those like it.
        await page.locator('#wall > .sheet > li', { has: button }).locator('> .card-link').focus()
        await page.keyboard.press('Tab')
        expect(await page.evaluate(() => document.activeElement?.className)).toBe('alike')
        expect(await page.locator('#wall > .sheet > li > :is(.card-link, .alike)[tabindex="0"]').count()).toBe(2)
      }
      await button.click()
      const last = await alike.locator('.card-link').last().getAttribute('href')
      await alike.locator('.card-link').last().click()
      await page.waitForURL(url + last)
      await page.locator('article').waitFor()
      await page.goBack()
      await page.locator('article').waitFor({ state: 'detached' })
      if (on) expect(await page.evaluate(() => document.activeElement?.closest('li')?.textContent)).toContain('3 more')
      // The address switches it off, in results too.
      await page.locator('#menu-view summary').click()
      await page.getByRole('link', { name: 'Each by itself' }).click()
      await page.waitForURL(`${url}/?variety=off`)
      await expect.poll(() => count(page)).toBe(12)
      expect(await page.locator('.alike').count()).toBe(0)
      await page.goto(`${url}/?q=onerror&technique=whip-pan`)
      expect([await page.locator('#count').textContent(), await count(page)]).toEqual(['6 frames', 3])
      await page.context().close()
      expect(browser.faults).toEqual([])
    },
  )

  test('at every width a box has the proportions of its picture', async () => {
    const page = await browser.open()
    const boxesOf = () =>
      page.locator('main li img').evaluateAll((images) =>
        images.map((one) => {
          if (!(one instanceof HTMLImageElement)) throw new Error('no picture')
          const { width, height } = one.getBoundingClientRect()
          const link = one.closest('a')!.getBoundingClientRect()
          const [w, h] = [Number(one.getAttribute('width')), Number(one.getAttribute('height'))]
          const isThin = Math.max(w / h, h / w) > 100
          return {
            // Of what can hardly be seen, the place can still be pressed.
            isWhole: isThin ? link.width >= 24 && link.height >= 24 : Math.abs(width / height / (w / h) - 1) < 0.02,
            hairline: getComputedStyle(one).outlineWidth,
            ...{ w, h, width, height },
          }
        }),
      )
    for (const path of ['/?variety=off', '/techniques/slow-push', '/brands', '/techniques']) {
      await page.goto(url + path)
      for (const width of [390, 1280, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        const boxes = await boxesOf()
        const wrong = boxes.filter(({ isWhole, hairline }) => !isWhole || hairline !== '1px')
        expect([path, width, boxes.length > 0, wrong]).toEqual([path, width, true, []])
      }
    }
    await page.context().close()
  })

  test('no two brands have one cover', async () => {
    const page = await browser.open()
    await page.goto(`${url}/brands`)
    const covers = await page.locator('.tiles img').evaluateAll((all) => all.map((one) => one.getAttribute('src')))
    const shown = covers.map((src) => instantOf(String(src).replace('/media/', '')))
    expect([covers.length, new Set(shown).size]).toEqual([3, 3])
    await page.context().close()
  })

  test('filters: three in front, the rest under More, none with one value', async () => {
    const page = await browser.open()
    await page.goto(`${url}/?q=onerror`)
    const labels = await page
      .locator('#filters summary')
      .evaluateAll((all) => all.map((one) => one.textContent?.trim()))
    expect(labels).toEqual(['Subject', 'Technique', 'Colour', 'More', 'View'])
    await page.locator('#menu-more summary').click()
    expect(await page.locator('#menu-more h2').allTextContents()).toEqual(['Brand', 'Tone'])
    await page.context().close()
  })

  test('of 300 techniques a menu has the most frequent, and every list of them fits a phone', async () => {
    const { db } = service.stores
    const slugs = Array.from({ length: 300 }, (_, n) => `move-${n}`)
    for (const slug of slugs.slice(0, 9)) await addTechnique(db, { slug, name: `${slug} ${EVIL}`, description: EVIL })
    await seedVideo(db, { frames: slugs.map((technique, tSec) => ({ tSec, technique })) })
    await service.drain()
    await ensureAccount(db, { email: 'moves@example.org', role: 'operator', plan: 'pro' })
    const page = await browser.open({ viewport: { width: 390, height: 844 } })
    await signIn(page, db, url, 'moves@example.org')
    await page.goto(url)
    await page.locator('#menu-technique summary').click()
    expect(await page.locator('#menu-technique li').count()).toBe(40)
    await page.getByRole('link', { name: 'All techniques' }).click()
    await page.waitForURL(`${url}/techniques`)
    expect(await page.locator('.tiles > li').count()).toBeGreaterThanOrEqual(300)
    for (const path of ['/techniques', '/operator/techniques', `/techniques/${slugs[7]}`, `/?technique=${slugs[7]}`]) {
      await page.goto(url + path)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      expect([path, wide]).toEqual([path, 390])
    }
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})

/** The instant in the name of a frame or of its picture. */
function instantOf(name: string): string {
  return /(?:^|[/-])([a-z0-9]{1,8})(?:-[0-9a-f]{8}(?:-480)?\.webp)?$/.exec(name)![1]!
}
