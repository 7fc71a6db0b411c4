import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { SUBJECTS } from '../../src/vocabulary.ts'
import { expectAccessible, noChromium, useBrowser } from '../support/browser.ts'
import { plainPicture, seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

describe.skipIf(noChromium)(`a newcomer in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const service = useService({
    pages: true,
    overrides: { readImage: plainPicture, printLink: (line) => void links.push(line) },
  })
  const browser = useBrowser(service)
  let url: string
  const links: string[] = []
  beforeAll(async () => {
    for (let film = 0; film < 2; film++)
      await seedVideo(service.stores.db, {
        title: `Launch film ${film}`,
        frames: Array.from({ length: 40 }, (_, n) => ({
          tSec: n,
          subject: SUBJECTS[n % SUBJECTS.length]!,
          caption: `A ${n % 2 ? 'terminal' : 'dashboard'} of film ${film}, moment ${n}`,
          steal: 'Show one command and nothing else',
        })),
      })
    await service.drain()
    url = service.config.publicUrl
  })

  const at = (page: Page) => page.evaluate(() => location.pathname + location.search)

  test('finds, opens, copies, signs in, saves, makes a board, orders it by keys, shares and exports it', async () => {
    const page = await browser.open({ permissions: ['clipboard-read', 'clipboard-write'], acceptDownloads: true })
    await page.goto(url)
    await expectAccessible(page)
    await page.keyboard.press('/')
    await page.keyboard.type('termina')
    await page.keyboard.press('Enter')
    await expect.poll(() => at(page)).toBe('/?q=termina')
    // A technique that no frame has is not offered.
    expect(await page.locator('#named a').count()).toBe(0)
    await page.locator('#menu-subject summary').click()
    await page.locator('#pick-subject-terminal').click()
    await page.getByRole('link', { name: 'Without Terminal' }).waitFor()
    await page.locator('#pick-subject-ui').click()
    await expect.poll(() => at(page)).toBe('/?q=termina&subject=terminal&subject=ui')
    // The menu stays open for further values, and the focus on the one that was pressed.
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('pick-subject-ui')
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    const first = await page.locator('#wall .card-link').first().getAttribute('href')
    await page.locator('#wall .card-link').first().click()
    await page.locator('dialog article').waitFor()
    expect(await at(page)).toBe(first)
    await page.getByText('Show one command and nothing else').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('ArrowRight')
    const second = await page.locator('#wall .card-link').nth(1).getAttribute('href')
    await expect.poll(() => at(page)).toBe(second)
    await page.locator(`dialog article[data-id="${second!.split('/')[2]}"]`).waitFor()
    expect(await page.locator('dialog .similar .card-link').count()).toBeGreaterThan(0)
    await page.locator('dialog summary').getByText('More', { exact: true }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.locator('#toast').getByText('Link copied.').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(url + second)
    // Whoever signs in from a frame comes back to it.
    await page.locator('dialog').getByRole('link', { name: 'Save', exact: true }).click()
    await ensureAccount(service.stores.db, { email: 'newcomer@example.org', plan: 'pro' })
    await page.getByLabel('E-mail address').fill('newcomer@example.org')
    await page.getByRole('button', { name: 'Get a link' }).click()
    await expect.poll(() => links.length).toBe(1)
    await page.goto(links[0]!.split(' ').at(-1)!)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expect.poll(() => at(page)).toBe(second)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('#toast').getByText('Frame saved.').waitFor()
    await page.goto(`${url}/saves`)
    await page.locator(`a[href="${second}"]`).first().waitFor()

    // A board of three frames of the wall, by keys alone.
    await page.goto(`${url}/?q=termina`)
    await page.locator('#wall .card-link').first().focus()
    for (const key of ['x', 'ArrowRight', 'x', 'ArrowRight', 'x', 'b']) await page.keyboard.press(key)
    await page.getByLabel('New board').fill('Terminals')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'To the board' }).click()
    await page.getByRole('heading', { name: 'Terminals' }).waitFor()
    const pins = (on: Page) =>
      on.locator('#pins > li').evaluateAll((all) => all.map((one) => one.id.slice('pin-'.length)))
    const [a, b, c] = (await pins(page)) as [string, string, string]
    await page.getByRole('link', { name: 'Arrange' }).click()
    await page.locator(`#end-${a}`).press('Enter')
    await page.locator('#live', { hasText: 'Moved to 3 of 3.' }).waitFor({ state: 'attached' })
    expect(await pins(page)).toEqual([b, c, a])

    // Whoever gets its link sees that order, and the tables and the ZIP hold it.
    await page.locator('summary').getByText('More', { exact: true }).click()
    await page.locator('summary').getByText('Export').click()
    for (const [name, ending] of [
      ['Table (CSV)', 'csv'],
      ['Images and contact sheet (ZIP)', 'zip'],
    ] as const) {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()])
      expect(download.suggestedFilename()).toBe(`terminals.${ending}`)
      const text = readFileSync(await download.path(), 'latin1')
      const places = [b, c, a].map((id) => text.indexOf(id))
      expect(places).toEqual(places.toSorted((m, n) => m - n))
      expect(places[0]).toBeGreaterThan(0)
    }
    await page.locator('summary').getByText('Share').click()
    await page.getByRole('button', { name: 'Make a link' }).click()
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.locator('#toast').getByText('Link copied.').waitFor()
    const stranger = await browser.open()
    await stranger.goto(await page.evaluate(() => navigator.clipboard.readText()))
    await stranger.getByRole('heading', { name: 'Terminals' }).waitFor()
    const shown = await stranger.locator('.sheet img').evaluateAll((all) => all.map((one) => one.getAttribute('src')!))
    expect(shown.map((src) => /media\/(.+)-[0-9a-f]{8}-480/.exec(src)![1])).toEqual([b, c, a])
    await stranger.context().close()
    await page.context().close()
    expect(browser.faults).toEqual([])
  })
})
