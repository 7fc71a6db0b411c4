import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { SUBJECTS, SURFACES } from '../../src/vocabulary.ts'
import { noChromium, signIn, useBrowser } from '../support/browser.ts'
import { fakeEmbedder } from '../support/fake-embedder.ts'
import { plainPicture, seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const EVIL = '<img src=x onerror="alert(1)">"\'</script><script>alert(2)</script>{{7*7}}'
const PALETTES = [
  ['#101820', '#f2aa4c', '#ffffff', '#5a5a5a', '#2f6f9f'],
  ['#d93025', '#202124', '#e8eaed', '#f9ab00', '#188038'],
]
/** The large wall has this many pages of 120. */
const PAGES = 6

const film = (n: number, length: number) => ({
  title: `Launch film ${n}`,
  author: n % 2 ? 'Relay' : 'Northwind Labs',
  durationSec: 130,
  frames: Array.from({ length }, (_, tSec) => ({
    tSec,
    kind: tSec % 5 === 0 ? ('cut' as const) : ('beat' as const),
    subject: SUBJECTS[tSec % SUBJECTS.length]!,
    surface: SURFACES[tSec % SURFACES.length]!,
    technique: tSec % 7 === 0 ? 'cursor-zoom' : null,
    caption: `A ${tSec % 2 ? 'terminal' : 'dashboard'} of film ${n}, moment ${tSec}`,
    composition: 'Rule of thirds',
    steal: 'Show one command and nothing else',
    palette: PALETTES[tSec % 2]!,
  })),
})

const SERVED = { pages: true, overrides: { readImage: plainPicture, embedder: fakeEmbedder() } }
const at = (page: Page) => page.evaluate(() => location.pathname + location.search)

describe.skipIf(noChromium)(`a wall of many pages in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService(SERVED)
  const browser = useBrowser(service)
  let url: string
  beforeAll(async () => {
    for (let n = 0; n < PAGES; n++) await seedVideo(service.stores.db, film(n, 120))
    await service.drain()
    url = service.config.publicUrl
  })

  const topOf = (page: Page, id: string) =>
    page.evaluate((one) => document.getElementById(one)?.getBoundingClientRect().top, id)
  /** The frame that is nearest to the middle of the window; the middle itself may lie between two. */
  const middle = (page: Page) =>
    page.evaluate(() => {
      const away = (card: Element) => {
        const { left, right, top, bottom } = card.getBoundingClientRect()
        return Math.hypot((left + right - innerWidth) / 2, (top + bottom - innerHeight) / 2)
      }
      return [...document.querySelectorAll('.card-link')].reduce((a, b) => (away(b) < away(a) ? b : a)).id
    })
  /** Scrolls on until a page of the wall has its frames. */
  async function scrollToSheet(page: Page, n: number): Promise<void> {
    await expect
      .poll(async () => {
        // At once: what a wheel asks for may come after what the test looks at next.
        await page.evaluate(() => scrollBy(0, 700))
        return page.locator(`#sheet-${n} > li`).count()
      })
      .toBe(120)
  }

  test('back restores the place to the pixel row; a reload and a closed frame too', async () => {
    const page = await browser.open({ viewport: { width: 1366, height: 800 } })
    await page.goto(url)
    await scrollToSheet(page, 4)
    // A page of the wall begins in the window: the address names it, and the frame at the top is of the one before.
    await page.evaluate(() => scrollBy(0, document.getElementById('sheet-4')!.getBoundingClientRect().top - 300))
    // The wheel has come to rest, and the place is in the state of the entry before anything leads away.
    await expect
      .poll(() =>
        page.evaluate(() => {
          const { id, top } = history.state?.anchor ?? {}
          return id !== undefined && document.getElementById(id)?.getBoundingClientRect().top === top
        }),
      )
      .toBe(true)
    const id = await middle(page)
    const top = await topOf(page, id)
    await page.evaluate((one) => document.getElementById(one)!.click(), id)
    await page.locator('dialog article').waitFor()
    await page.goBack()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await topOf(page, id)).toBe(top)
    expect(await page.evaluate(() => document.activeElement?.id)).toBe(id)
    await page.goto(`${url}/docs`)
    await page.goBack()
    await page.locator(`#${id}`).waitFor()
    await expect.poll(() => topOf(page, id)).toBe(top)
    expect(await at(page)).toContain('page=4')
    await page.reload()
    await page.locator(`#${id}`).waitFor()
    await expect.poll(() => topOf(page, id)).toBe(top)
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('scrolling over pages and other widths shift nothing, and pages out of sight keep their height', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } })
    await page.goto(url)
    await page.evaluate(() => {
      const shifts = { sum: 0 }
      Object.assign(window, { shifts })
      const add = (list: PerformanceObserverEntryList) => {
        // As the metric is defined: what a person has just asked for, such as another width, is no surprise.
        for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean }[])
          if (!entry.hadRecentInput) shifts.sum += entry.value
      }
      new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true })
    })
    for (let n = 2; n < PAGES; n++) await scrollToSheet(page, n)
    const heights = () =>
      page.evaluate(
        (sheets) => sheets.map((n) => document.querySelector(`#sheet-${n}`)!.getBoundingClientRect().height),
        [1, PAGES - 1],
      )
    let before = await heights()
    // The width changes in the frame after a scroll, before the wall has noted its place.
    await page.evaluate(() => scrollBy(0, -3000))
    await page.evaluate(() => new Promise(requestAnimationFrame))
    const id = await middle(page)
    for (const width of [800, 1900, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      // A page that is not laid out is as high as one that is, whatever the columns.
      await expect
        .poll(async () => {
          const [unseen, seen] = await heights()
          return unseen !== before[0] && unseen === seen
        })
        .toBe(true)
      before = await heights()
      await expect.poll(() => topOf(page, id).then((top) => top! > -900 && top! < 1800)).toBe(true)
    }
    const sum = await page.evaluate(() => (window as unknown as { shifts: { sum: number } }).shifts.sum)
    expect(sum).toBeLessThanOrEqual(0.02)
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('arrow keys reach frames of the third page, and a number leads to its page', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } })
    await page.goto(url)
    // In one of the last rows of the first page.
    await page.locator('#wall .card-link').nth(90).focus()
    const onSheet = () => page.evaluate(() => document.activeElement?.closest('.sheet')?.id)
    await expect
      .poll(async () => {
        await page.keyboard.press('ArrowDown')
        return onSheet()
      })
      .toBe('sheet-3')
    const column = () => page.evaluate(() => document.activeElement!.getBoundingClientRect().left)
    const left = await column()
    await page.keyboard.press('ArrowRight')
    expect(await column()).toBeGreaterThan(left)
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowUp')
    expect(await column()).toBe(left)
    // One stop for the tab key.
    expect(await page.locator('#wall .card-link[tabindex="0"]').count()).toBe(1)
    await page.goto(url)
    await page.locator('#menu-view summary').click()
    await page.locator('#jump').fill('5')
    await page.getByRole('button', { name: 'Go' }).click()
    await expect.poll(() => at(page)).toBe('/?page=5')
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('without script everything is read and reached by links and forms', async () => {
    const page = await browser.open({ javaScriptEnabled: false })
    await page.goto(url)
    await page.getByLabel('Search frames').fill('dashboard')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.locator('#menu-subject summary').click()
    await page.locator('#pick-subject-ui').click()
    await page.getByRole('link', { name: 'Without UI' }).waitFor()
    await page.goto(url)
    await page.getByRole('link', { name: 'Page 2 →' }).click()
    await page.locator('#sheet-2').waitFor()
    await page.locator('#wall .card-link').first().click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('.about a[href^="/videos/"]').click()
    await page.getByText('How it is built').waitFor()
    await ensureAccount(service.stores.db, { email: 'plain@example.org', plan: 'pro' })
    await signIn(page, service.stores.db, url, 'plain@example.org')
    await page.locator('.storyboard .card-link').first().click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Saved' }).waitFor()
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})

describe.skipIf(noChromium)(`a small wall in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService(SERVED)
  const browser = useBrowser(service)
  let url: string
  let evilVideo: string
  beforeAll(async () => {
    const { db } = service.stores
    const frames = Array.from({ length: 20 }, (_, n) => ({
      tSec: n,
      caption: `${EVIL} ${n}`,
      composition: EVIL,
      steal: EVIL,
      onScreenText: EVIL,
      technique: 'whip-pan',
    }))
    evilVideo = (await seedVideo(db, { title: EVIL, author: EVIL, frames })).id
    await seedVideo(db, film(1, 60))
    await service.drain()
    url = service.config.publicUrl
  })

  test('a key saves on the wall, and an undo takes the save back', async () => {
    const page = await browser.open()
    await ensureAccount(service.stores.db, { email: 'keys@example.org', plan: 'pro' })
    await signIn(page, service.stores.db, url, 'keys@example.org')
    await page.goto(url)
    await page.locator('#wall .card-link').nth(2).focus()
    await page.keyboard.press('s')
    await page.locator('#wall li:nth-child(3)[data-saved]').waitFor()
    await page.locator('#toast').getByText('Frame saved.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('#wall li:nth-child(3):not([data-saved])').waitFor()
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('another wall is told by its filters, and no range of a selection begins outside of it', async () => {
    const page = await browser.open()
    await page.goto(`${url}/?q=dashboard&not_subject=ui`)
    await page.locator('#wall .card-link').nth(1).focus()
    await page.keyboard.press('x')
    await page.locator('#selection').getByText('1 selected').waitFor()
    await page.locator('#q').fill('terminal')
    await page.locator('#live', { hasText: /^[\d,]+ frames[^,]*, not UI$/ }).waitFor({ state: 'attached' })
    await page
      .locator('#wall .card-link')
      .nth(3)
      .click({ modifiers: ['Shift'] })
    await page.locator('#selection').getByText('2 selected').waitFor()
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('an order by meaning goes with the words, and where they stand in quotes', async () => {
    const page = await browser.open()
    for (const way of [
      () => page.locator('#clear').click(),
      () => page.locator('#q').fill(''),
      () => page.locator('#q').fill('"terminal"'),
    ]) {
      await page.goto(`${url}/?q=terminal&sort=meaning`)
      await way()
      await page.locator('#search-state:not(:has([name=sort]))').waitFor({ state: 'attached' })
      expect(await page.locator('#toast').count()).toBe(0)
    }
    await page.context().close()
    expect(browser.faults).toEqual([])
  })

  test('no picture of the first window waits for a layout', async () => {
    for (const viewport of [
      { width: 390, height: 844 },
      { width: 1920, height: 1080 },
    ]) {
      const page = await browser.open({ viewport })
      await page.goto(url)
      const { seen, lazy } = await page.evaluate(() => {
        const images = [...document.querySelectorAll<HTMLImageElement>('#wall img')]
        const seen = images.filter((image) => image.getBoundingClientRect().top < innerHeight)
        return { seen: seen.length, lazy: seen.filter(({ loading }) => loading === 'lazy').length }
      })
      expect(seen).toBeGreaterThan(10)
      expect([viewport, lazy]).toEqual([viewport, 0])
      await page.context().close()
    }
  })

  test('pictures that did not come at first come later', async () => {
    const page = await browser.open()
    const refused = new Set<string>()
    await page.route(/\/media\//, async (route) => {
      const { pathname } = new URL(route.request().url())
      if (refused.size < 4 && !refused.has(pathname)) {
        refused.add(pathname)
        await (refused.size % 2 ? route.fulfill({ status: 429 }) : route.abort('connectionreset'))
      } else await route.continue()
    })
    await page.goto(url)
    const missing = () =>
      page.evaluate(() => {
        const seen = [...document.images].filter((image) => image.getBoundingClientRect().top < innerHeight)
        return seen.filter((image) => !image.complete || image.naturalWidth === 0).length
      })
    await expect.poll(missing).toBe(0)
    expect(refused.size).toBe(4)
    await page.context().close()
    expect(browser.faults.splice(0)).toHaveLength(4)
  })

  test('an older answer never comes over a newer one', async () => {
    const page = await browser.open()
    await page.goto(url)
    await page.locator('#wall .card-link').first().waitFor()
    const late: (() => void)[] = []
    await page.route(/\/\?q=rel$/, async (route) => {
      await new Promise<void>((resolve) => late.push(resolve))
      await route.continue().catch(() => undefined)
    })
    await page.keyboard.press('/')
    await page.keyboard.type('rel')
    await expect.poll(() => late.length).toBe(1)
    await page.keyboard.press('Control+A')
    await page.keyboard.type('cursor')
    await page.locator('#named').getByText('cursor zoom', { exact: false }).waitFor()
    await expect.poll(() => at(page)).toBe('/?q=cursor')
    for (const go of late) go()
    await page.waitForLoadState('networkidle')
    expect(await page.locator('#named').textContent()).not.toContain('Relay')
    expect([await at(page), await page.locator('#q').inputValue()]).toEqual(['/?q=cursor', 'cursor'])
    await page.goBack()
    await expect.poll(() => at(page)).toBe('/')
    await page.context().close()
  })

  test('hostile titles, captions and texts never run, on any page, with a dialog and with names', async () => {
    const page = await browser.open()
    await page.goto(`${url}/?video=${evilVideo}`)
    await page.locator('#wall .card-link').first().click()
    await page.locator('dialog article').waitFor()
    await page.locator('dialog').getByText('{{7*7}}').first().waitFor()
    await page.keyboard.press('Escape')
    await page.goto(url)
    await page.keyboard.press('/')
    await page.keyboard.type('onerror')
    await page.locator('#named a').first().waitFor()
    for (const path of [
      `/videos/${evilVideo}`,
      `/brands/${encodeURIComponent(EVIL)}`,
      '/brands',
      '/techniques/whip-pan',
    ])
      expect([path, (await page.goto(url + path))!.status()]).toEqual([path, 200])
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})
