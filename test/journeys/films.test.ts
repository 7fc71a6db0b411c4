import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { frameIdOf } from '../../src/library/ids.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { deepLink } from '../../src/video/source/source.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'
import { seedFilm } from '../support/film.ts'
import { plainPicture, type SeedFrame } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const OPERATOR = 'films@example.org'
const EVIL =
  '<img src=x onerror=alert(1)> "&" \u202e a title with aVeryLongWordWithoutAnySpaceThatNobodyWouldBreakByHand'

describe.skipIf(noChromium)(`films in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({
    pages: true,
    env: { KEEP_VIDEOS: 'on' },
    workerOptions: { roles: ['events'] },
    overrides: { readImage: plainPicture },
  })
  const browser = useBrowser(service)
  let page: Page
  let url: string
  /** Their sources: YouTube, Vimeo, a file, a file that is kept; the others have none. */
  let films: string[]
  beforeAll(async () => {
    const { db } = service.stores
    films = []
    for (const [n, seed] of [
      // Of a platform that a person has set.
      { title: EVIL, author: EVIL, platform: 'linkedin', sourceUrl: 'https://www.youtube.com/watch?v=aaaaaaaaaaa' },
      { title: 'On Vimeo', platform: 'vimeo', sourceUrl: 'https://vimeo.com/123456' },
      { title: 'A file', sourceUrl: 'https://example.org/film.mp4' },
      ...['', '', 'https://vimeo.com/654321', ''].map((sourceUrl, more) => ({
        title: `Film ${more}`,
        ...(sourceUrl && { sourceUrl }),
      })),
    ].entries()) {
      const shots = Array.from({ length: 6 }, (_, shot) => 1 + ((shot + n) % 4))
      const frames: SeedFrame[] = Array.from({ length: 6 }, (_, tSec) => ({
        tSec: 2 * tSec + 0.5,
        subject: 'text-card',
      }))
      // Two frames on one second, and one picture that is the strongest of two films.
      if (n === 2) frames.push({ tSec: 0.9 })
      if (n >= 5) Object.assign(frames[1]!, { phash: '0f0f0f0f0f0f0f0f', steal: 'The one picture' })
      films.push(await seedFilm(db, { ...(seed as { title: string }), shots, frames, picture: { held_share: n / 10 } }))
    }
    const kept = 'uploads/0123456789abcdef'
    await openMediaStore(service.config).put(kept, await readFile('samples/coffee-pour.mp4'), 'video/mp4')
    await openMediaStore(service.config).put(`${kept}0`, Buffer.alloc(4_000), 'video/mp4')
    const keep = 'update videos set upload_key = $1 where id = any($2)'
    await db.$client.query(keep, [kept, [films[3]]])
    await db.$client.query(keep, [`${kept}0`, [films[5], films[6]]])
    await ensureAccount(db, { email: OPERATOR, role: 'operator', plan: 'pro' })
    await rebuildSearch({ db, deepLink })
    await service.drain()
    url = service.config.publicUrl
    page = await browser.open()
  })

  const fits = (one: Page) =>
    one.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)

  test('a film is a storyboard first, at every width and in both schemes, and how it is built is folded', async () => {
    for (const [width, colorScheme] of [
      [390, 'light'],
      [1280, 'light'],
      [1920, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.goto(`${url}/videos/${films[0]}`)
      await page.getByRole('heading', { level: 1, name: 'aVeryLongWord' }).waitFor()
      const first = (await page.locator('.storyboard .card-link').first().boundingBox())!
      expect([width, first.y < 900]).toEqual([width, true])
      expect(await page.getByText('Among the films of the library').isVisible()).toBe(false)
      expect([width, await fits(page)]).toEqual([width, true])
      await page.getByText('How it is built').click()
      await page.getByText('Among the films of the library').waitFor()
      expect([width, await fits(page)]).toEqual([width, true])
      // The click has scrolled, and what lies half below the bar of the page would count as too small.
      await page.evaluate(() => scrollTo(0, 0))
      await expectAccessible(page, colorScheme === 'dark' ? 'color-contrast' : undefined)
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(browser.faults).toEqual([])
  })

  test('the line marks the second that is pointed at, and leads to its frame', async () => {
    await page.goto(`${url}/videos/${films[2]}`)
    const line = page.locator('.film-line')
    const { x, y, width, height } = (await line.boundingBox())!
    await page.mouse.move(x + width / 2, y + height / 2)
    const marked = await line.locator('output').textContent()
    expect(marked).toMatch(/^0:0[5-9]$/)
    const times = await page.locator('.storyboard .credit span:last-child').allTextContents()
    expect(times.slice(0, 3)).toEqual(['0:00.5', '0:00.9', '0:02'])
    await page.locator('.storyboard li').last().hover()
    expect(await line.locator('output').textContent()).toBe('0:10')
    await page.mouse.click((await line.boundingBox())!.x + 2, (await line.boundingBox())!.y + 4)
    const focused = await page.evaluate(() => document.activeElement?.closest('[data-second]')?.getAttribute('id'))
    expect(focused).toBe(await page.locator('.storyboard li').first().getAttribute('id'))
  })

  test('a player of another host loads only after a click, and jumps to the second of a frame', async () => {
    const hosts = 'frame-src https://www.youtube-nocookie.com https://player.vimeo.com'
    const policyOf = async (path: string) => (await fetch(url + path)).headers.get('content-security-policy')!
    expect(await policyOf(`/videos/${films[0]}`)).toContain(`${hosts};`)
    for (const path of ['/', '/films', '/docs']) expect(await policyOf(path)).not.toContain('frame-src')
    for (const [film, address] of [
      [films[0], 'https://www.youtube-nocookie.com/embed/aaaaaaaaaaa?autoplay=1&rel=0&start=4'],
      [films[1], 'https://player.vimeo.com/video/123456?autoplay=1&dnt=1#t=4s'],
    ] as const) {
      const one = await browser.open()
      const asked: { url: string; referer: string | undefined }[] = []
      await one.route(/^https:/, (route) => {
        asked.push({ url: route.request().url(), referer: route.request().headers().referer })
        return route.fulfill({ contentType: 'text/html', body: 'A player' })
      })
      await one.goto(`${url}/videos/${film}`)
      await one.waitForLoadState('networkidle')
      expect(asked).toEqual([])
      await one.getByRole('link', { name: 'Play from 0:04' }).click()
      await one.frameLocator('#player iframe').getByText('A player').waitFor()
      // Its own referrer policy tells where the page is, and nothing of its path.
      expect(asked).toEqual([{ url: address.split('#')[0], referer: `${url}/` }])
      expect(await one.locator('#player iframe').getAttribute('src')).toBe(address)
      await one.locator('.film-line').click({ position: { x: 1, y: 4 } })
      await one.locator('#player iframe[src*="start=0"], #player iframe[src*="t=0s"]').waitFor()
      await one.context().close()
    }
    browser.faults.splice(
      0,
      browser.faults.length,
      ...browser.faults.filter((one) => !one.startsWith('request to https')),
    )
    await page.goto(`${url}/videos/${films[2]}`)
    expect(await page.locator('[data-play], #player').count()).toBe(0)
    await page.getByTitle('Watch at the source').waitFor()
    expect(browser.faults).toEqual([])
  })

  test('a film whose file is kept plays where it stands, from the second of a frame', async () => {
    await page.goto(`${url}/videos/${films[3]}`)
    expect(await page.locator('video').count()).toBe(0)
    await page.getByRole('link', { name: 'Play from 0:04' }).click()
    const isAt = (second: number) =>
      page.waitForFunction((from) => {
        const { readyState, currentTime } = document.querySelector('video') ?? { readyState: 0, currentTime: 0 }
        return readyState > 1 && currentTime >= from && currentTime < from + 2
      }, second)
    await isAt(4)
    await page.locator('.film-line').click({ position: { x: 1, y: 4 } })
    await isAt(0)
    expect(await page.locator('#player video').count()).toBe(1)
    expect(browser.faults).toEqual([])
  })

  test('a kept file that a browser cannot decode leads to the player of its source by a second click', async () => {
    const one = await browser.open()
    const asked: string[] = []
    await one.route(/^https:/, (route) => {
      asked.push(route.request().url())
      return route.fulfill({ contentType: 'text/html', body: 'A player' })
    })
    await one.goto(`${url}/videos/${films[5]}`)
    // What only did not load is asked for again.
    await one.route('**/media/videos/*', (route) => route.fulfill({ status: 503 }))
    await one.getByRole('link', { name: 'Play', exact: true }).click()
    await one.locator('#toast').getByText('The next click tries again.').waitFor()
    await one.unroute('**/media/videos/*')
    await one.getByRole('link', { name: 'Play', exact: true }).click()
    await one.locator('#toast').getByText('The next click plays it at Vimeo.').waitFor()
    expect(asked).toEqual([])
    await one.getByRole('link', { name: 'Play at Vimeo' }).click()
    await one.locator('#player iframe[src^="https://player.vimeo.com/video/654321?"]').waitFor()
    await one.goto(`${url}/videos/${films[6]}`)
    await one.getByRole('link', { name: 'Play', exact: true }).click()
    await one.locator('#toast').getByText('This browser cannot play the film.', { exact: true }).waitFor()
    await one.context().close()
    // The player of the source is answered here: what it asks for itself is no fault of the page.
    expect(browser.faults.splice(0).filter((fault) => !fault.startsWith('request to https'))).toEqual([])
  })

  test('films are posters that are sorted by a click, and two to six of them are compared', async () => {
    await page.goto(`${url}/films`)
    // On a phone a menu opens below its own button.
    await page.setViewportSize({ width: 390, height: 844 })
    await page.locator('summary', { hasText: 'Fastest cut' }).click()
    expect((await page.locator('.tools .panel').boundingBox())!.x).toBeLessThan(30)
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByRole('link', { name: 'Stillest' }).click()
    await page.locator('summary', { hasText: 'Stillest' }).waitFor()
    expect(await page.locator('.tiles .label').first().textContent()).toBe('Film 3')
    expect(await page.getByText(/60\s% still$/).count()).toBe(1)
    const posters = await page.locator('.tiles img').evaluateAll((all) => all.map((one) => one.getAttribute('src')))
    const shared = [films[5], films[6]].map((id) => frameIdOf(id!, 2_500))
    expect(posters.filter((src) => shared.some((id) => src?.includes(id)))).toHaveLength(1)
    // All its other frames are titles.
    expect(posters.filter((src) => src?.includes(frameIdOf(films[2]!, 900)))).toHaveLength(1)
    await expectAccessible(page)
    const boxes = page.getByRole('checkbox', { name: /^Choose/ })
    expect(await boxes.count()).toBe(0)
    await page.getByRole('checkbox', { name: 'Compare' }).check()
    const button = page.getByRole('button', { name: 'Compare' })
    expect(await button.isEnabled()).toBe(false)
    const states: boolean[] = []
    for (let n = 0; n < 7; n++) {
      await boxes.nth(n).check()
      states.push(await button.isEnabled())
    }
    expect(states).toEqual([false, true, true, true, true, true, false])
    await page.getByRole('status').getByText('7 chosen. Choose two to six.').waitFor()
    // Text in the colour of its ground is no violation to axe.
    const colors = await page.locator('.acting').evaluate((one) => {
      const { color, backgroundColor } = getComputedStyle(one)
      return [color, backgroundColor]
    })
    expect(colors[0]).not.toBe(colors[1])
    await boxes.nth(0).uncheck()
    await expectAccessible(page)
    await button.click()
    await page.getByRole('heading', { name: 'What differs most' }).waitFor()
    expect(await page.locator('.film-line').count()).toBe(6)
    expect(await fits(page)).toBe(true)
    await page.goBack()
    await page.getByText('6 chosen').waitFor()
    expect(await button.isEnabled()).toBe(true)
    expect(browser.faults).toEqual([])
  })

  test.each([true, false])('an operator edits a video where it stands (script: %s)', async (javaScriptEnabled) => {
    const { db } = service.stores
    const one = await browser.open({ javaScriptEnabled })
    await signIn(one, db, url, OPERATOR)
    await one.goto(`${url}/videos/${films[4]}`)
    await one.getByText('Edit', { exact: true }).click()
    if (javaScriptEnabled) await expectAccessible(one)
    const title = `Renamed ${javaScriptEnabled}`
    await one.getByLabel('Title', { exact: true }).fill(title)
    await one.getByRole('button', { name: 'Save' }).click()
    if (!javaScriptEnabled) await one.getByRole('button', { name: 'Save' }).click()
    await one.getByText('Saved.').first().waitFor()
    expect(new URL(one.url()).pathname).toBe(`/videos/${films[4]}`)
    await service.drain()
    await expect.poll(async () => (await service.get(`/api/videos/${films[4]}`)).json.video.title).toBe(title)
    expect(await (await fetch(`${url}/videos/${films[4]}`)).text()).not.toContain('/web/operator/videos')
    await one.context().close()
  })
})
