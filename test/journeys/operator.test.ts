import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { scriptedAnnotator, values } from '../library/support.ts'
import { expectAccessible, noChromium, openBrowser, picture, signIn, type TestBrowser } from '../support/browser.ts'
import { openService, type Service } from '../support/service.ts'

const sample = (name: string) => fileURLToPath(new URL(`../../samples/${name}`, import.meta.url))
const EVIL = '<img src=x onerror="alert(1)"> & “quotes”'

describe.skipIf(noChromium)(`an operator in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  let service: Service
  let browser: TestBrowser
  let page: Page
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'frames-clips-'))
    await writeFile(join(folder, 'broken.mp4'), Buffer.concat([Buffer.from('\0\0\0\x14ftypisom'), randomBytes(5_000)]))
    const annotator = scriptedAnnotator('scripted@1', () => ({
      values: values({ subject: 'ui', surface: 'slide', shot: 'no-face', zone: 'none', caption: EVIL }, 'model', 0.6),
      suggestedTechnique: { slug: 'slow-pour' },
    }))
    service = await openService({ pages: true, annotator })
    browser = await openBrowser(service.config.publicUrl)
    page = await browser.open()
    await ensureAccount(service.stores.db, { email: 'op@example.org', role: 'operator', plan: 'pro' })
    await signIn(page, service.stores.db, service.config.publicUrl, 'op@example.org')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const goto = (path: string) => page.goto(service.config.publicUrl + path)
  const row = (title: string) => page.locator('tr[data-video]', { hasText: title })

  test('adds three clips, one twice and one broken, and watches them without a reload', async () => {
    await goto('/operator')
    await picture(page, 'operator-empty')
    await expectAccessible(page)
    await page.locator('#file').setInputFiles([sample('coffee-pour.mp4'), join(folder, 'broken.mp4')])
    await page.locator('.uploads li', { hasText: 'coffee-pour' }).getByText('queued').waitFor()
    await page.locator('.uploads li', { hasText: 'broken' }).getByText('queued').waitFor()
    // The duplicate is told by its bytes, before one of them is sent.
    const puts: string[] = []
    page.on('request', (request) => void (request.method() === 'PUT' && puts.push(request.url())))
    await page.locator('#file').setInputFiles(sample('coffee-pour.mp4'))
    await page.locator('.uploads li').nth(2).getByText('in the library already: coffee pour').waitFor()
    expect(puts).toEqual([])
    await page.getByRole('button', { name: /Show 2 new/ }).click()
    await row('coffee pour').locator('.badge.ready').waitFor()
    await row('broken').locator('.badge.failed').waitFor()
    await row('broken').locator('.reason').waitFor()
    await picture(page, 'operator-videos')
    await expectAccessible(page)
  })

  test('is told what each pasted address would do before anything is queued', async () => {
    await goto('/operator')
    const lines = ['https://example.org/launch.mp4', 'https://example.org/launch.mp4?utm_source=x', 'not an address']
    await page.getByLabel('Addresses, one a line').fill([...lines, 'http://127.0.0.1/x.mp4'].join('\n'))
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('1 address is new, of 6').waitFor()
    await picture(page, 'operator-checked')
    await expectAccessible(page)
    const { rows } = await service.stores.db.$client.query(`select 1 from videos where source_key like 'url:%'`)
    expect(rows).toEqual([])
  })

  test('the list keeps its order and the focus while videos change and come', async () => {
    await goto('/operator')
    const ids = () => page.locator('tr[data-video]').evaluateAll((rows) => rows.map((one) => one.id))
    const before = await ids()
    await row('broken').getByRole('checkbox').focus()
    await page.locator('#file').setInputFiles(sample('tears-of-steel.mp4'))
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
    await row('broken').getByRole('button', { name: 'Retry' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('1 queued again.').first().waitFor()
    await expect
      .poll(() =>
        service.stores.db.$client.query(`select attempts from videos where title = 'broken'`).then((r) => r.rows),
      )
      .toEqual([{ attempts: 1 }])
    expect(await ids()).toEqual(before)
    await page.getByRole('button', { name: 'Show 1 new' }).click()
    await row('tears of steel').waitFor()
    await row('tears of steel').locator('.badge.ready').waitFor()
  })

  test('deletes only after it was told what goes', async () => {
    await goto('/operator')
    await row('tears of steel').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Delete 1 video?' }).waitFor()
    await page.getByText('Nobody has saved or pinned').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('1 video deleted.').waitFor()
    expect(await row('tears of steel').count()).toBe(0)
  })

  test('sees queues, model, readers and disk', async () => {
    await goto('/operator/system')
    for (const name of ['Queues', 'Description of frames', 'Readers of the event log', 'Disk'])
      await page.getByRole('heading', { name }).waitFor()
    await page.getByText('scripted@1').waitFor()
    await expectAccessible(page)
    await picture(page, 'operator-system')
  })

  test('others see nothing of it, and no page misbehaved', async () => {
    const other = await browser.open()
    await ensureAccount(service.stores.db, { email: 'member@example.org', plan: 'pro' })
    await signIn(other, service.stores.db, service.config.publicUrl, 'member@example.org')
    for (const path of ['/operator', '/operator/system', '/web/events'])
      expect((await other.goto(service.config.publicUrl + path))?.status(), path).toBe(404)
    expect(browser.faults).toEqual([])
  })
})
