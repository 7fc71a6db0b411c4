import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { seedLibrary } from '../../bench/support/library.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { expectAccessible, noChromium, signIn, type TestBrowser, useBrowser } from '../support/browser.ts'
import { seedMonth } from '../support/seed-month.ts'
import { useService } from '../support/service.ts'
import { sessionOf } from '../support/session.ts'
import { untilReadable } from '../support/stores.ts'

const OPERATOR = 'analyst@example.org'
const service = useService({ worker: false })

beforeAll(async () => {
  const { db } = service.stores
  await createAccount(db, { email: OPERATOR, role: 'operator', plan: 'pro' })
  await seedLibrary(db, { frames: 40 })
  await seedMonth(db)
  // A frame that was saved most and is gone, with a name that wants to be markup.
  const facts = {
    frame_id: 'gone',
    video_id: 'v',
    author: '<img src=x onerror=alert(1)>',
    technique: null,
    subject: null,
  }
  await db.$client.query(
    `insert into events (type, subject, account_id, data)
     select 'frame.saved', 'gone', 'a' || n, $1::jsonb from generate_series(1, 2000) n`,
    [JSON.stringify(facts)],
  )
  await untilReadable(db)
  await recountAnalytics(db)
})

describe.skipIf(noChromium)(`the analytics page in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const browser = useBrowser(service)

  async function openPage(options: Parameters<TestBrowser['open']>[0] = {}, query = ''): Promise<Page> {
    const page = await browser.open(options)
    await signIn(page, service.stores.db, service.url, OPERATOR)
    await page.goto(`${service.url}/operator/analytics${query}`)
    await page.getByRole('heading', { name: 'Analytics', level: 1 }).waitFor()
    return page
  }

  test('without script every chart is a picture with a name, beside a table with the same figures', async () => {
    const from = new Date(Date.now() - 60 * 86_400_000).toISOString().slice(0, 10)
    const page = await openPage({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } }, `?from=${from}`)
    await page
      .getByText(/: [\d,]+ saves and [\d,]+ pins\. [\d,]+ of 300 searches had no good result\. \d+ videos failed/)
      .waitFor()
    const tops = await page
      .locator('.totals div')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top))
    expect([tops.length, new Set(tops).size]).toEqual([4, 1])
    for (const figure of ['Searches', 'People', 'Videos', 'Saves']) {
      await page.locator('.totals').getByRole('link', { name: figure, exact: true }).click()
      const chart = page.getByRole('img', { name: new RegExp(`^${figure} by day, \\w+ \\d+, \\d{4} to `) })
      await chart.waitFor()
      await page.getByText('The days as a table').click()
      const table = page.getByRole('table', { name: `${figure} by day` })
      expect(await table.getByRole('columnheader').allTextContents()).toEqual(['Day', figure])
      // The axis has every day from the first with a figure on, also those with nothing.
      const days = await table.getByRole('row').locator('th[scope="row"]').allTextContents()
      expect(await page.locator('.plot .axis').last().locator('span').allTextContents()).toEqual([days[0], days.at(-1)])
      const figures = await table.locator('tbody td').allTextContents()
      expect([figure, days.length < 60, figures[0] !== '0']).toEqual([figure, true, true])
      const bars = await chart.locator('title').allTextContents()
      expect(bars.map((bar) => bar.split(': ')[1])).toEqual(figures.filter((one) => !/^0?$/.test(one)))
    }
    const names = await page.getByRole('heading', { level: 2 }).allTextContents()
    expect(names).toEqual([
      'Searches without a good result',
      'Videos that failed',
      'Top frames',
      'Brands',
      'Techniques',
      'Subjects',
      'How long a video takes',
      'Cost of the model',
    ])
    expect(await page.getByText('No longer here').count()).toBe(1)
    expect(await page.locator('.tiles img').count()).toBe(11)
    const alts = await page.locator('.tiles img').evaluateAll((all) => all.map((one) => one.getAttribute('alt')))
    expect(alts).not.toContain('')
    expect(await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).count()).toBe(1)
    await page.context().close()
  })

  test('days with nothing in them say so', async () => {
    const page = await openPage({}, '?from=2025-03-01&to=2025-03-07')
    for (const text of [
      'Nobody saved or pinned a frame then',
      'No search ended without a good result',
      'No video failed',
      'No model was called',
      'Saves: nothing in these days',
    ])
      expect(await page.getByText(text).count(), text).toBe(1)
    expect(await page.locator('.plot').count()).toBe(0)
    await expectAccessible(page)
    await page.context().close()
  })
})

test('a range that makes no sense is refused on the page too, and others find no page', async () => {
  const { name, value } = await sessionOf(service.stores.db, service.url, OPERATOR)
  const cookie = `${name}=${value}`
  const get = (query: string, headers: Record<string, string>) =>
    fetch(`${service.url}/operator/analytics${query}`, { headers, redirect: 'manual' })
  for (const query of ['?from=2026-02-02&to=2026-02-01', '?from=2016-01-01&to=2026-01-01', '?from=soon', '?by=frame']) {
    const refused = await get(query, { cookie, accept: 'text/html' })
    expect([query, refused.status]).toEqual([query, 400])
  }
  expect((await get('', {})).status).toBe(303)
})
