import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { deepLink } from '../../src/video/source/source.ts'
import { expectAccessible, noChromium, signIn, type TestBrowser, useBrowser } from '../support/browser.ts'
import { plainPicture, seedVideo } from '../support/seed.ts'
import { seedMonth } from '../support/seed-month.ts'
import { useService } from '../support/service.ts'
import { untilReadable } from '../support/stores.ts'

/* Pages for every reader: schemes, widths, zoom, own colours. Those of people and operators without script, too. */

const OPERATOR = 'a.very.long.address.indeed@subdomain.example.org'
const LONG = 'A film whose title goes on and on, with aVeryLongWordWithoutAnySpaceThatNobodyWouldEverBreakByHand'

describe.skipIf(noChromium)(`pages for every reader${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({ pages: true, worker: false, overrides: { readImage: plainPicture } })
  const browser = useBrowser(service)
  let url: string
  let frameId: string
  let paths: readonly string[]
  let open: readonly string[]
  beforeAll(async () => {
    const { db } = service.stores
    const frames = Array.from({ length: 6 }, (_, n) => ({ tSec: n, subject: 'ui' as const, technique: 'cursor-zoom' }))
    const video = await seedVideo(db, { title: LONG, author: LONG, frames })
    const failed = await seedVideo(db, { title: 'Broken', ready: false })
    await db.$client.query(
      `update videos set status = 'failed', failure_code = 'no_video', failure_message = $1 where id = $2`,
      ['The file holds no video. Check it in a player, then add it again.', failed.id],
    )
    await seedVideo(db, { title: 'In work', ready: false })
    frameId = video.frameIds[0]!
    const { account } = await ensureAccount(db, { email: OPERATOR, role: 'operator', plan: 'pro' })
    const owner = { accountId: account.id }
    await saveFrames(db, { ...owner, frameIds: video.frameIds })
    const board = await createBoard(db, { ...owner, name: LONG })
    await pinFrames(db, { ...owner, boardId: board.id, frameIds: video.frameIds })
    const { token } = await shareBoard(db, { ...owner, boardId: board.id })
    await createKey(db, { ...owner, name: LONG.slice(0, 80), expiresAt: new Date(Date.now() + 86_400_000) })
    await seedMonth(db)
    await untilReadable(db)
    await recountAnalytics(db)
    await rebuildSearch({ db, deepLink })
    const operator = [
      '',
      '/review',
      `/review/${frameId}`,
      `/videos/${video.id}`,
      '/techniques',
      '/techniques/cursor-zoom',
    ]
    paths = [
      ...[...operator, '/accounts', '/analytics', '/system'].map((path) => `/operator${path}`),
      ...['/saves', '/boards', `/boards/${board.id}`, '/keys'],
    ]
    open = [
      ...['/', '/?q=xylophone&tone=dark', `/frames/${frameId}`, `/videos/${video.id}`, '/techniques'],
      ...[`/brands/${encodeURIComponent(LONG)}`, '/brands', '/techniques/cursor-zoom'],
      ...[`/shared/${token}`, '/films', '/connect', '/privacy'],
    ]
    url = service.config.publicUrl
  })

  async function openSignedIn(options?: Parameters<TestBrowser['open']>[0]): Promise<Page> {
    const page = await browser.open(options)
    await signIn(page, service.stores.db, url, OPERATOR)
    return page
  }
  /** What stands out to the right and has no box that scrolls around it, innermost last. Charts follow a new width. */
  async function expectToFit(page: Page, what: string): Promise<void> {
    const beyond = () =>
      page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement
        const wide = [...document.querySelectorAll('main, main *')]
          .filter((one) => one.getBoundingClientRect().right > clientWidth + 1)
          .map((one) => `${one.tagName} ${one.className} ${one.textContent?.trim().slice(0, 40)}`)
        return scrollWidth > clientWidth ? wide.slice(-3) : []
      })
    await expect.poll(async () => [what, await beyond()]).toEqual([what, []])
  }

  /** What moves by its style. */
  const moving = (page: Page) =>
    page.evaluate(() =>
      [...document.querySelectorAll('*')].flatMap((one) => {
        const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one)
        const moves = /[1-9]/.test(transitionDuration) || animationName !== 'none' || scrollBehavior === 'smooth'
        return moves ? [one.tagName] : []
      }),
    )

  const WHOSE = ['of people', 'for anybody'] as const
  test.each(WHOSE)('pages %s hold at three widths, in both schemes, own colours, zoomed and at rest', async (whose) => {
    // As a browser shows 1280 px at 200 %.
    const zoomed = { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 } as const
    const page = await openSignedIn({ ...zoomed, reducedMotion: 'reduce' })
    // The frames are there: what follows looks at pages with pictures on them.
    for (const path of ['/saves', '/boards']) {
      await page.goto(url + path)
      await page.locator('main li img').first().waitFor()
    }
    for (const path of whose === 'for anybody' ? open : paths) {
      await page.setViewportSize(zoomed.viewport)
      await page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' })
      expect([path, (await page.goto(url + path))!.status()]).toEqual([path, 200])
      await expectToFit(page, `${path} at 200 %`)
      expect([path, await moving(page)]).toEqual([path, []])
      await page.emulateMedia({ forcedColors: 'none', colorScheme: 'light' })
      await page.setViewportSize({ width: 2560, height: 900 })
      await expectToFit(page, `${path} at 2560`)
      const menus = await page.locator('main .fold:not(.suggestions *, .filters *) > summary').all()
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 })
        await expectToFit(page, `${path} at ${width}`)
        await expectAccessible(page)
        // Menus that lie over the page stay inside of it. By key, because an open one may lie over the next one.
        for (const menu of menus) {
          await menu.press('Enter')
          await expectToFit(page, `${path} at ${width}, ${await menu.textContent()}`)
          if (width === 1280) await menu.press('Enter')
        }
      }
      // Only colours differ between the schemes.
      await page.emulateMedia({ colorScheme: 'dark' })
      await expectAccessible(page, 'color-contrast')
    }
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('nothing of an open frame moves for a reader who asked for rest, and something for others', async () => {
    const page = await browser.open()
    await page.goto(url)
    await page.locator('#wall .card-link').first().click()
    await page.locator('dialog article').waitFor()
    expect(await moving(page)).not.toEqual([])
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await moving(page)).toEqual([])
    await page.context().close()
  })

  test('without script the console is read and worked by links and forms', async () => {
    const page = await openSignedIn({ javaScriptEnabled: false })
    for (const path of paths) {
      await page.goto(url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect([path, (await page.locator('main').textContent())!.length > 60]).toEqual([path, true])
      await expectToFit(page, path)
    }
    const row = (title: string) => page.locator('tr[data-video]', { hasText: title })
    await page.goto(`${url}/operator`)
    await page.getByRole('link', { name: /^Failed/ }).click()
    await row('Broken').getByText('The file holds no video.').waitFor()
    expect(await page.locator('tr[data-video]').count()).toBe(1)
    await row('Broken').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('1 video queued again.').waitFor()
    for (const title of ['In work', 'Broken']) await row(title).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Cancel', exact: true }).first().click()
    await page.getByText('2 videos cancelled.').waitFor()
    await page.getByLabel('Video links, one per line').fill('https://example.org/launch.mp4')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('1 link is new').waitFor()

    await page.goto(`${url}/operator/review/${frameId}`)
    await page.locator('.value', { hasText: 'terminal' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('1 value saved.').waitFor()
    expect(await page.locator('input[name="subject"]:checked').inputValue()).toBe('terminal')
    await page.goto(`${url}/operator/review`)
    const first = await page.locator('figure a').getAttribute('href')
    await page.locator('.value', { hasText: 'camera' }).click()
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    expect(await page.locator('figure a').getAttribute('href')).toBe(first)
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})
